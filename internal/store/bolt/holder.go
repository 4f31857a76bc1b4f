package bolt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/kenlayer/ken"
)

// Holder says who has a folder open and where it serves the store. The lock itself
// is the bbolt file's: what stands here may be of a process that is gone.
type Holder struct {
	PID     int       `json:"pid"`
	Command string    `json:"command"`
	Since   time.Time `json:"since"`

	Network string `json:"network,omitempty"` // unix or tcp; empty: it serves nobody
	Address string `json:"address,omitempty"` // the socket's path, or a loopback address
	Token   string `json:"token,omitempty"`   // what a client has to show

	Events bool `json:"events,omitempty"` // its program answers events, see remote.ServerOptions
}

const holderFile = "holder.json"

// ReadHolder reads who holds the folder of a store; the zero value when nobody
// says so.
func ReadHolder(dir string) (h Holder) {
	if b, err := os.ReadFile(filepath.Join(dir, holderFile)); err != nil || json.Unmarshal(b, &h) != nil {
		return Holder{}
	}
	return h
}

// command is how this process is called, for people.
func command() string {
	name := filepath.Base(os.Args[0])
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		name += " " + os.Args[1]
	}
	return name
}

// write puts the holder's file into place at once: who reads sees it whole or the
// one before. It holds a token, so nobody else may read it.
func (h *Holder) write(dir string) error {
	b, err := json.Marshal(h)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, holderFile+".*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, holderFile))
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// HeldError is what opening the folder of a store says while another process has
// it: an ErrHeld that names that process, if it can.
func HeldError(dir string) error {
	e := &ken.Error{Code: ken.CodeHeld, Msg: dir + " is held by another process", Try: "Wait for it to end, or use another --owner or project."}
	h := ReadHolder(dir)
	if h.PID == 0 {
		return e
	}
	e.Msg = fmt.Sprintf("%s is held by %q (process %d) since %s", dir, h.Command, h.PID, h.Since.Format(time.RFC3339))
	e.Try = fmt.Sprintf("Wait for process %d to end, or stop it.", h.PID)
	return e
}

// removeHolder forgets who held the folder, while its lock is still held.
func removeHolder(dir string) error {
	if err := os.Remove(filepath.Join(dir, holderFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

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
	var db *bbolt.DB
	for try := 1; ; try++ {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("create store folder: %w", err)
		}
		var err error
		if db, err = openDB(filepath.Join(dir, dbFile), o); err == nil {
			break
		}
		if try == 3 || !errors.Is(err, fs.ErrNotExist) { // else the folder was removed in between: see RemoveCopy
			return nil, err
		}
	}
	l := &Lock{dir: dir, o: o, db: db, self: Holder{PID: os.Getpid(), Command: command(), Since: o.Now().UTC().Truncate(time.Second)}}
	// Best effort: without it an error of others only lacks a name.
	_ = l.self.write(dir)
	return l, nil
}

// Announce lets other processes know where this one serves the store. It may be
// called again, as long as the store is open.
func (l *Lock) Announce(network, address, token string, events bool) error {
	l.self.Network, l.self.Address, l.self.Token, l.self.Events = network, address, token, events
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
	if err := removeIndexCopies(l.dir); err != nil {
		return nil, err
	}
	err := s.load(ctx)
	if errors.Is(err, ken.ErrCorrupt) && s.writable() == nil {
		// The pages are good, and what is derived from the log is not.
		s, err = l.openRebuilt(ctx, s, err)
	}
	if err == nil {
		err = s.eraseRestored()
	}
	if err != nil {
		return nil, errors.Join(err, s.closeProjections())
	}
	if err := s.embedCopy(ctx); err != nil && ctx.Err() == nil {
		s.o.Log.Warn("a copy lacks vectors for now", "store", l.dir, "error", err)
	}
	l.db = nil
	s.releaseMapped()
	go s.run()
	return s, nil
}

// openRebuilt folds the store from its log and loads it again.
func (l *Lock) openRebuilt(ctx context.Context, s *Store, cause error) (*Store, error) {
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

// RemoveCopy removes the folder of a store that nobody else has, by renaming it to gone first: a
// process that ends meanwhile leaves all of it or nothing under its name. gone is on the same file system, and not
// there. The lock goes with it.
func (l *Lock) RemoveCopy(gone string) error {
	if runtime.GOOS == "windows" { // no folder is renamed there in which a file is open
		if err := l.Release(); err != nil {
			return err
		}
	}
	err := os.Rename(l.dir, gone)
	return errors.Join(err, l.Release(), os.RemoveAll(gone))
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
	switch err := checkUnlocked(path); {
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
	case IsFull(err): // a file that is new
		return nil, errors.Join(&ken.Error{Code: ken.CodeUnavailable, Msg: "make a store's file", Err: err, Try: "Make room on the disk of " + filepath.Dir(path) + "."}, emptied(path))
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

// IsFull reports whether an error is that the disk has no room. The keyword index says it in words
// alone.
func IsFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || err != nil && strings.Contains(err.Error(), syscall.ENOSPC.Error())
}

// emptied empties a new file of which only a part could be written: that part is no store.
func emptied(path string) error {
	l := flock.New(path)
	if got, err := l.TryLock(); err != nil || !got { // another process makes it
		return err
	}
	defer l.Close()
	if precheck(path) == nil {
		return nil
	}
	return os.Truncate(path, 0)
}

// checkUnlocked is precheck for a file that another process may be making right now: while
// that one has the lock, what the file looks like says nothing.
func checkUnlocked(path string) error {
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

// List names the owners whose stores lie in dir, whether they are open or not, by
// the names of their folders. A folder that is not there holds none.
func List(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list owners: %w", err)
	}
	var owners []string
	for _, e := range entries {
		owner, err := url.PathUnescape(e.Name())
		if err != nil || FolderName(owner) != e.Name() { // not a folder of ours
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, e.Name(), dbFile)); err == nil {
			owners = append(owners, owner)
		}
	}
	return owners, nil
}

// escaper escapes what url.PathEscape leaves alone. It is made once: each turn asks
// for a name.
var escaper = strings.NewReplacer(":", "%3A", "*", "%2A")

// FolderName is the name of an owner's folder: the owner's own name where a file
// system allows it, percent-encoded where not. The store in the folder records
// its owner, so that no two names can be mixed up even where case is ignored.
func FolderName(owner string) string {
	name := url.PathEscape(owner)
	if strings.HasPrefix(name, ".") {
		name = "%2E" + name[1:]
	}
	return escaper.Replace(name)
}

// OpenReadOnly opens the store in a folder that can't be written, for reading alone. The
// index and the vectors are copied into a folder for temporary files, because their
// engines write. Every write fails with ErrUnavailable. Any number of processes may have
// a folder open so. Errors: those of Open; ErrNotFound where there is no store yet.
func OpenReadOnly(ctx context.Context, dir string, o Options) (*Store, error) {
	o = o.withDefaults()
	path := filepath.Join(dir, dbFile)
	if _, err := os.Stat(path); err != nil {
		return nil, &ken.Error{Code: ken.CodeNotFound, Field: "folder", Msg: dir + " has no store, and none can be made in it", Err: err,
			Try: "Make the folder writable, or work in another project."}
	}
	o.readOnly = true
	db, err := openDB(path, o)
	if err != nil {
		return nil, err
	}
	s := newStore(dir, o, db)
	s.health.broken = errReadOnly
	if s.work, err = os.MkdirTemp("", "ken-read-*"); err != nil {
		return nil, errors.Join(fmt.Errorf("copy the index: %w", err), db.Close())
	}
	for _, part := range []string{indexDir, vectorDir} {
		if err == nil {
			err = os.CopyFS(filepath.Join(s.work, part), os.DirFS(filepath.Join(dir, part)))
		}
		if errors.Is(err, fs.ErrNotExist) { // it is made anew
			err = nil
		}
	}
	if err == nil {
		err = s.load(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.closeProjections(), os.RemoveAll(s.work), db.Close())
	}
	go s.run()
	return s, nil
}

var errReadOnly = &ken.Error{Code: ken.CodeUnavailable, Msg: "the store's folder can't be written, so it is read alone",
	Try: "Make the folder writable, or remove what made its file system read-only."}

// readable reports why the file can't be read as it is: what opening it otherwise does to
// it can't be done.
func (s *Store) readable() error {
	return s.view(func(tx *bbolt.Tx) error {
		for _, b := range buckets {
			if tx.Bucket(b) == nil {
				return errOldFile
			}
		}
		meta := tx.Bucket(bMeta)
		if v := meta.Get(kLayout); len(v) != 1 || v[0] != layout && v[0] != layoutNoSums {
			return errOldFile
		}
		return s.checkOwner(meta.Get(kOwner))
	})
}

var errOldFile = &ken.Error{Code: ken.CodeUnavailable, Msg: "the store is of another version of ken, and its folder can't be written",
	Try: "Make the folder writable and open it once."}
