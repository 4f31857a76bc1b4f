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
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/durable"
)

// Holder says which process has a folder open and where it serves the store. The lock
// itself is on the bbolt file, so a Holder may describe a process that has ended.
type Holder struct {
	PID     int       `json:"pid"`
	Command string    `json:"command"`
	Since   time.Time `json:"since"`

	Network string `json:"network,omitempty"` // unix or tcp; empty if it does not serve the store
	Address string `json:"address,omitempty"` // the socket's path, or a loopback address
	Token   string `json:"token,omitempty"`   // a client must send it

	Events bool `json:"events,omitempty"` // its program answers events, see remote.ServerOptions
}

const holderFile = "holder.json"

// ReadHolder reads which process holds the folder of a store. It returns the zero value
// if no valid holder file exists.
func ReadHolder(dir string) (h Holder) {
	if b, err := os.ReadFile(filepath.Join(dir, holderFile)); err != nil || json.Unmarshal(b, &h) != nil {
		return Holder{}
	}
	return h
}

// command returns a name for this process that a person recognizes: the program and its
// subcommand.
func command() string {
	name := filepath.Base(os.Args[0])
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		name += " " + os.Args[1]
	}
	return name
}

// write replaces the holder's file atomically. The file holds a token, so its mode is
// 0600. It is not synced, because each command writes it, and it says nothing after a power cut.
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
		err = durable.Rename(f.Name(), filepath.Join(dir, holderFile))
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// HeldError returns the error for opening a store's folder while another process holds
// it: an ErrHeld that names the process, if it is known.
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

// removeHolder removes the holder's file. The caller still holds the lock.
func removeHolder(dir string) error { return removed(filepath.Join(dir, holderFile)) }

// Lock is the exclusive right to a store's folder. The operating system releases it when
// the process ends. A Lock must not be used by several goroutines at once.
type Lock struct {
	dir  string
	o    Options
	db   *bbolt.DB // nil after the lock was passed to a store
	self Holder
}

// Acquire locks a folder, which it creates if needed. It waits at most o.LockTimeout. It
// reads no data yet: see Lock.Open. Errors: those of Open except ken.ErrRefused.
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
	// Best effort: without the file, the errors of other processes only lack a name.
	_ = l.self.write(dir)
	return l, nil
}

// LacksFile reports whether a folder has the index of a store, but not the store's file: somebody
// moved or deleted it.
func LacksFile(dir string) bool {
	_, index := os.Stat(filepath.Join(dir, indexDir))
	_, file := os.Stat(filepath.Join(dir, dbFile))
	return index == nil && errors.Is(file, fs.ErrNotExist)
}

// Announce publishes the address at which this process serves the store. It may be
// called again while the store is open.
func (l *Lock) Announce(network, address, token string, events bool) error {
	l.self.Network, l.self.Address, l.self.Token, l.self.Events = network, address, token, events
	if err := l.self.write(l.dir); err != nil {
		return fmt.Errorf("say where the store is served: %w", err)
	}
	return nil
}

// Open opens the store; see the function Open for details and errors. The store then
// owns the lock and releases it on Close. After an error, the caller must still release
// the lock.
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

// openRebuilt rebuilds the store from its log and loads it again.
func (l *Lock) openRebuilt(ctx context.Context, s *Store, cause error) (*Store, error) {
	l.o.Log.Warn("the store is damaged and is rebuilt from its log", "store", l.dir, "cause", cause)
	err := s.closeProjections()
	var report RepairReport
	if err == nil {
		report, err = s.rebuild(ctx)
		l.db = s.db
	}
	if err != nil {
		return s, errors.Join(cause, err)
	}
	next := newStore(l.dir, l.o, l.db)
	if report.Damage() {
		next.noteDamage(damaged("the store was repaired", errors.New(report.String())))
	}
	return next, next.load(ctx)
}

// Release releases a lock that was not used. It does nothing if the lock was passed to a
// store.
func (l *Lock) Release() error {
	if l.db == nil {
		return nil
	}
	err := errors.Join(removeHolder(l.dir), l.db.Close())
	l.db = nil
	return err
}

// RemoveCopy removes the folder of a store that no other process uses. It renames the
// folder to gone first, so that a process that is killed meanwhile leaves all of it or
// nothing under its name. gone must be on the same file system and must not exist. The
// lock is released.
func (l *Lock) RemoveCopy(gone string) error {
	if !replacesOpenFiles { // nor is a folder renamed in which a file is open
		if err := l.Release(); err != nil {
			return err
		}
	}
	err := os.Rename(l.dir, gone)
	return errors.Join(err, l.Release(), os.RemoveAll(gone))
}

// errTaken means that another process holds the lock at this moment.
var errTaken = errors.New("the lock is taken")

// lockRetry is the time between two attempts to take the lock.
const lockRetry = 5 * time.Millisecond

// openDB opens and thereby locks the bbolt file. For each way in which the file can be
// broken, it returns an error that names it.
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

// newDB is openDB for a new file. It removes what an interrupted attempt left.
func newDB(path string, o Options) (*bbolt.DB, error) {
	if err := removed(path); err != nil {
		return nil, err
	}
	return openDB(path, o)
}

// replacesOpenFiles reports whether the system renames and replaces files that are open. Tests set it.
var replacesOpenFiles = runtime.GOOS != "windows"

// takeOver puts the file of next, which has the name tmp, into the place of the file of old, which
// has the name path. It returns the file that is there now: next, or that of old after an error.
// next was removed then. The caller closes old if that is another one. The new file is locked
// before the lock of the old one is released. Where open files can't be replaced, both are closed
// first, and nobody has the lock for a moment.
func takeOver(old, next *bbolt.DB, tmp, path string, o Options) (now *bbolt.DB, err error) {
	if replacesOpenFiles {
		if err := os.Rename(tmp, path); err != nil {
			return old, errors.Join(err, next.Close(), os.Remove(tmp))
		}
		next.NoSync = old.NoSync
		return next, nil
	}
	if err = errors.Join(next.Close(), old.Close()); err == nil {
		err = durable.Rename(tmp, path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(tmp))
	}
	now, again := openDB(path, o)
	if again != nil {
		return old, errors.Join(err, again)
	}
	now.NoSync = old.NoSync
	return now, err
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
			if file != nil { // bbolt left the file open and locked
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
		Timeout:  1, // nanosecond: one attempt
		NoSync:   o.NoSync,
		ReadOnly: o.readOnly,
		// The freelist is stored in the file: without it, bbolt would walk every page on
		// opening.
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
	// Compaction replaces the file and then releases the old one. A lock on the old file
	// protects nothing.
	ours, err := file.Stat()
	there, err2 := os.Stat(path)
	if err != nil || err2 != nil || !os.SameFile(ours, there) {
		return nil, errors.Join(errTaken, db.Close())
	}
	return db, nil
}

// IsFull reports whether an error means that the disk has no room. The keyword index
// reports that only as text.
func IsFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || err != nil && strings.Contains(err.Error(), syscall.ENOSPC.Error())
}

// emptied truncates a new file of which only a part could be written.
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

// checkUnlocked is precheck for a file that another process may be creating: while
// another process holds the lock, the state of the file means nothing.
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

// List returns the owners whose stores are in dir, open or not, in the order of their
// folder names. A folder that does not exist has none.
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
		if err != nil || FolderName(owner) != e.Name() { // not a store's folder
			continue
		}
		if HasStore(filepath.Join(dir, e.Name())) {
			owners = append(owners, owner)
		}
	}
	return owners, nil
}

// escaper escapes what url.PathEscape does not. It is created once, because every turn
// computes a folder name.
var escaper = strings.NewReplacer(":", "%3A", "*", "%2A")

// FolderName returns the name of an owner's folder: the owner's name, percent-encoded
// where a file system requires it. The store in the folder records its owner, so that
// two owners can't be confused even if the file system ignores case.
func FolderName(owner string) string {
	name := url.PathEscape(owner)
	if strings.HasPrefix(name, ".") {
		name = "%2E" + name[1:]
	}
	if runtime.GOOS == "windows" && strings.HasSuffix(name, ".") { // Windows cuts off a dot at the end
		name = name[:len(name)-1] + "%2E"
	}
	return escaper.Replace(name)
}

// ownFiles are names of Ken's own files and folders beside those of owners.
var ownFiles = []string{"chat_history", "events", "lost+found", "made-here.json", "plan", "plan.json"}

// Reserved reports whether an owner's folder would be one of Ken's own files. A store that an earlier version made there
// can still be opened.
func Reserved(owner string) bool {
	return slices.ContainsFunc(ownFiles, func(own string) bool { return strings.EqualFold(owner, own) })
}

// HasStore reports whether a folder has a store.
func HasStore(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, dbFile))
	return err == nil
}

// OpenReadOnly opens the store in a folder that can't be written. The index and the
// vectors are copied into a temporary folder, because their engines write. Every write
// fails with ErrUnavailable. Any number of processes may open a folder this way. Errors:
// those of Open; ErrNotFound if there is no store yet.
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
		if errors.Is(err, fs.ErrNotExist) { // it is built again
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

var errReadOnly = &ken.Error{Code: ken.CodeUnavailable, Msg: "the store's folder can't be written, so it is opened read-only",
	Try: "Make the folder writable, or remove what made its file system read-only."}

// readable returns an error if the file can't be used read-only, because opening it
// would have to upgrade it.
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
