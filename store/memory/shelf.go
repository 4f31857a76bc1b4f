package memory

import (
	"bytes"
	"context"
	"hash/maphash"
	"iter"
	"sync"
	"sync/atomic"

	"github.com/kenlayer/ken/store"
)

// shelf holds a pointer to the newest of a series of immutable trees. A reader keeps
// the tree that it started with; a writer replaces the pointer.
type shelf struct {
	seed maphash.Seed // of the priorities, which only affect the tree's shape
	root atomic.Pointer[node]
	mu   sync.Mutex // one writer at a time
}

var _ store.Shelf = (*shelf)(nil)

// NewShelf returns an empty shelf that is independent of any store. It is safe for
// concurrent use and ends with the process.
//
// It detects two faults that a shelf on disk may hide or crash on. Bytes that are used
// after the function that received them has returned are zeroed. A reader that is used
// after that panics.
func NewShelf() store.Shelf { return &shelf{seed: maphash.MakeSeed()} }

// Shelf returns the store's shelf, always the same one.
func (s *memStore) Shelf() store.Shelf { return s.shelf }

// View implements store.Shelf.
func (s *shelf) View(ctx context.Context, fn func(store.ShelfReader) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	tx := &shelfTx{seed: s.seed, root: s.root.Load()}
	defer tx.end()
	return fn(tx)
}

// Update implements store.Shelf.
func (s *shelf) Update(ctx context.Context, fn func(store.ShelfTx) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	tx := &shelfTx{seed: s.seed, root: s.root.Load()}
	defer tx.end()
	if err := fn(tx); err != nil {
		return err
	}
	s.root.Store(tx.root)
	return nil
}

// shelfTx is one function's view of the tree.
type shelfTx struct {
	seed  maphash.Seed
	root  *node
	lent  [][]byte // copies that were returned to the function
	ended bool
}

func (t *shelfTx) end() {
	t.ended = true
	for _, b := range t.lent {
		clear(b)
	}
}

func (t *shelfTx) check() {
	if t.ended {
		panic("a shelf was used after the function it was given to had returned")
	}
}

// lend returns a copy that is valid until the transaction ends.
func (t *shelfTx) lend(value []byte) []byte {
	b := append([]byte{}, value...)
	t.lent = append(t.lent, b)
	return b
}

// Get implements store.ShelfReader.
func (t *shelfTx) Get(key string) []byte {
	t.check()
	n := t.root.get(key)
	if n == nil {
		return nil
	}
	return t.lend(n.value)
}

// Scan implements store.ShelfReader.
func (t *shelfTx) Scan(prefix string) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		t.check()
		t.root.scan(prefix, func(n *node) bool { return yield(n.key, t.lend(n.value)) })
	}
}

// Put implements store.ShelfTx.
func (t *shelfTx) Put(key string, value []byte) error {
	t.check()
	if err := store.CheckShelfKey(key); err != nil {
		return err
	}
	t.root = t.root.put(&node{key: key, value: bytes.Clone(value), priority: maphash.String(t.seed, key)})
	return nil
}

// Delete implements store.ShelfTx.
func (t *shelfTx) Delete(key string) error {
	t.check()
	t.root = t.root.remove(key)
	return nil
}
