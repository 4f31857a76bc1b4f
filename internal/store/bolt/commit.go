package bolt

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/keyword"
	"github.com/kenlayer/ken/store"
)

// maxBatch is the maximum number of requests that share a transaction.
const maxBatch = 256

// request is one caller's change.
type request struct {
	fn   func(*txn) error
	solo func() error // runs between batches, with exclusive use of the file
	done chan error
	err  error

	commit uuid.UUID // ID of the write, see store.WithCommit; uuid.Nil for none
	result any       // set by fn and stored under commit; a pointer, or nil
}

// do passes fn to the committer and waits until its changes are durable and searchable.
// ctx can cancel the request only until the committer takes it. After that, the write may
// take effect even if ctx ends.
func (s *Store) do(ctx context.Context, fn func(*txn) error) error {
	return s.submit(ctx, &request{fn: fn, commit: store.CommitOf(ctx), done: make(chan error, 1)})
}

func (s *Store) submit(ctx context.Context, r *request) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := checkCommitID(r.commit); err != nil {
		return err
	}
	select {
	case <-s.quit:
		return errClosed
	default:
	}
	stalled := s.stalls.hung()
	select {
	case s.queue <- r:
	case <-s.quit:
		return errClosed
	case <-stalled:
		return errStalled
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-r.done:
		return err
	case <-stalled:
		return errStalled
	case <-ctx.Done():
		return ctx.Err()
	case <-s.stopped:
		select { // the request may have been served just before the committer stopped
		case err := <-r.done:
			return err
		default:
			return errClosed
		}
	}
}

// run is the loop of the committer: it drains the queue, writes all requests it found in
// one transaction, and starts again. It never waits for more requests: while one batch is
// being synced, the next one collects in the queue.
func (s *Store) run() {
	defer close(s.stopped)
	release := time.NewTicker(releaseEvery)
	defer release.Stop()
	for {
		var first *request
		select {
		case first = <-s.queue:
		case <-s.mend.C:
			s.mendIndex()
			continue
		case <-release.C:
			s.scrub()
			s.releaseMapped()
			continue
		case <-s.quit:
			for { // requests that were accepted are still written
				select {
				case r := <-s.queue:
					s.serve([]*request{r})
				default:
					return
				}
			}
		}
		batch := []*request{first}
	drain:
		for len(batch) < maxBatch {
			select {
			case r := <-s.queue:
				batch = append(batch, r)
			default:
				break drain
			}
		}
		s.serve(batch)
	}
}

// serve runs a batch. It splits the batch at requests that need exclusive use of the
// file.
func (s *Store) serve(batch []*request) {
	for len(batch) > 0 {
		n := slices.IndexFunc(batch, func(r *request) bool { return r.solo != nil })
		switch n {
		case 0:
			batch[0].done <- batch[0].solo()
			batch = batch[1:]
			continue
		case -1:
			n = len(batch)
		}
		s.write(batch[:n])
		batch = batch[n:]
	}
}

// write commits a batch: first the transaction, then memory, then the index, then the
// answers to the callers. A request whose function fails gets its own error and the
// others continue. A transaction that fails makes all of them fail.
func (s *Store) write(batch []*request) {
	var plan *plan
	err := s.update(func(tx *writeTx) error {
		all := newLayer()
		for _, r := range batch {
			t := &txn{s: s, tx: tx.Tx, batch: all, mine: newLayer()}
			if r.err = s.try(r, t); r.err == nil {
				all.absorb(t.mine)
			}
		}
		var err error
		plan, err = s.plan(tx.Tx, all)
		if err != nil || plan.empty() {
			return err
		}
		return plan.put(tx)
	})
	done := err == nil
	if err != nil && plan != nil && !plan.empty() {
		// The state in memory must be the state that the file shows, or the next commit
		// would be built on a different state.
		var later error
		if done, later = s.commitVisible(plan.commit); done {
			err = later
		}
	}
	if err != nil || !plan.empty() {
		s.noteWrite(err)
	}
	if done && !plan.empty() {
		s.publish(plan)
	}
	for _, r := range batch {
		if r.err == nil && err != nil {
			r.err = storageError(err)
		}
		r.done <- r.err
	}
}

// try runs a request. A request that panics fails alone, and the log says where; the
// committer continues.
func (s *Store) try(r *request, t *txn) (err error) {
	defer func() {
		p := recover()
		switch {
		case p == nil:
		case isFileFault(p):
			err = s.notePageFault(p)
		default:
			s.o.Log.Error("a write panicked and is refused", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = &ken.Error{Code: ken.CodeInternal, Msg: "the write failed with an unexpected panic", Err: fmt.Errorf("%v", p),
				Try: "Report it with the stack from the log; nothing was written."}
		}
	}()
	return r.apply(t)
}

// storageError wraps the error of a failed commit or index write.
func storageError(err error) error {
	if _, ok := errors.AsType[*ken.Error](err); ok {
		return err
	}
	return &ken.Error{Code: ken.CodeUnavailable, Msg: "write to storage", Err: err,
		Try: "Check that the disk has room and is writable, then write again: a key makes that safe."}
}

// publish makes a committed batch visible: rows, vectors, then the index. The batch is
// durable, so an error here doesn't fail the write: the client would repeat it.
func (s *Store) publish(p *plan) {
	defer s.shown.Store(p.commit) // after everything is visible
	defer func() {
		if p := recover(); p != nil {
			s.o.Log.Error("publishing a write panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			_ = s.notePageFault(p) // memory and file may differ
		}
	}()
	up, del := s.publishRows(p)
	s.broadcast()
	s.toIndex(up, del, p.commit)
}

// publishRows updates rows and vectors with the batch, and returns what the index needs.
func (s *Store) publishRows(p *plan) (up []keyword.Doc, del []uint32) {
	s.commit, s.head, s.classes = p.commit, p.head, p.classes
	for _, c := range p.changes { // before the rows change: a reader that sees a new row must not read an old claim
		s.cache.drop(c.ref)
	}
	s.t.mu.Lock()
	for i := range p.changes {
		c := &p.changes[i]
		s.t.put(c.ref, c.row)
		s.t.file(c.ref, c.about)
	}
	s.t.mu.Unlock()
	s.docs.apply(p.layer.docs)
	s.seq.Store(p.seq) // after the rows: a reader of an event finds what the event changed
	for _, c := range p.changes {
		if c.claim == nil {
			del = append(del, c.ref)
			s.removeVector(c.ref)
			continue
		}
		if c.words {
			up = append(up, indexDoc(c.ref, c.claim))
		}
		if err := s.attachVector(c.ref, c.row.hash); err != nil { // the record is embedded again later
			s.o.Log.Warn("a vector can't be read", "store", s.dir, "error", err)
		}
	}
	return up, del
}

func (s *Store) broadcast() {
	s.wakeMu.Lock()
	defer s.wakeMu.Unlock()
	close(s.wake)
	s.wake = make(chan struct{})
}

// read runs fn in a read transaction.
func (s *Store) read(fn func(*bbolt.Tx) error) error {
	s.snapshots.RLock()
	defer s.snapshots.RUnlock()
	return read(s.db, fn)
}

// read is like bbolt's View, but releases bbolt's locks when beginning the transaction
// panics. This happens when both meta pages at the start of the file are damaged. bbolt
// itself would keep its locks, and every later call, Close included, would wait for ever.
// With read, each call ends with the same panic.
func read(db *bbolt.DB, fn func(*bbolt.Tx) error) error {
	began, ended := false, false
	defer func() {
		if !began && !ended {
			lock[sync.RWMutex](db, "mmaplock").RUnlock()
			lock[sync.Mutex](db, "metalock").Unlock()
		}
	}()
	err := db.View(func(tx *bbolt.Tx) error {
		began = true
		return fn(tx)
	})
	ended = true
	return err
}

// write is like bbolt's Update, but releases bbolt's writer lock when beginning or
// rolling back a transaction panics. A rollback can panic because it reads the list of
// free pages. See read.
func write(db *bbolt.DB, fn func(*bbolt.Tx) error) error {
	var began *bbolt.Tx
	ended := false
	defer func() {
		if !ended && (began == nil || began.DB() != nil) {
			lock[sync.Mutex](db, "rwlock").Unlock()
		}
	}()
	err := db.Update(func(tx *bbolt.Tx) error {
		began = tx
		return fn(tx)
	})
	ended = true
	return err
}

// lock returns one of bbolt's locks by the name of its field. TestLocksOfBbolt fails if
// the bbolt version has no such field.
func lock[T any](db *bbolt.DB, name string) *T {
	f := reflect.ValueOf(db).Elem().FieldByName(name)
	if !f.IsValid() || f.Type() != reflect.TypeFor[T]() {
		panic("bbolt has no lock " + name)
	}
	return (*T)(f.Addr().UnsafePointer())
}

// A disk can hang without an error, for example a network volume whose server is gone, or
// a device that resets. A commit that takes longer than stallReported is reported as a fault
// of the store. After stallAborts, the writes that wait for it fail. The commit may still
// succeed later; a write with an ID (see store.WithCommit) can be repeated and is done
// once.
const (
	stallReported = 2 * time.Second
	stallAborts   = 10 * time.Second
)

// stallDetector detects commits that hang. It is safe for concurrent use.
type stallDetector struct {
	mu    sync.Mutex    // guards the rest
	ended chan struct{} // closed while a commit has been hanging for at least stallAborts
}

// hung returns a channel that is closed while the disk hangs. Callers then stop waiting.
func (x *stallDetector) hung() <-chan struct{} {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended == nil {
		x.ended = make(chan struct{})
	}
	return x.ended
}

// set records whether the disk hangs.
func (x *stallDetector) set(hung bool) {
	ended := x.hung()
	x.mu.Lock()
	defer x.mu.Unlock()
	select {
	case <-ended:
		if !hung {
			x.ended = make(chan struct{})
		}
	default:
		if hung {
			close(x.ended)
		}
	}
}

var errStalled = &ken.Error{Code: ken.CodeUnavailable, Msg: fmt.Sprintf("the disk has not responded for %v; the write may still succeed", stallAborts),
	Try: "Check the disk, or the network to it. Writes continue when it responds."}

// committing watches a commit until the returned function is called.
func (s *Store) committing() (done func()) {
	begun := time.Now()
	var mu sync.Mutex
	hung, late := false, false
	while := func(fn func()) func() {
		return func() {
			mu.Lock()
			defer mu.Unlock()
			if !hung {
				fn()
			}
		}
	}
	told := time.AfterFunc(stallReported, while(func() {
		late = true
		s.noteWrite(fmt.Errorf("the disk has not answered since %s", begun.UTC().Format(time.TimeOnly)))
		s.o.Log.Error("the disk does not respond: turns continue, writes wait", "store", s.dir)
	}))
	ends := time.AfterFunc(stallAborts, while(func() { s.stalls.set(true) }))
	return func() {
		told.Stop()
		ends.Stop()
		mu.Lock()
		defer mu.Unlock()
		if hung = true; late {
			s.stalls.set(false)
			s.noteWrite(nil)
			s.o.Log.Info("the disk responds again", "store", s.dir, "after", time.Since(begun).Round(time.Millisecond))
		}
	}
}
