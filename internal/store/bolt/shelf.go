package bolt

import (
	"bytes"
	"context"
	"fmt"
	"iter"

	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken/store"
)

// shelf is the bucket of the same name. It is not part of the log: rebuilding
// the projections does not touch it, and its updates have transactions of their
// own, beside the committer's, which they share among themselves: see group. The
// two take turns on bbolt's lock; neither waits for the other's index.
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
		r := &shelfReader{s: h.s, b: tx.Bucket(bShelf)}
		defer r.end()
		return fn(r)
	})
}

// Update implements store.Shelf. fn runs on the caller's goroutine. While a
// transaction is being synced, those who wait gather for the next one; ctx is
// honoured until fn runs, and after that the update is as durable as it says.
func (h shelf) Update(ctx context.Context, fn func(store.ShelfTx) error) error {
	name := store.CommitOf(ctx)
	if err := h.s.usable(ctx); err != nil {
		return err
	}
	if err := goodName(name); err != nil {
		return err
	}
	u := newUpdate(name)
	h.s.gate.enter(u, h.s.commitShelf)
	var gone error
	select {
	case <-u.turn:
	case <-h.s.stalls.over():
		gone = errStalled
	case <-ctx.Done():
		gone = ctx.Err()
	}
	if gone != nil {
		if h.s.gate.leave(u) {
			return gone
		}
		<-u.turn // it came at the same time
	}
	own := u.run(ctx, fn)
	if own != nil {
		return own
	}
	return u.err
}

// usable says why a call can't begin.
func (s *Store) usable(ctx context.Context) error {
	select {
	case <-s.quit:
		return errClosed
	default:
		return ctx.Err()
	}
}

// shelfReader is the bucket within one transaction, in which it does not change.
// A value that is damaged is left out and reported.
type shelfReader struct {
	s *Store
	b *bbolt.Bucket // nil once the transaction is over
}

func (t *shelfReader) end() { t.b = nil }

func (t *shelfReader) bucket() *bbolt.Bucket {
	if t.b == nil { // bbolt would read memory that is no longer the file's
		panic("a shelf was used after the function it was given to had returned")
	}
	return t.b
}

// Get implements store.ShelfReader.
func (t *shelfReader) Get(key string) []byte {
	v, _ := t.unsealed([]byte(key), t.bucket().Get([]byte(key)))
	return v
}

func (t *shelfReader) unsealed(key, v []byte) (value []byte, ok bool) {
	value, err := t.s.unseal(bShelf, key, v)
	if err != nil {
		t.s.report(damaged(fmt.Sprintf("read %q of the shelf", key), err))
		return nil, false
	}
	return value, true
}

// Scan implements store.ShelfReader.
func (t *shelfReader) Scan(prefix string) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		cur, start := t.bucket().Cursor(), []byte(prefix)
		for k, v := cur.Seek(start); k != nil && bytes.HasPrefix(k, start); k, v = cur.Next() {
			if v, ok := t.unsealed(k, v); ok && !yield(string(k), v) {
				return
			}
		}
	}
}

// shelfWriter also writes, within a transaction of the committer.
type shelfWriter struct{ *shelfReader }

// Put implements store.ShelfTx.
func (t shelfWriter) Put(key string, value []byte) error {
	return t.bucket().Put([]byte(key), seal(bShelf, []byte(key), value))
}

// Delete implements store.ShelfTx.
func (t shelfWriter) Delete(key string) error { return t.bucket().Delete([]byte(key)) }
