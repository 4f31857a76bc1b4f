// Package bolt is the embedded store: one folder per owner, holding one bbolt
// file with the log and its claims, one bleve index, and one flat file of vectors
// per embedding model.
//
// A write is one bbolt transaction with fsync; the index and the vectors follow
// and are brought up to date on the next open if the process dies in between.
// Writers that come together share a transaction (see commit.go), and a write
// that fails its checks fails alone.
//
// The rows of rows.go are the spine: what filtering, ranking and replaying need
// of every record, kept in memory and, encoded, in the bbolt file. A record is a
// claim from the log or a chunk of the repository; both are searched together,
// but only claims are in the log. Beside both lies the shelf, keys and values that
// are nobody's knowledge, in transactions of their own (see shelf.go). What claims are
// about lies beside their rows, too, so that the index of names (package outline) is
// whole as soon as the store is open: see structure.go.
//
// # Layout
//
//	OWNER/ken.db            bbolt, see buckets in open.go
//	OWNER/index/            bleve, rebuilt when missing or broken
//	OWNER/vectors/MODEL.vec see package vector
//	OWNER/holder.json       who has the folder open, and where it serves others
//
// One process holds a folder (see lock.go). Opening a held one fails with ken.ErrHeld
// and an error that names the holder; package shared lets others work on it through
// that one.
//
// A write may have a name (store.WithCommit), which is kept with the change: done
// again, by whoever lost the answer, it changes nothing. See once.go.
package bolt
