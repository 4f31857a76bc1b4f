package bolt

import (
	"bytes"
	"context"
	"errors"
	"iter"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/kenlayer/ken/store"
)

// shelf is the bucket of the same name. It is not part of the log: rebuilding
// the projections does not touch it, and an update is a transaction of its own,
// beside the committer's. The two take turns on bbolt's lock; neither waits for
// the other's index.
type shelf struct{ s *Store }

var _ store.Shelf = shelf{}

// Shelf is the owner's room for what is not knowledge. It lives in the same file,
// fails with ErrUnavailable once the store is closed, and what is deleted from it
// is gone from the disk after the next Compact or Forget.
func (s *Store) Shelf() store.Shelf { return shelf{s} }

// View implements store.Shelf. It waits only while the file is being swapped. An
// update that has to enlarge the file waits until the views before it are over,
// so fn must not wait for one.
func (h shelf) View(ctx context.Context, fn func(store.ShelfReader) error) error {
	if err := h.s.usable(ctx); err != nil {
		return err
	}
	return h.s.view(func(tx *bbolt.Tx) error {
		t := &shelfTx{b: tx.Bucket(bShelf)}
		defer t.end()
		return fn(t)
	})
}

// Update implements store.Shelf.
func (h shelf) Update(ctx context.Context, fn func(store.ShelfTx) error) error {
	if err := h.s.usable(ctx); err != nil {
		return err
	}
	// Compaction swaps the file under the write lock. Holding the read lock over
	// the whole transaction means that none is copied without it, or lost with the
	// old file.
	h.s.dbMu.RLock()
	defer h.s.dbMu.RUnlock()
	var own error // what fn says is the caller's own
	err := h.s.db.Update(func(tx *bbolt.Tx) error {
		if own = ctx.Err(); own != nil { // it may have ended in the queue
			return own
		}
		t := &shelfTx{b: tx.Bucket(bShelf)}
		defer t.end()
		if own = fn(t); own == nil && t.writes == 0 {
			return errNoChange
		}
		return own
	})
	switch {
	case own != nil:
		return own
	case err == nil || errors.Is(err, errNoChange):
		return nil
	case errors.Is(err, bolterrors.ErrDatabaseNotOpen):
		return errClosed
	}
	return storageError(err)
}

// errNoChange ends a transaction that changed nothing, which saves the commit
// and its fsync.
var errNoChange = errors.New("no change")

// usable says why a call can't begin.
func (s *Store) usable(ctx context.Context) error {
	select {
	case <-s.quit:
		return errClosed
	default:
		return ctx.Err()
	}
}

// shelfTx is the bucket within one transaction.
type shelfTx struct {
	b      *bbolt.Bucket // nil once the transaction is over
	writes int           // so far; a cursor is stale after one
}

func (t *shelfTx) end() { t.b = nil }

func (t *shelfTx) bucket() *bbolt.Bucket {
	if t.b == nil { // bbolt would read memory that is no longer the file's
		panic("a shelf was used after the function it was given to had returned")
	}
	return t.b
}

// Get implements store.ShelfReader.
func (t *shelfTx) Get(key string) []byte { return t.bucket().Get([]byte(key)) }

// Scan implements store.ShelfReader.
func (t *shelfTx) Scan(prefix string) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		cur := t.bucket().Cursor()
		for k, v := cur.Seek([]byte(prefix)); k != nil && bytes.HasPrefix(k, []byte(prefix)); {
			key, seen := string(k), t.writes
			if !yield(key, v) {
				return
			}
			if t.writes == seen {
				k, v = cur.Next()
				continue
			}
			// A cursor loses its place when a key of the same page comes or goes,
			// be it outside the prefix.
			if k, v = cur.Seek([]byte(key)); string(k) == key {
				k, v = cur.Next()
			}
		}
	}
}

// Put implements store.ShelfTx.
func (t *shelfTx) Put(key string, value []byte) error {
	b := t.bucket()
	if err := store.CheckShelfKey(key); err != nil {
		return err
	}
	t.writes++
	// bbolt keeps the slice until the commit. It is never nil, which would read
	// like a key that is not there.
	return b.Put([]byte(key), append([]byte{}, value...))
}

// Delete implements store.ShelfTx.
func (t *shelfTx) Delete(key string) error {
	b := t.bucket()
	if key == "" {
		return nil
	}
	t.writes++
	return b.Delete([]byte(key))
}
