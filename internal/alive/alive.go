package alive

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/kenlayer/ken"
)

// suffix ends the file name of every announcement. Other files in the folder are
// ignored.
const suffix = ".alive"

// minSweepAge is the age below which Sweep leaves a file alone: its process may be about
// to lock it.
const minSweepAge = time.Minute

// Announcement is the lock by which a process shows that it is running.
type Announcement struct{ lock *flock.Flock }

// Announce records in dir that this process is running, until Close or the end of
// the process. It creates dir if needed. id is a random value that is new at each
// start. Errors: ErrExists for an id that is in use; ErrInvalid for an id that is
// empty or longer than 80 bytes.
func Announce(dir, id string) (*Announcement, error) {
	if id == "" || len(id) > maxID {
		return nil, &ken.Error{Code: ken.CodeInvalid, Field: "process", Msg: fmt.Sprintf("an id has 1 to %d bytes, this one %d", maxID, len(id)),
			Try: "Name the process by a UUID."}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("announce a process: %w", err)
	}
	for range 10 {
		lock := flock.New(file(dir, id))
		ok, err := lock.TryLock()
		if err != nil {
			return nil, fmt.Errorf("announce a process: %w", err)
		}
		if !ok {
			return nil, &ken.Error{Code: ken.CodeExists, Field: "process", Msg: "a process of id " + id + " lives already",
				Try: "Give each process an id of its own."}
		}
		if same(lock, file(dir, id)) {
			return &Announcement{lock}, nil
		}
		_ = lock.Close() // Sweep deleted the file before it was locked
	}
	return nil, &ken.Error{Code: ken.CodeUnavailable, Msg: "announce a process: its file keeps vanishing from " + dir,
		Try: "Stop what deletes files there."}
}

// maxID limits an id, in bytes. Escaping may triple its length, and a file name
// has at most 255 bytes.
const maxID = 80

func file(dir, id string) string { return filepath.Join(dir, url.PathEscape(id)+suffix) }

// same reports whether the locked file is the file at path.
func same(lock *flock.Flock, path string) bool {
	locked, err := lock.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(locked, there)
}

// Close ends the announcement: the process counts as ended.
func (a *Announcement) Close() error {
	// Windows can't delete an open file. On other systems the order does not
	// matter: a file without a lock belongs to a process that has ended.
	err := a.lock.Close()
	if rm := os.Remove(a.lock.Path()); rm != nil && !errors.Is(rm, fs.ErrNotExist) {
		err = errors.Join(err, rm)
	}
	if err != nil {
		return fmt.Errorf("remove the announcement of a process: %w", err)
	}
	return nil
}

// Is reports whether the process that announced id in dir is running, this one
// included. It returns true if that can't be determined: taking over from a
// running process is worse than waiting for a dead one.
func Is(dir, id string) bool {
	if id == "" || len(id) > maxID {
		return false
	}
	return lives(file(dir, id))
}

func lives(path string) bool {
	// Without O_CREATE, so that the check does not create the file. The lock is
	// shared, so that two concurrent checks do not take each other for the owner.
	lock := flock.New(path, flock.SetFlag(os.O_RDWR))
	ok, err := lock.TryRLock()
	if ok {
		_ = lock.Close()
	}
	return !ok && !errors.Is(err, fs.ErrNotExist)
}

// Sweep deletes the files of processes that have ended and returns how many. If it
// can't delete one, it continues with the others.
func Sweep(dir string, now time.Time) (int, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("look for processes that have ended: %w", err)
	}
	swept := 0
	var errs []error
	for _, e := range entries {
		if e.IsDir() || !strings.HasSuffix(e.Name(), suffix) {
			continue
		}
		info, err := e.Info()
		if err != nil || now.Sub(info.ModTime()) < minSweepAge || lives(filepath.Join(dir, e.Name())) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err == nil {
			swept++
		} else if !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return swept, errors.Join(errs...)
}
