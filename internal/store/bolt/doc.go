// Package bolt is the embedded store: one folder per owner, holding one bbolt
// file with the log and its claims, one bleve index, and one flat file of vectors
// per embedding model.
//
// A write is one bbolt transaction with fsync. The index and the vectors are
// updated after it; if the process dies in between, the next open brings them up
// to date. Concurrent writers share a transaction (see commit.go). A write that
// fails its checks fails alone.
//
// A record is a claim from the log or a chunk of the repository. Both are searched
// together, but only claims are in the log. A record's row holds what filtering,
// ranking and replaying need. Rows are kept in memory and, encoded, in the bbolt
// file (see rows.go). The names that claims are about are stored next to the rows,
// so that the index of names (package outline) is complete as soon as the store is
// open (see structure.go). The bbolt file also holds the shelf: keys and values
// that are not knowledge, with transactions of their own (see shelf.go).
//
// # Layout
//
//	OWNER/ken.db            bbolt, see buckets in open.go
//	OWNER/index/            bleve, rebuilt when missing or broken
//	OWNER/vectors/MODEL.vec see package vector
//	OWNER/holder.json       the process that has the folder open, and where it serves the store
//
// One process holds a folder (see holder.go). Opening a folder that is held fails
// with ken.ErrHeld and an error that names the holder. Package shared lets other
// processes work on the folder through the holder.
//
// A write may have an ID (store.WithCommit), which is stored with the change. When
// a caller that lost the answer repeats the write with the same ID, nothing
// changes. See doOnce in log.go.
package bolt
