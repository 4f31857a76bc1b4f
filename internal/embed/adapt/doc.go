// Package adapt tunes an embedding table (package table) to one repository, and
// keeps the result only when it is better there.
//
// The material is a [Set]: the repository's passages, and pairs of a text and the
// passages that it belongs to, such as a doc comment and its declaration. Package
// internal/code/repository/pairs mines one. [Run] sets the pairs of some files aside, tunes on
// the rest, and lets both tables search all passages for the pairs set aside:
// known-item search, by vectors alone. [Report] has the figures, with intervals.
//
// A table that wins is kept by [Save] as embedder.ken in the state folder, with
// its report as embedder.json beside it; [Find] gives it to who opens the
// embedder. The report is written last and removed first, so that where there is
// one, it speaks of the table that lies there; a table without one is not used.
// What was tuned from another base is not used either: a new base has seen more
// than the old one, and vectors of the two don't mix anyway.
//
// The figures are about search by vectors with questions that the repository's
// authors wrote. How much hybrid search gains is less, and ken eval measures it.
package adapt
