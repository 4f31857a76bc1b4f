// Package entity shows what is known of an entity: Show is a view of one, Search finds
// some by name, Neighbourhood is the graph around one.
//
// All of them read an owner's projections with a filter, and see what passes it and
// nothing else: a name that only claims of another scope carry is unknown. The same
// store and the same filter give the same answer.
package entity
