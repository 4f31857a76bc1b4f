package store

import (
	"context"
	"fmt"
	"iter"

	"github.com/kenlayer/ken"
)

// Shelf is a durable key-value store next to the log, for data that is not knowledge
// and has no history: the journals of sessions, jobs, checkpoints, receipts. It shares
// the owner's file, its lock and its erasure. It is never searched or injected.
//
// Keys are slash-separated paths, such as "session/info/ID", 1 to 1024 bytes long, with
// any content; the first element names the package that owns the key. A Shelf is safe
// for concurrent use.
//
// Another process may hold the shelf. When that process ends, a read inside a function
// panics, and View or Update recovers: the function must release its locks with defer.
type Shelf interface {
	// View runs fn on one snapshot. It never waits for a writer. fn may be run again
	// from its start, as in Update.
	View(ctx context.Context, fn func(ShelfReader) error) error
	// Update runs fn in one transaction. The transaction is durable when Update returns
	// nil, and has no effect when it returns an error, fn's own included. Updates run
	// one at a time, on their caller's goroutine; each sees all before it. fn must not
	// call the store. fn may be run more than once, for example when the process that
	// holds the store ends before the transaction is durable. Only the last run counts,
	// so fn must reset its results each time.
	Update(ctx context.Context, fn func(ShelfTx) error) error
}

// ShelfReader reads a snapshot. Neither it nor the bytes that it returns may be used
// after the function that received it has returned. The caller must not change the
// bytes.
type ShelfReader interface {
	// Get returns the value of a key; nil when there is none.
	Get(key string) []byte
	// Scan yields every key that starts with prefix, in byte order. Keys under the
	// prefix must not change while it runs.
	Scan(prefix string) iter.Seq2[string, []byte]
}

// ShelfTx reads and writes within one transaction.
type ShelfTx interface {
	ShelfReader
	// Put stores a copy of value under key. It fails for a key that is empty or too
	// long.
	Put(key string, value []byte) error
	// Delete removes a key; a missing one is no error.
	Delete(key string) error
}

// MaxShelfKey is the greatest length of a shelf key in bytes.
const MaxShelfKey = 1024

// CheckShelfKey returns the error of Put for an invalid key: ErrInvalid for one that is
// empty or longer than MaxShelfKey.
func CheckShelfKey(key string) error {
	switch {
	case key == "":
		return &ken.Error{Code: ken.CodeInvalid, Field: "key", Msg: "a key on the shelf can't be empty",
			Try: "Give a path that starts with the package's name."}
	case len(key) > MaxShelfKey:
		return &ken.Error{Code: ken.CodeInvalid, Field: "key", Msg: fmt.Sprintf("a key on the shelf has at most %d bytes, this one %d", MaxShelfKey, len(key)),
			Try: "Put what varies into the value, or hash it."}
	}
	return nil
}
