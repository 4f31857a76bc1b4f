package store

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
)

// Shelf is durable room beside the log, for what is not knowledge and has no
// history: the journals of sessions, jobs, checkpoints, receipts. It shares the owner's
// file, its lock and its erasure, and nothing on it is ever searched or injected.
//
// Keys are slash-separated paths, such as "session/info/ID", 1 to 1024 bytes of
// any content; the first element names the package that owns the key. Safe for
// concurrent use.
//
// A shelf may be another process's. A function whose reads can't be answered any
// more, because that process is gone, is ended where it stands, by a panic that View
// or Update catches: a lock that it takes it must give back with defer.
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
	// Get returns what stands under a key, nil when there is nothing.
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
	// Delete forgets a key; one that is not there is no error.
	Delete(key string) error
}

// MaxShelfKey is how long a key on a shelf may be, in bytes.
const MaxShelfKey = 1024

// CheckShelfKey says what every shelf's Put says of a key that it can't keep:
// ErrInvalid for one that is empty or longer than MaxShelfKey.
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

// Overlay is what a function writes to a shelf before it is written: a ShelfTx
// that keeps every change to itself and reads the rest from what lies below. So a
// function can be tried and dropped without a trace, and several can share a
// transaction, each over the one before. Overlays may lie on one another.
//
// What lies below must not change while the overlay is used. An overlay belongs to
// one goroutine.
type Overlay struct {
	below   ShelfReader
	changes map[string][]byte // nil: deleted
	sorted  []string          // keys of changes
	more    []string          // those that came since, in no order
	ended   bool
}

var _ ShelfTx = (*Overlay)(nil)

// NewOverlay returns an overlay without changes.
func NewOverlay(below ShelfReader) *Overlay {
	return &Overlay{below: below, changes: map[string][]byte{}}
}

// Get implements ShelfReader.
func (o *Overlay) Get(key string) []byte {
	o.check()
	if v, ok := o.changes[key]; ok {
		return v
	}
	return o.below.Get(key)
}

// Scan implements ShelfReader.
func (o *Overlay) Scan(prefix string) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		o.check()
		own := o.under(prefix)
		// next yields the own keys before a key of below, all with none.
		next := func(until string, all bool) (same, on bool) {
			for len(own) > 0 && (all || own[0] <= until) {
				key := own[0]
				own = own[1:]
				if v := o.changes[key]; v != nil && !yield(key, v) {
					return true, false
				}
				if key == until && !all {
					return true, true
				}
			}
			return false, true
		}
		for key, v := range o.below.Scan(prefix) {
			same, on := next(key, false)
			if !on || !same && !yield(key, v) {
				return
			}
		}
		next("", true)
	}
}

// under returns the changed keys that start with prefix, in order: the caller's
// own, as the changes may grow while it looks through them.
func (o *Overlay) under(prefix string) []string {
	if len(o.more) > 0 {
		slices.Sort(o.more)
		o.sorted = merge(o.sorted, o.more)
		o.more = o.more[:0]
	}
	from, _ := slices.BinarySearch(o.sorted, prefix)
	n := 0
	for from+n < len(o.sorted) && strings.HasPrefix(o.sorted[from+n], prefix) {
		n++
	}
	return slices.Clone(o.sorted[from : from+n])
}

// merge joins two sorted lists without a key in common.
func merge(a, b []string) []string {
	out := make([]string, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0] < b[0] {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// Put implements ShelfTx.
func (o *Overlay) Put(key string, value []byte) error {
	o.check()
	if err := CheckShelfKey(key); err != nil {
		return err
	}
	// Never nil, which would read like a key that is not there.
	o.change(key, append([]byte{}, value...))
	return nil
}

// Delete implements ShelfTx.
func (o *Overlay) Delete(key string) error {
	o.check()
	if _, ok := o.changes[key]; !ok && o.below.Get(key) == nil {
		return nil // nothing to be done, and no reason for a commit
	}
	o.change(key, nil)
	return nil
}

func (o *Overlay) change(key string, value []byte) {
	if _, ok := o.changes[key]; !ok {
		o.more = append(o.more, key)
	}
	o.changes[key] = value
}

// Len is how many keys were changed.
func (o *Overlay) Len() int { return len(o.changes) }

// Changes yields every key that was put, with its last value, and every one that
// was deleted, with nil, in byte order. Values are the overlay's own.
func (o *Overlay) Changes() iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for _, key := range slices.Sorted(maps.Keys(o.changes)) {
			if !yield(key, o.changes[key]) {
				return
			}
		}
	}
}

// Apply does the changes to tx, which may be another overlay.
func (o *Overlay) Apply(tx ShelfTx) error {
	if to, ok := tx.(*Overlay); ok {
		for key, v := range o.changes { // the order is found when it is asked for
			to.change(key, v)
		}
		return nil
	}
	for key, v := range o.Changes() {
		var err error
		if v == nil {
			err = tx.Delete(key)
		} else {
			err = tx.Put(key, v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// End makes every later use of the overlay by the function that it was given to
// panic. Len, Changes and Apply still work.
func (o *Overlay) End() { o.ended = true }

func (o *Overlay) check() {
	if o.ended {
		panic("a shelf was used after the function it was given to had returned")
	}
}
