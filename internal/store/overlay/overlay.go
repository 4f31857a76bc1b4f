// Package overlay collects changes to a shelf before they are written.
package overlay

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/kenlayer/ken/store"
)

// Overlay buffers the changes of a function to a shelf. It is a ShelfTx that keeps its
// changes in memory and reads everything else from below. So the changes can be discarded,
// and several functions can share a transaction, each on top of the one before. The shelf
// below may itself be an Overlay.
//
// The shelf below must not change while the overlay is used. An overlay must not be used by
// several goroutines at once.
type Overlay struct {
	below   store.ShelfReader
	changes map[string][]byte // nil: deleted
	sorted  []string          // keys of changes
	more    []string          // keys added since sorted was built, in no order
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

// under returns the changed keys that start with prefix, in order. The caller owns the
// slice, because the changes may grow during a scan.
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

// merge merges two sorted lists that have no key in common.
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
	// Never nil, which would mean that the key is missing.
	o.change(key, append(make([]byte, 0, len(value)+Room), value...))
	return nil
}

// Room is the number of free bytes after each value that Changes yields, for a checksum.
const Room = 16

// Delete implements ShelfTx.
func (o *Overlay) Delete(key string) error {
	o.check()
	if _, ok := o.changes[key]; !ok && o.below.Get(key) == nil {
		return nil // no change, so no commit is needed
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

// Len returns the number of changed keys.
func (o *Overlay) Len() int { return len(o.changes) }

// Changes yields every changed key in byte order: with its last value, or with nil if it was
// deleted. The overlay owns the values, which have Room free bytes after them.
func (o *Overlay) Changes() iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for _, key := range slices.Sorted(maps.Keys(o.changes)) {
			if !yield(key, o.changes[key]) {
				return
			}
		}
	}
}

// Apply applies the changes to tx, which may be another overlay.
func (o *Overlay) Apply(tx store.ShelfTx) error {
	if to, ok := tx.(*Overlay); ok {
		for key, v := range o.changes { // the other overlay sorts when needed
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

// End makes later reads and writes of the overlay panic. Len, Changes and Apply still work.
func (o *Overlay) End() { o.ended = true }

func (o *Overlay) check() {
	if o.ended {
		panic("a shelf was used after the function it was given to had returned")
	}
}
