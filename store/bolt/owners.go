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

	mu     sync.Mutex // guards the rest, and is held while a store opens
	open   map[string]*list.Element
	used   *list.List // of *tenant, most recently used first
	closed bool
}

type tenant struct {
	owner string
	store *Store
	refs  int
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
// when it is done; a store in use is never closed, even beyond the limit.
func (w *Owners) Get(ctx context.Context, owner string) (s *Store, release func(), err error) {
	if owner == "" {
		owner = ken.DefaultOwner
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, nil, errClosed
	}
	el, ok := w.open[owner]
	if !ok {
		o := w.o
		o.Owner = owner
		s, err := Open(ctx, filepath.Join(w.dir, FolderName(owner)), o)
		if err != nil {
			return nil, nil, err
		}
		el = w.used.PushFront(&tenant{owner: owner, store: s})
		w.open[owner] = el
	}
	t := el.Value.(*tenant)
	t.refs++
	w.used.MoveToFront(el)
	err = w.evict()
	return t.store, sync.OnceFunc(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		t.refs--
	}), err
}

func (w *Owners) evict() error {
	var errs []error
	for el := w.used.Back(); el != nil && w.used.Len() > w.limit; {
		prev := el.Prev()
		if t := el.Value.(*tenant); t.refs == 0 {
			w.used.Remove(el)
			delete(w.open, t.owner)
			errs = append(errs, t.store.Close())
		}
		el = prev
	}
	return errors.Join(errs...)
}

// Close closes every open store, in use or not. Get fails with ErrUnavailable
// afterwards.
func (w *Owners) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	var errs []error
	for el := w.used.Front(); el != nil; el = el.Next() {
		errs = append(errs, el.Value.(*tenant).store.Close())
	}
	w.used.Init()
	clear(w.open)
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
