// Package keyword is the keyword index of one owner. A query is a text; the results are
// the documents that share words with it, ranked by BM25.
//
// An Index is a projection of the owner's log. Every Apply carries the log
// position it brings the index to, and that watermark is stored in the same
// batch as the documents, so it is never ahead of them, whatever moment the
// process dies at. Batches are not synced before Apply returns: what a crash
// loses is applied again from the log. An index that can't be opened is removed
// by its owner and rebuilt.
//
// Terms used here: a document is identified by its ref, the record's number in the
// owner's tables. A Query is a text; its terms come from package analysis, and any of
// them may match. A hit has a score and a share. The share is the score divided by the
// highest score that a document could reach; it can be compared between queries and
// with a floor, unlike the score.
//
// The newest documents are kept in memory, in a tail, until there are enough for a
// segment of the engine. A search reads both as one index.
//
// Storage is bleve's scorch engine, used as an inverted index with snapshots. Scoring
// is implemented here, because scorch's BM25 (v2.6.1) uses another formula: it takes
// the square root of the frequency, multiplies every weight by the idf a second time,
// and divides lengths by the number of distinct words per document, which changes
// whenever segments merge. This package uses the textbook formula with exact lengths,
// so a rebuilt index gives the same scores. A search walks the posting lists itself and
// skips documents that can't reach the best hits (MaxScore). Lists that were read to
// their end are kept in memory for later searches of the same snapshot: see held.
//
// Limits: only one process may open an index; a second one gets ken.CodeHeld. Deleted
// documents are invisible at once, but their words stay in the files until segments
// merge: Scrub forces that.
package keyword
