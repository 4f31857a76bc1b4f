package shared

import (
	"container/list"
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/alive"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/store"
)

// Owners opens owners' stores under one folder as they are asked for, and closes
// the least recently used beyond a limit. Owners share nothing but the folder
// that theirs lie in. Safe for concurrent use.
//
// A store is in use while somebody here has it, or while it answers another
// process. A process that is connected and asks for nothing keeps no store open:
// it hears that the store was let go, and holds it itself if it has a use for it.
type Owners struct {
	dir   string
	limit int
	o     Options

	next  *Owners  // of the engine that owners move to; nil for none
	moved sync.Map // owner → the ID of the move by which it went to next
	comes sync.Map // of a next: owner → the ID of the move by which it must have come

	leaving sync.WaitGroup // of stores that are being closed
	opening chan struct{}  // holds an element for each store that is being opened here, limit of them at most
	copies  copies
	grown   chan struct{} // holds an element when the folder may have grown
	stop    context.CancelFunc
	running sync.WaitGroup // of keepBound

	mu      sync.Mutex // guards the rest
	open    map[string]*list.Element
	used    *list.List // of *ownerConn, most recently used first
	evicted []error
	closed  bool
}

// DefaultOpenOwners is how many stores stay open when no limit is given: each
// costs some file handles and, where it is held, its rows and vectors in memory.
const DefaultOpenOwners = 16

// NewOwners serves the owners whose folders lie in dir. limit <= 0 means
// DefaultOpenOwners.
func NewOwners(dir string, limit int, o Options) *Owners {
	if limit <= 0 {
		limit = DefaultOpenOwners
	}
	if abs, err := filepath.Abs(dir); err == nil { // else it is as good as it was
		dir = abs
	}
	w := &Owners{dir: dir, limit: limit, o: o.withDefaults(), opening: make(chan struct{}, limit), grown: make(chan struct{}, 1), open: map[string]*list.Element{}, used: list.New()}
	if err := errors.Join(alive.RemoveLeft(WorkDir(dir), time.Now()), removeGone(dir)); err != nil {
		w.o.Log.Warn("copies of stores could not be removed", "cause", err)
	}
	w.copies.w = w
	life, stop := context.WithCancel(context.Background())
	w.stop = stop
	if o.Node != nil && o.Folder > 0 {
		w.grows() // it may be too large already
		w.running.Go(func() { w.keepBound(life, o.Folder) })
	}
	if o.Next != nil {
		o.Node, o.Next = o.Next, nil
		w.next = NewOwners(filepath.Join(dir, nextDir), limit, o)
	}
	return w
}

// WorkDir is the folder, beside the owners', of copies of stores that are made and removed again.
// No owner's folder has such a name. It is on the same disk, and as private as the stores. See
// alive.Folder.
func WorkDir(dir string) string { return filepath.Join(dir, ".work") }

// nextDir is the folder of the copies of owners that have moved to Options.Next. No owner's
// folder has such a name.
const nextDir = ".next"

// follow reports whether an error says that an owner has moved to where this process has a node
// as well: there it goes on.
func (w *Owners) follow(owner string, err error) bool {
	var away *bolt.AwayError
	if w.next == nil || !errors.As(err, &away) || away.Moved.ID == "" || away.Moved.Place != w.o.NextName {
		return false
	}
	w.next.comes.Store(owner, away.Moved.ID)
	w.moved.Store(owner, away.Moved.ID)
	return true
}

// Get opens the owner's store, or returns the open one: held by this process or by
// another. The caller calls release when it is done; a store in use is never
// closed, even beyond the limit. While one owner's store opens, the others' are
// served; whoever else asks for it waits until it is open or ctx ends. As many are
// opened at once as may stay open; others wait for their turn.
//
// The engine works on after a takeover. Errors: ken.ErrHeld for a folder whose
// holder can't be reached or is of another version; those of bolt.Open; ctx's;
// ErrUnavailable after Close.
func (w *Owners) Get(ctx context.Context, owner string) (s store.Engine, release func(), err error) {
	if owner == "" {
		owner = ken.DefaultOwner
	}
	if _, moved := w.moved.Load(owner); moved {
		return w.next.Get(ctx, owner)
	}
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil, nil, errClosed
	}
	el, ok := w.open[owner]
	if !ok {
		if err := ctx.Err(); err != nil { // whoever goes through owners with it would begin to open all of them
			w.mu.Unlock()
			return nil, nil, err
		}
		el = w.used.PushFront(newSeat(w, owner, filepath.Join(w.dir, bolt.FolderName(owner))))
		w.open[owner] = el
	}
	st := el.Value.(*ownerConn)
	st.uses++
	w.used.MoveToFront(el)
	w.evict()
	w.mu.Unlock()
	release = sync.OnceFunc(func() { w.release(st) })
	if _, err := st.current(ctx); err != nil {
		release()
		if w.follow(owner, err) {
			return w.next.Get(ctx, owner)
		}
		return nil, nil, err
	}
	return st.engine, release, nil
}

// Holds reports whether this process holds the owner's folder just now.
func (w *Owners) Holds(owner string) bool {
	if owner == "" {
		owner = ken.DefaultOwner
	}
	if _, moved := w.moved.Load(owner); moved {
		return w.next.Holds(owner)
	}
	w.mu.Lock()
	el := w.open[owner]
	w.mu.Unlock()
	if el == nil {
		return false
	}
	r := el.Value.(*ownerConn).role.Load()
	return r != nil && r.host != nil
}

// use counts one more use of a connection, by another process.
func (w *Owners) use(st *ownerConn) (done func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	st.uses++
	if el := w.open[st.owner]; el != nil && el.Value.(*ownerConn) == st {
		w.used.MoveToFront(el)
	}
	return func() { w.release(st) }
}

// release ends one use. A store that could not be opened is forgotten with its last
// use, so that the next one tries again.
func (w *Owners) release(st *ownerConn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	st.uses--
	if el := w.open[st.owner]; el != nil && el.Value.(*ownerConn) == st && st.uses == 0 && st.failed() {
		w.leave(el)
	}
	w.evict()
}

// inUse reports whether somebody has the store.
func (w *Owners) inUse(st *ownerConn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return st.uses > 0
}

// evict closes idle stores beyond the limit, the longest unused first, and ends the opening of
// those that nobody waits for any more: else an engine that has become slow would be asked for
// more and more at once. What their closing says is told by Close. w.mu is held.
func (w *Owners) evict() {
	for el := w.used.Back(); el != nil && w.used.Len() > w.limit; {
		prev := el.Prev()
		if st := el.Value.(*ownerConn); st.uses == 0 {
			w.leave(el)
		}
		el = prev
	}
}

// leave closes a connection behind the caller's back. w.mu is held.
func (w *Owners) leave(el *list.Element) {
	st := el.Value.(*ownerConn)
	w.used.Remove(el)
	delete(w.open, st.owner)
	st.retire()
	w.leaving.Go(func() {
		err := st.close(true)
		w.grows()
		w.o.OnPutAway(st.owner)
		if err == nil {
			return
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.evicted = append(w.evicted, err)
	})
}

// Close closes every open store, in use or not, and waits for those that are
// opening, which stop. What other processes asked of this one is answered first.
// Get fails with ErrUnavailable afterwards.
func (w *Owners) Close() error {
	if w.next == nil {
		return w.closeAll()
	}
	return errors.Join(w.closeAll(), w.next.Close())
}

func (w *Owners) closeAll() error {
	w.stop()
	w.running.Wait()
	w.mu.Lock()
	w.closed = true
	var last []*ownerConn
	for el := w.used.Front(); el != nil; el = el.Next() {
		last = append(last, el.Value.(*ownerConn))
	}
	w.used.Init()
	clear(w.open)
	w.mu.Unlock()
	errs := make([]error, len(last))
	var all sync.WaitGroup
	for i, st := range last {
		st.retire()
		all.Go(func() { errs[i] = st.close(false) })
	}
	all.Wait()
	w.leaving.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	errs = append(w.evicted, errs...)
	w.evicted = nil
	return errors.Join(errs...)
}

var errClosed = &ken.Error{Code: ken.CodeUnavailable, Msg: "the store is closed", Try: "Open it again."}

// arrival is the ID of the move by which an owner must have come; "" for any.
func (w *Owners) arrival(owner string) string {
	id, _ := w.comes.Load(owner)
	text, _ := id.(string)
	return text
}
