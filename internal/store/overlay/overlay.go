// Package overlay collects changes to a shelf before they are written.
package overlay

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/kenlayer/ken/store"
)

// Overlay is what a function writes to a shelf before it is written: a ShelfTx
// that keeps every change to itself and reads the rest from what lies below. So a
// function can be tried and dropped without a trace, and several can share a
// transaction, each over the one before. Overlays may lie on one another.
//
// What lies below must not change while the overlay is used. An overlay belongs to
// one goroutine.
type Overlay struct {
	below   store.ShelfReader
	changes map[string][]byte // nil: deleted
	sorted  []string          // keys of changes
	more    []string          // those that came since, in no order
	ended   bool
}

var _ store.ShelfTx = (*Overlay)(nil)

// New returns an overlay without changes.
func New(below store.ShelfReader) *Overlay {
	return &Overlay{below: below, changes: map[string][]byte{}}
}

// Get implements ShelfReader.
func (o *Overlay) Get(key string) []byte {
	o.check()
	if v, ok := o.changes[key]; ok {
		return slices.Clip(v)
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
				if v := o.changes[key]; v != nil && !yield(key, slices.Clip(v)) {
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
	if err := store.CheckShelfKey(key); err != nil {
		return err
	}
	// Never nil, which would read like a key that is not there.
	o.change(key, append(make([]byte, 0, len(value)+Room), value...))
	return nil
}

// Room is how many bytes are free behind each value that Changes yields. They are for a checksum.
const Room = 16

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
// was deleted, with nil, in byte order. Values are the overlay's own, with Room behind them.
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
func (o *Overlay) Apply(tx store.ShelfTx) error {
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
