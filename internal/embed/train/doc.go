// Package train makes embedding tables (package table) from pairs of related texts: a
// question and its answer, a comment and its code, a heading and its section.
//
// [Train] makes a new table in phases: a vocabulary, an initial table from word
// co-occurrences, then contrastive training. In it, each query must be closer to its
// own passage than to the others of its batch, and than to passages with the same words
// that a keyword search finds. With a sentence encoder as the teacher, the initial table
// is from its vectors of words, and learns its vectors of texts before the pairs. [Tune] trains an existing table further, with few pairs
// and in minutes.
//
// The result depends only on the pairs, their order and [Options]; the number of
// workers and interruptions don't affect it. Arithmetic in float32 may differ between
// processor architectures, so a file's bytes can only be reproduced on the same
// architecture.
package train
