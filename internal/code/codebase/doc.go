// Package codebase keeps what a project's files say about its code at hand: the graph
// of symbols, and the architecture decisions that govern them.
//
// Open reads nothing. Load takes the graph as it was saved; Build brings it up to date
// with the files, Update with some of them, at once after an edit; Types and Import
// refine it with what a type checker or an indexer knows; Save keeps it for the next
// process. Questions go to View, which waits for none of these.
//
// Everything here is a projection: what is lost is read from the files again.
package codebase
