// Package codebase builds, saves and updates the code graph of one project, together with
// the architecture decisions that govern its code.
//
// Open reads only the decisions. Load reads the saved graph. Build updates the graph from all files, and Update from
// some of them, right after an edit. Types and Import refine it with the results of a type checker or an indexer. Save
// stores it for the next process. Queries use View, which never waits for any of these.
//
// The graph is a projection of the files. If it is lost, it is built again.
package codebase
