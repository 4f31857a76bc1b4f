// Package codebase builds, saves and updates the code graph of one project, together with
// the architecture decisions that govern its code.
//
// Open reads nothing. Load takes the graph as it was saved; Build brings it up to date
// with the files, Update with some of them, at once after an edit; Types and Import
// refine it with what a type checker or an indexer knows; Save keeps it for the next
// process. Questions go to View, which waits for none of these.
//
// Everything here is a projection: what is lost is read from the files again.
package codebase
