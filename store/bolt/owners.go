package bolt

import (
	"container/list"
	"context"
	"errors"
	"net/url"
	"path/filepath"
	"strings"
	"sync"

	"github.com/kenlayer/ken"
)

// Owners opens owners' stores under one folder as they are asked for, and closes
// the least recently used beyond a limit. Owners share nothing but the folder
// that theirs lie in. Safe for concurrent use.
type Owners struct {
	dir   string
	limit int
	o     Options

	mu      sync.Mutex // guards the rest
	open    map[string]*list.Element
	used    *list.List // of *tenant, most recently used first
	evicted []error
	closed  bool
}

type tenant struct {
	owner string
	refs  int           // guarded by Owners.mu
	ready chan struct{} // closed once store or err is set
	store *Store
	err   error
}

// DefaultOpenOwners is how many stores stay open when no limit is given: each
// costs some file handles and its rows and vectors in memory.
const DefaultOpenOwners = 16

// NewOwners serves the owners whose folders lie in dir. limit <= 0 means
// DefaultOpenOwners. o.Owner is ignored.
func NewOwners(dir string, limit int, o Options) *Owners {
	if limit <= 0 {
		limit = DefaultOpenOwners
	}
	return &Owners{dir: dir, limit: limit, o: o, open: map[string]*list.Element{}, used: list.New()}
}

// Get opens the owner's store, or returns the open one. The caller calls release
// when it is done; a store in use is never closed, even beyond the limit. While
// one owner's store opens, the others' are served; whoever else asks for it waits
// until it is open or ctx ends.
func (w *Owners) Get(ctx context.Context, owner string) (s *Store, release func(), err error) {
	if owner == "" {
		owner = ken.DefaultOwner
	}
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil, nil, errClosed
	}
	el, ok := w.open[owner]
	if !ok {
		el = w.used.PushFront(&tenant{owner: owner, ready: make(chan struct{})})
		w.open[owner] = el
	}
	t := el.Value.(*tenant)
	t.refs++
	w.used.MoveToFront(el)
	w.evict()
	w.mu.Unlock()
	release = sync.OnceFunc(func() { w.release(el) })
	if !ok {
		o := w.o
		o.Owner = owner
		t.store, t.err = Open(ctx, filepath.Join(w.dir, FolderName(owner)), o)
		close(t.ready)
	}
	select {
	case <-t.ready:
		err = t.err
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		release()
		return nil, nil, err
	}
	return t.store, release, nil
}

// release ends one use. A store that failed to open is forgotten with its last
// use, so that the next one tries again.
func (w *Owners) release(el *list.Element) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := el.Value.(*tenant)
	t.refs--
	select {
	case <-t.ready:
		if t.err != nil && w.open[t.owner] == el {
			w.used.Remove(el)
			delete(w.open, t.owner)
		}
	default: // whoever opens it holds a use of it
	}
	w.evict()
}

// evict closes idle stores beyond the limit, the longest unused first. What their
// closing says is told by Close. w.mu is held.
func (w *Owners) evict() {
	for el := w.used.Back(); el != nil && w.used.Len() > w.limit; {
		prev := el.Prev()
		if t := el.Value.(*tenant); t.refs == 0 {
			w.used.Remove(el)
			delete(w.open, t.owner)
			w.evicted = append(w.evicted, t.store.Close())
		}
		el = prev
	}
}

// Close closes every open store, in use or not, and waits for those that are
// opening. Get fails with ErrUnavailable afterwards.
func (w *Owners) Close() error {
	w.mu.Lock()
	w.closed = true
	var last []*tenant
	for el := w.used.Front(); el != nil; el = el.Next() {
		last = append(last, el.Value.(*tenant))
	}
	errs := w.evicted
	w.used.Init()
	clear(w.open)
	w.evicted = nil
	w.mu.Unlock()
	for _, t := range last {
		<-t.ready
		if t.store != nil {
			errs = append(errs, t.store.Close())
		}
	}
	return errors.Join(errs...)
}

// FolderName is the name of an owner's folder: the owner's own name where a file
// system allows it, percent-encoded where not. The store in the folder records
// its owner, so that no two names can be mixed up even where case is ignored.
func FolderName(owner string) string {
	name := url.PathEscape(owner)
	if strings.HasPrefix(name, ".") {
		name = "%2E" + name[1:]
	}
	return strings.NewReplacer(":", "%3A", "*", "%2A").Replace(name)
}
