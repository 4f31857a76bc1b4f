package bolt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/kenlayer/ken"
)

// Lock is the right to a store's folder, which one process has at a time. The
// system takes it from a process that ends, however it ends. It belongs to one
// goroutine.
type Lock struct {
	dir  string
	o    Options
	db   *bbolt.DB // nil once it was given away
	self Holder
}

// Acquire takes the lock of a folder, which it makes if need be, and waits no
// longer for it than o.LockTimeout. Nothing is read yet: see Lock.Open. Errors:
// those of Open but for ken.ErrRefused.
func Acquire(dir string, o Options) (*Lock, error) {
	o = o.withDefaults()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create store folder: %w", err)
	}
	db, err := openDB(filepath.Join(dir, dbFile), o)
	if err != nil {
		return nil, err
	}
	l := &Lock{dir: dir, o: o, db: db, self: Holder{PID: os.Getpid(), Command: command(), Since: o.Now().UTC().Truncate(time.Second)}}
	// Best effort: without it an error of others only lacks a name.
	_ = l.self.write(dir)
	return l, nil
}

// Announce lets other processes know where this one serves the store. It may be
// called again, as long as the store is open.
func (l *Lock) Announce(network, address, token string) error {
	l.self.Network, l.self.Address, l.self.Token = network, address, token
	if err := l.self.write(l.dir); err != nil {
		return fmt.Errorf("say where the store is served: %w", err)
	}
	return nil
}

// Open opens the store; see the function Open for what it does and which errors
// come back. The lock is the store's from then on, and goes with it. After an error
// it is still there, to be released.
func (l *Lock) Open(ctx context.Context) (*Store, error) {
	s := newStore(l.dir, l.o, l.db)
	err := s.load(ctx)
	if errors.Is(err, ken.ErrCorrupt) && s.writable() == nil {
		// The pages are good, and what is derived from the log is not.
		s, err = l.mended(ctx, s, err)
	}
	if err != nil {
		return nil, errors.Join(err, s.closeProjections())
	}
	l.db = nil
	s.releaseMapped()
	go s.run()
	return s, nil
}

// mended folds the store from its log and loads it again.
func (l *Lock) mended(ctx context.Context, s *Store, cause error) (*Store, error) {
	l.o.Log.Warn("the store is damaged and is folded from its log again", "store", l.dir, "cause", cause)
	err := s.closeProjections()
	if err == nil {
		_, err = s.rebuild(ctx)
		l.db = s.db
	}
	if err != nil {
		return s, errors.Join(cause, err)
	}
	next := newStore(l.dir, l.o, l.db)
	return next, next.load(ctx)
}

// Release gives the lock back unused. A lock that was given to a store is not
// touched.
func (l *Lock) Release() error {
	if l.db == nil {
		return nil
	}
	err := errors.Join(removeHolder(l.dir), l.db.Close())
	l.db = nil
	return err
}

// errTaken is that another process has the lock just now.
var errTaken = errors.New("the lock is taken")

// lockRetry is how long to wait before a lock is tried again.
const lockRetry = 5 * time.Millisecond

// openDB opens the bbolt file, which is the lock, and turns every way in which it
// can be broken into an error that names it.
func openDB(path string, o Options) (*bbolt.DB, error) {
	for start := time.Now(); ; time.Sleep(lockRetry) { //nolint:forbidigo // there is no context, and LockTimeout bounds it
		db, err := tryDB(path, o)
		if !errors.Is(err, errTaken) {
			return db, err
		}
		if time.Since(start) >= o.LockTimeout {
			return nil, HeldError(filepath.Dir(path))
		}
	}
}

func tryDB(path string, o Options) (db *bbolt.DB, err error) {
	corrupt := func(cause error) error {
		return &ken.Error{Code: ken.CodeCorrupt, Msg: path + " is not a readable store", Err: cause,
			Try: "Run ken check --repair. If that can't read it either, restore it from a backup, or move it away and import the last export. It was not changed."}
	}
	var file *os.File
	defer func() {
		if r := recover(); r != nil {
			db, err = nil, corrupt(fmt.Errorf("%v", r))
			if file != nil { // bbolt has let go of nothing
				unlock(file)
				_ = file.Close()
			}
		}
	}()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	switch err := sound(path); {
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("open store: %w", err)
	case errors.Is(err, errTaken):
		return nil, err
	case err != nil:
		return nil, corrupt(err)
	}
	db, err = bbolt.Open(path, 0o600, &bbolt.Options{
		Timeout:  1, // nanosecond: it is tried once
		NoSync:   o.NoSync,
		ReadOnly: o.readOnly,
		// The freelist is kept in the file: without it, bbolt would walk every page
		// on opening.
		FreelistType: bbolt.FreelistMapType,
		OpenFile: func(name string, flag int, perm os.FileMode) (*os.File, error) {
			f, err := os.OpenFile(name, flag, perm)
			file = f
			return f, err
		}})
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, errTaken
	case errors.Is(err, os.ErrPermission), errors.Is(err, syscall.EROFS):
		return nil, fmt.Errorf("open store: %w", err)
	case err != nil:
		return nil, corrupt(err)
	}
	// Compaction puts a new file into the place of the old one and then lets go of
	// it: a lock on that one is worth nothing.
	ours, err := file.Stat()
	there, err2 := os.Stat(path)
	if err != nil || err2 != nil || !os.SameFile(ours, there) {
		return nil, errors.Join(errTaken, db.Close())
	}
	return db, nil
}

// sound is precheck for a file that another process may be making right now: while
// that one has the lock, what the file looks like says nothing.
func sound(path string) error {
	err := precheck(path)
	if err == nil || errors.Is(err, os.ErrPermission) {
		return err
	}
	l := flock.New(path)
	switch got, lockErr := l.TryLock(); {
	case lockErr != nil:
		return err
	case !got:
		return errors.Join(errTaken, l.Close())
	}
	defer l.Close()
	return precheck(path)
}
