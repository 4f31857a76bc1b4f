package bolt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/google/uuid"
	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/kenlayer/ken/internal/store/overlay"
	"github.com/kenlayer/ken/store"
)

// shelf is the bucket of the same name. It is not part of the log, so rebuilding the
// projections does not change it. Concurrent updates share transactions of their own,
// apart from the committer's: see updateQueue. Both take turns on bbolt's writer lock;
// neither waits for the other's index.
type shelf struct{ s *Store }

var _ store.Shelf = shelf{}

// Shelf returns the owner's key-value store for data that is not knowledge. It is in
// the same file and fails with ErrUnavailable once the store is closed. Deleted data is
// gone from the disk after the next Compact or Forget.
func (s *Store) Shelf() store.Shelf { return shelf{s} }

// View implements store.Shelf. It waits only while the file is being swapped. An update
// that has to enlarge the file waits for the running views, so fn must not wait for an
// update.
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

// Update implements store.Shelf. fn runs on the caller's goroutine. While a transaction
// is being synced, waiting updates collect for the next one. ctx can cancel only until
// fn runs.
func (h shelf) Update(ctx context.Context, fn func(store.ShelfTx) error) error {
	name := store.CommitOf(ctx)
	if err := h.s.usable(ctx); err != nil {
		return err
	}
	if err := checkCommitID(name); err != nil {
		return err
	}
	u := newUpdate(name)
	h.s.gate.enter(u, h.s.commitShelf)
	var gone error
	select {
	case <-u.turn:
	case <-h.s.stalls.hung():
		gone = errStalled
	case <-ctx.Done():
		gone = ctx.Err()
	}
	if gone != nil {
		if h.s.gate.leave(u) {
			return gone
		}
		<-u.turn // its turn came at the same time
	}
	own := u.run(ctx, fn)
	if own != nil {
		return own
	}
	return u.err
}

// usable returns the error with which a call must fail at once; nil if it may begin.
func (s *Store) usable(ctx context.Context) error {
	select {
	case <-s.quit:
		return errClosed
	default:
		return ctx.Err()
	}
}

// shelfReader is the bucket within one transaction. A damaged value is left out and
// reported.
type shelfReader struct {
	s *Store
	b *bbolt.Bucket // nil once the transaction is over
}

func (t *shelfReader) end() { t.b = nil }

func (t *shelfReader) bucket() *bbolt.Bucket {
	if t.b == nil { // bbolt would read memory that is no longer mapped
		panic("a shelf was used after the function it was given to had returned")
	}
	return t.b
}

// Get implements store.ShelfReader.
func (t *shelfReader) Get(key string) []byte {
	k := []byte(key)
	v, _ := t.unsealed(k, t.bucket().Get(k))
	return v
}

func (t *shelfReader) unsealed(key, v []byte) (value []byte, ok bool) {
	value, err := t.s.unseal(bShelf, key, v)
	if err != nil {
		t.s.noteDamage(damaged(fmt.Sprintf("read %q of the shelf", key), err))
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

// shelfWriter adds writes, within a transaction of the committer.
type shelfWriter struct {
	*shelfReader
	to writeBucket
}

// Put implements store.ShelfTx.
func (t shelfWriter) Put(key string, value []byte) error {
	return t.to.Put([]byte(key), seal(bShelf, []byte(key), value))
}

// Delete implements store.ShelfTx.
func (t shelfWriter) Delete(key string) error { return t.to.Delete([]byte(key)) }

// Limits for the updates that share a transaction. Later updates, and writes of claims,
// wait for the whole group.
const (
	maxUpdates      = 256
	maxGroupChanges = 8192 // keys
)

// update is one running call of Update. Its function runs on the caller's goroutine, so
// that a panic or runtime.Goexit affects only the caller.
type update struct {
	turn chan struct{}         // closed when the function may run
	ran  chan *overlay.Overlay // the function's changes; nil for none
	done chan struct{}         // closed when the changes are durable or have failed

	below *overlay.Overlay // the group's changes so far; nil when there is no transaction or nothing to do. Set before turn is closed.
	err   error            // why the changes are not durable. Set before done is closed.

	commit uuid.UUID // ID of the update, see store.WithCommit; uuid.Nil for none
}

func newUpdate(commit uuid.UUID) *update {
	return &update{turn: make(chan struct{}), ran: make(chan *overlay.Overlay, 1), done: make(chan struct{}), commit: commit}
}

// run runs the function on top of the group's changes so far, and waits for the group's
// commit. Even a failed function waits, because what it read becomes true only then.
func (u *update) run(ctx context.Context, fn func(store.ShelfTx) error) (err error) {
	if u.below == nil {
		<-u.done
		return nil
	}
	mine, ok := overlay.New(u.below), false
	defer func() {
		mine.End()
		if !ok {
			mine = nil // its changes are discarded
		}
		u.ran <- mine
		<-u.done
	}()
	if err = ctx.Err(); err == nil { // it may have ended in the queue
		err = fn(mine)
	}
	ok = err == nil
	return err
}

// updateQueue holds the updates that wait for a transaction.
type updateQueue struct {
	mu      sync.Mutex // guards the rest
	waiting []*update
	busy    bool // a goroutine commits
}

// enter adds an update to the queue, and starts a committer if none is running.
func (g *updateQueue) enter(u *update, commit func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, u)
	if !g.busy {
		g.busy = true
		go commit()
	}
}

// leave removes an update from the queue. It returns false when its turn has come.
func (g *updateQueue) leave(u *update) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.waiting, u)
	if i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	}
	return i >= 0
}

// next returns the next update in the queue; nil when it is empty.
func (g *updateQueue) next() *update {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 {
		return nil
	}
	u := g.waiting[0]
	g.waiting[0] = nil
	g.waiting = g.waiting[1:]
	return u
}

// idle reports whether the queue is empty, and if so records that the committer ends.
func (g *updateQueue) idle() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.busy = len(g.waiting) > 0
	return !g.busy
}

// commitShelf commits groups until the queue is empty. It holds the read lock during
// each transaction, because compaction swaps the file under the write lock: it must
// neither copy half of a transaction nor lose it with the old file.
func (s *Store) commitShelf() {
	for !s.gate.idle() {
		s.dbMu.RLock()
		s.group()
		s.dbMu.RUnlock()
	}
}

// group runs the functions of waiting updates one after another, each on top of the
// earlier changes, and commits all changes with one sync. A function that fails or
// panics fails alone. It never waits for more updates.
func (s *Store) group() {
	var served []*update
	err := s.guarded(func(tx *writeTx) error {
		file := &shelfReader{s: s, b: tx.Tx.Bucket(bShelf)}
		defer file.end()
		all, names := overlay.New(file), map[uuid.UUID][]byte{}
		for len(served) < maxUpdates && all.Len() < maxGroupChanges {
			u := s.gate.next()
			if u == nil {
				break
			}
			served = append(served, u)
			if u.commit != uuid.Nil && (names[u.commit] != nil || tx.Bucket(bCommits).Get(u.commit[:]) != nil) {
				close(u.turn) // done before, but its caller lost the answer
				continue
			}
			u.below = all
			close(u.turn)
			if mine := <-u.ran; mine != nil {
				if u.commit != uuid.Nil && mine.Len() > 0 {
					names[u.commit] = []byte("null")
				}
				if err := mine.Apply(all); err != nil {
					return err
				}
			}
		}
		if all.Len() == 0 {
			return errNoChange
		}
		return errors.Join(put(tx.Bucket(bShelf), all), keepCommits(tx, names))
	})
	switch {
	case errors.Is(err, errNoChange):
		err = nil
	case errors.Is(err, bolterrors.ErrDatabaseNotOpen):
		err = errClosed
	default:
		s.noteWrite(err)
		if err != nil {
			err = storageError(err)
		}
	}
	if err != nil && len(served) == 0 { // there was no transaction
		for u := s.gate.next(); u != nil; u = s.gate.next() {
			served = append(served, u)
			close(u.turn)
		}
	}
	for _, u := range served {
		u.err = err
		close(u.done)
	}
}

// guarded is like bbolt's Update, for a goroutine without a caller: a panic, such as
// bbolt's about an invalid page, becomes the error of the waiting updates.
func (s *Store) guarded(fn func(*writeTx) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return s.update(fn)
}

// put writes a group's changes. bbolt keeps the values until the commit; the overlay
// owns them and no longer changes them.
func put(b writeBucket, all *overlay.Overlay) error {
	for name, v := range all.Changes() {
		var err error
		if key := []byte(name); v == nil {
			err = b.Delete(key)
		} else {
			err = b.Put(key, sealOwn(bShelf, key, v))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// errNoChange ends a transaction that changed nothing, to skip the commit and its
// fsync.
var errNoChange = errors.New("no change")
