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

// maxBatch bounds how many requests share a transaction.
const maxBatch = 256

// request is one caller's change.
type request struct {
	fn   func(*txn) error
	solo func() error // runs between batches, with the file to itself
	done chan error
	err  error

	commit uuid.UUID // what the write is called; nil for nothing
	result any       // what fn sets, kept under that name; a pointer, or nil
}

// do hands fn to the committer and waits until its changes are durable and
// searchable. ctx is honoured until the committer takes the request; after that
// the write may take effect although ctx ended.
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
	stalled := s.stalls.over()
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
		select { // it may have been done last thing
		case err := <-r.done:
			return err
		default:
			return errClosed
		}
	}
}

// run is the committer: it drains the queue, writes what it found in one
// transaction, and starts again. There is no delay to wait for company: while
// one batch is being synced, the next one gathers.
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
			for { // what was accepted is still written
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

// serve runs a batch, splitting it at requests that want the file to themselves.
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

// write commits a batch: transaction, then memory, then index, then the callers
// hear of it. A request whose function fails is answered with its own error and
// the others go on; a transaction that fails fails all of them.
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
		// What is in memory is what the file shows, or the next commit would be built on
		// another state than the file's.
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

// try runs a request. One that panics fails alone, and the log says where: the writer
// goes on, and with it the process.
func (s *Store) try(r *request, t *txn) (err error) {
	defer func() {
		p := recover()
		switch {
		case p == nil:
		case ofFile(p):
			err = s.notePageFault(p)
		default:
			s.o.Log.Error("a write panicked and is refused", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = &ken.Error{Code: ken.CodeInternal, Msg: "the write failed in a way that nobody expected", Err: fmt.Errorf("%v", p),
				Try: "Report it with the stack from the log; nothing was written."}
		}
	}()
	return r.apply(t)
}

// storageError dresses what a failed commit or index write says.
func storageError(err error) error {
	var e *ken.Error
	if errors.As(err, &e) {
		return err
	}
	return &ken.Error{Code: ken.CodeUnavailable, Msg: "write to storage", Err: err,
		Try: "Check that the disk has room and is writable, then write again: a key makes that safe."}
}

// publish makes a committed batch visible: rows, vectors, then the index. It is durable,
// so nothing that fails here makes the write a failed one: a client would repeat it.
func (s *Store) publish(p *plan) {
	defer s.shown.Store(p.commit) // once all of it is there to be seen
	defer func() {
		if p := recover(); p != nil {
			s.o.Log.Error("showing a write panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			_ = s.notePageFault(p) // what is in memory may not be what is in the file
		}
	}()
	up, del := s.publishRows(p)
	s.broadcast()
	s.toIndex(up, del, p.commit)
}

// publishRows shows the batch by rows and vectors, and returns what the index needs.
func (s *Store) publishRows(p *plan) (up []keyword.Doc, del []uint32) {
	s.commit, s.head, s.classes = p.commit, p.head, p.classes
	for _, c := range p.changes { // first: who has seen a new row must not read an old claim
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
	s.seq.Store(p.seq) // who reads an event finds what it changed
	for _, c := range p.changes {
		if c.claim == nil {
			del = append(del, c.ref)
			s.removeVector(c.ref)
			continue
		}
		if c.words {
			up = append(up, indexDoc(c.ref, c.claim))
		}
		if err := s.attachVector(c.ref, c.row.hash); err != nil { // it is embedded again
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

// read is bbolt's View. bbolt keeps its locks where beginning a transaction panics, as it
// does when both pages at the start of the file are gone; without them every later call
// would wait for ever, Close included. They are given back here, so that each call ends
// with the same panic.
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

// write is bbolt's Update, which keeps its lock for writers where beginning or undoing a
// transaction panics: undoing it reads the list of free pages. See read.
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

// lock is a lock of bbolt's, by the name of its field. TestLocksOfBbolt fails if another
// version has no such.
func lock[T any](db *bbolt.DB, name string) *T {
	f := reflect.ValueOf(db).Elem().FieldByName(name)
	if !f.IsValid() || f.Type() != reflect.TypeFor[T]() {
		panic("bbolt has no lock " + name)
	}
	return (*T)(f.Addr().UnsafePointer())
}

// A disk can hang without an error: a network volume whose server is gone, a device that
// resets. A commit that has not ended after stallTold is a fault of the store, and after
// stallEnds the writes that wait for it end. What hangs may still be written; a write with a
// name (see store.WithCommit) can be repeated and is done once.
const (
	stallTold = 2 * time.Second
	stallEnds = 10 * time.Second
)

// stallDetector notices commits that hang. It is safe for concurrent use.
type stallDetector struct {
	mu    sync.Mutex    // guards the rest
	ended chan struct{} // closed while a commit has hung for stallEnds
}

// over is closed once waiting for the disk makes no sense.
func (x *stallDetector) over() <-chan struct{} {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended == nil {
		x.ended = make(chan struct{})
	}
	return x.ended
}

// set says whether waiting makes sense.
func (x *stallDetector) set(over bool) {
	ended := x.over()
	x.mu.Lock()
	defer x.mu.Unlock()
	select {
	case <-ended:
		if !over {
			x.ended = make(chan struct{})
		}
	default:
		if over {
			close(x.ended)
		}
	}
}

var errStalled = &ken.Error{Code: ken.CodeUnavailable, Msg: fmt.Sprintf("the disk has not answered for %v; what was to be written may still be written", stallEnds),
	Try: "See whether the disk or its network is well. Writing goes on by itself when it answers."}

// committing watches a commit until the function that it returns is called.
func (s *Store) committing() (done func()) {
	begun := time.Now()
	var mu sync.Mutex
	over, late := false, false
	while := func(fn func()) func() {
		return func() {
			mu.Lock()
			defer mu.Unlock()
			if !over {
				fn()
			}
		}
	}
	told := time.AfterFunc(stallTold, while(func() {
		late = true
		s.noteWrite(fmt.Errorf("the disk has not answered since %s", begun.UTC().Format(time.TimeOnly)))
		s.o.Log.Error("the disk does not answer: turns go on, writes wait", "store", s.dir)
	}))
	ends := time.AfterFunc(stallEnds, while(func() { s.stalls.set(true) }))
	return func() {
		told.Stop()
		ends.Stop()
		mu.Lock()
		defer mu.Unlock()
		if over = true; late {
			s.stalls.set(false)
			s.noteWrite(nil)
			s.o.Log.Info("the disk answers again", "store", s.dir, "after", time.Since(begun).Round(time.Millisecond))
		}
	}
}
