// Package adapt tunes an embedding table (package table) to one repository, and keeps the
// result only if it is better there.
//
// The data is a [Set]: the repository's passages, and pairs of a text and the passages that it
// belongs to, such as a doc comment and its declaration. Package
// internal/code/repository/pairs extracts one. [Run] holds out the pairs of some files, tunes
// with the rest, and searches all passages for the held-out pairs with both tables, only by
// vectors. [Report] has the figures, with intervals.
//
// A table that wins is stored by [Save] as embedder.ken in the state folder, with its report
// in embedder.json; [Find] returns it when the embedder is opened. The report is written last
// and removed first, so an existing report always describes the stored table; a table without
// a report is not used. A table that was tuned from another base is not used either: a new
// base was trained with more data, and vectors of the two can't be compared.
//
// The figures are for vector search with questions written by the repository's authors. Hybrid
// search gains less; ken eval measures it.
package adapt
