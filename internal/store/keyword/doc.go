// Package keyword is the keyword index of one owner: words in, documents that
// share them out, best first by BM25.
//
// An Index is a projection of the owner's log. Every Apply carries the log
// position it brings the index to, and that watermark is stored in the same
// batch as the documents, so it is never ahead of them, whatever moment the
// process dies at. Batches are not synced before Apply returns: what a crash
// loses is applied again from the log. An index that can't be opened is removed
// by its owner and built anew.
//
// The nouns: a document is named by its ref, the record's number in the owner's
// tables. A Query is a text; its terms come from package analysis and any of
// them may match. A Hit has a score, and a share: the score over the most that
// a document could score, which unlike the score can be compared between
// queries and against a floor.
//
// The newest documents wait in memory, in a tail, until there are enough for a
// segment of the engine's. A search reads both as one index.
//
// Storage is bleve's scorch engine, used as an inverted index with snapshots.
// Scoring is this package's own, because scorch's BM25 (v2.6.1) is another
// formula: it takes the square root of the frequency, multiplies every weight
// by the idf a second time, and divides lengths by the number of distinct words
// per document, which changes whenever segments merge. Here it is the textbook
// formula over exact lengths, and a rebuilt index scores as the old one did. A
// search walks the words' lists itself and skips what can't reach the best hits
// (MaxScore). What it has read to the end of a list it holds in memory, for the next
// search of the same snapshot: see held.
//
// Caveats: one process may hold an index; a second is told so (ken.CodeHeld).
// Deleted documents are invisible at once, but their words stay in the files
// until segments merge: Scrub forces that.
package keyword
