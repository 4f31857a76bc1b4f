// Package entity shows what is known about an entity: Show returns a view of one,
// Search finds some by name, and Neighbourhood returns the graph around one.
//
// All functions read an owner's projections with a filter, and only see what passes
// it: a name that only claims of another scope have is unknown. The same store and the
// same filter give the same result.
package entity
