package shared

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/alive"
	"github.com/kenlayer/ken/internal/lru"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/store"
)

// Owners opens the stores of owners in the folders below one folder, on demand. It
// closes the least recently used idle stores beyond a limit. The stores of different
// owners share no data. Owners is safe for concurrent use.
//
// A store is in use while a caller in this process has not released it, or while it
// answers a request of another process. An idle connection of another process does not
// keep a store open. When the store is closed, that process is notified, and becomes
// the holder itself if the store is in use there.
type Owners struct {
	dir   string
	limit int
	o     Options

	next  *Owners  // serves owners that have moved to Options.Next; nil for none
	moved sync.Map // owner → the ID of the move that brought it to next
	comes sync.Map // used in a next only: owner → the ID of the move that must have brought it here

	leaving sync.WaitGroup // counts stores that are being closed by leave
	opening chan struct{}  // holds an element for each store that is being opened here, limit of them at most
	copies  copies
	grown   chan struct{} // holds an element when the folder may have grown
	stop    context.CancelFunc
	running sync.WaitGroup // of keepBound

	mu      sync.Mutex                   // guards the rest
	open    lru.List[string, *ownerConn] // by owner
	evicted []error
	closed  bool
}

// DefaultOpenOwners is the default limit of open stores. Each open store needs some
// file handles and, in its holder, memory for its rows and vectors.
const DefaultOpenOwners = 16

// NewOwners returns an Owners for the stores below dir. limit is the number of stores
// that stay open, and also of those that are opened at the same time; 0 or less means
// DefaultOpenOwners. The caller has to call Close.
func NewOwners(dir string, limit int, o Options) *Owners {
	limit = cmp.Or(max(limit, 0), DefaultOpenOwners)
	if abs, err := filepath.Abs(dir); err == nil { // after an error dir is used as given
		dir = abs
	}
	w := &Owners{dir: dir, limit: limit, o: o.withDefaults(), opening: make(chan struct{}, limit), grown: make(chan struct{}, 1)}
	if err := errors.Join(alive.RemoveLeft(WorkDir(dir), time.Now()), removeGone(dir)); err != nil {
		w.o.Log.Warn("copies of stores could not be removed", "cause", err)
	}
	w.copies.w = w
	life, stop := context.WithCancel(context.Background())
	w.stop = stop
	if o.Node != nil && o.Folder > 0 {
		w.grows() // the folder may be too large already
		w.running.Go(func() { w.keepBound(life, o.Folder) })
	}
	if o.Next != nil {
		o.Node, o.Next = o.Next, nil
		w.next = NewOwners(filepath.Join(dir, nextDir), limit, o)
	}
	return w
}

// WorkDir returns the path of the folder for temporary copies of stores: a folder in dir, beside
// the owners' folders. No owner's folder has its name. It is on the same disk as the stores, and as
// private. See alive.Folder.
func WorkDir(dir string) string { return filepath.Join(dir, ".work") }

// nextDir is the name of the folder for copies of owners that have moved to Options.Next. No
// owner's folder has this name.
const nextDir = ".next"

// follow reports whether err says that an owner has moved to the engine of Options.Next. Then it
// records the move, so that later calls use w.next.
func (w *Owners) follow(owner string, err error) bool {
	var away *bolt.AwayError
	if w.next == nil || !errors.As(err, &away) || away.Moved.ID == "" || away.Moved.Place != w.o.NextName {
		return false
	}
	w.next.comes.Store(owner, away.Moved.ID)
	w.moved.Store(owner, away.Moved.ID)
	return true
}

// Get returns the owner's store, and opens it if needed, in this process or at its
// holder. "" means ken.DefaultOwner. The caller must call release when done. A store
// in use is not evicted, even beyond the limit. Opening one store does not block calls
// for other owners. Concurrent calls for the same owner wait until the store is open or
// their ctx ends. At most limit stores are opened at the same time; others wait.
//
// The engine stays usable when another process becomes the holder. Errors: ken.ErrHeld
// if the holder can't be reached or has another version; ErrUnavailable after Close;
// those of bolt.Open and of ctx.
func (w *Owners) Get(ctx context.Context, owner string) (s store.Engine, release func(), err error) {
	owner = cmp.Or(owner, ken.DefaultOwner)
	if _, moved := w.moved.Load(owner); moved {
		return w.next.Get(ctx, owner)
	}
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil, nil, errClosed
	}
	st, ok := w.open.Get(owner)
	if !ok {
		if err := ctx.Err(); err != nil { // otherwise a loop over many owners would start to open all of them
			w.mu.Unlock()
			return nil, nil, err
		}
		st = newSeat(w, owner, filepath.Join(w.dir, bolt.FolderName(owner)))
		w.open.Put(owner, st)
	}
	st.uses++
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

// store returns the options for opening an owner's store.
func (w *Owners) store(owner string) bolt.Options {
	o := w.o.Store
	o.Owner = owner
	return o
}

// Holds reports whether this process is currently the holder of the owner's store. "" means
// ken.DefaultOwner.
func (w *Owners) Holds(owner string) bool {
	owner = cmp.Or(owner, ken.DefaultOwner)
	if _, moved := w.moved.Load(owner); moved {
		return w.next.Holds(owner)
	}
	w.mu.Lock()
	st, ok := w.open.Peek(owner)
	w.mu.Unlock()
	if !ok {
		return false
	}
	r := st.role.Load()
	return r != nil && r.host != nil
}

// Opened returns the owners whose stores are open or being opened in this process, the least recently used
// first: a caller that gets each of them does not change which one is evicted next.
func (w *Owners) Opened() (owners []string) {
	if w.next != nil {
		owners = w.next.Opened()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, st := range slices.Backward(w.conns()) {
		owners = append(owners, st.owner)
	}
	return owners
}

// conns returns the connections, the most recently used first. w.mu is held.
func (w *Owners) conns() (all []*ownerConn) {
	for _, st := range w.open.All() {
		all = append(all, st)
	}
	return all
}

// use adds a use of a connection, for a request of another process. done ends the use.
func (w *Owners) use(st *ownerConn) (done func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	st.uses++
	if now, _ := w.open.Peek(st.owner); now == st {
		w.open.Get(st.owner)
	}
	return func() { w.release(st) }
}

// release ends one use. After the last use of a store that could not be opened, the
// connection is dropped, so that the next Get tries again.
func (w *Owners) release(st *ownerConn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	st.uses--
	if now, _ := w.open.Peek(st.owner); now == st && st.uses == 0 && st.failed() {
		w.leave(st)
	}
	w.evict()
}

// inUse reports whether the store is in use: see Owners.
func (w *Owners) inUse(st *ownerConn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return st.uses > 0
}

// evict closes idle stores beyond the limit, the least recently used first. It also cancels openings
// that no caller waits for any more. Otherwise a slow engine would receive more and more concurrent
// requests. Close returns the errors of the closing. w.mu is held.
func (w *Owners) evict() {
	if w.open.Len() <= w.limit {
		return
	}
	for _, st := range slices.Backward(w.conns()) {
		if st.uses == 0 && w.open.Len() > w.limit {
			w.leave(st)
		}
	}
}

// leave removes a connection from w.open and closes it in the background. w.mu is held.
func (w *Owners) leave(st *ownerConn) {
	w.open.Take(st.owner)
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

// Close closes all open stores, even those in use. It cancels openings and waits for
// them. Pending requests of other processes are answered first, within 5 s. It also
// returns the errors of stores that were evicted earlier. Afterwards Get fails with
// ErrUnavailable.
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
	last := w.conns()
	w.open = lru.List[string, *ownerConn]{}
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

// errClosed is the error of calls after Close, or of a connection that was closed.
var errClosed = &ken.Error{Code: ken.CodeUnavailable, Msg: "the store is closed", Try: "Open it again."}

// arrival returns the ID of the move that must have brought an owner to this engine; "" if none is
// required.
func (w *Owners) arrival(owner string) string {
	id, _ := w.comes.Load(owner)
	text, _ := id.(string)
	return text
}
