package store

import (
	"context"
	"fmt"
	"iter"

	"github.com/kenlayer/ken"
)

// Shelf is a durable key-value store beside the log, for data that is not knowledge and
// has no history: the journals of sessions, jobs, checkpoints, receipts. It shares the
// owner's file, its lock and its erasure. Nothing on it is ever searched or injected.
//
// Keys are slash-separated paths, such as "session/info/ID", 1 to 1024 bytes of
// any content; the first element names the package that owns the key. Safe for
// concurrent use.
//
// Another process may hold the shelf. When that process ends, a read inside a function
// panics, and View or Update recovers: the function must release its locks with defer.
type Shelf interface {
	// View runs fn over one snapshot. It never waits for a writer. Like Update's, fn
	// may be run again from its start.
	View(ctx context.Context, fn func(ShelfReader) error) error
	// Update runs fn in one transaction, which is durable when Update returns nil
	// and has left no trace when it returns an error, fn's own included. Updates run
	// one at a time, each seeing all before it, on their caller's goroutine. fn must
	// not call the store. It may be run more than once, from its start, as when
	// whoever holds the store is gone before it was durable: only the last run
	// counts, so fn sets what it tells its caller anew each time.
	Update(ctx context.Context, fn func(ShelfTx) error) error
}

// ShelfReader reads a snapshot. It must not be used after the function that it
// was given to has returned, nor may the bytes that it returns, which the caller
// must not change.
type ShelfReader interface {
	// Get returns the value of a key; nil when there is none.
	Get(key string) []byte
	// Scan yields every key that starts with prefix, in byte order. Keys under the
	// prefix must not change while it runs.
	Scan(prefix string) iter.Seq2[string, []byte]
}

// ShelfTx also writes.
type ShelfTx interface {
	ShelfReader
	// Put keeps a copy of value under key. It fails for a key that is empty or too
	// long.
	Put(key string, value []byte) error
	// Delete removes a key; a missing one is no error.
	Delete(key string) error
}

// MaxShelfKey is the greatest length of a shelf key in bytes.
const MaxShelfKey = 1024

// CheckShelfKey returns the error of Put for a bad key: ErrInvalid for one that is empty
// or longer than MaxShelfKey.
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
