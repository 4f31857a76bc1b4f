// Package train makes embedding tables (package table) from pairs of texts that
// belong together: a question and its answer, a comment and its code, a heading
// and its section.
//
// [Train] makes a table from nothing, in phases: a vocabulary, an initial table
// from which words occur together, then contrastive training, in which each
// query must prefer its own passage to the others of its batch and to passages
// with the same words that a keyword search finds. [Tune] continues from a table
// that there is, with few pairs and in minutes.
//
// The result depends on the pairs, their order and [Options] alone: neither on
// the number of workers nor on interruptions. Arithmetic in float32 may differ
// between processor architectures, so only one kind reproduces a file's bytes.
package train
