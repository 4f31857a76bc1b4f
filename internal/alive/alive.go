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

// suffix is what the name of every announcement ends with; nothing else in the
// folder is looked at.
const suffix = ".alive"

// young is how old a file is before Sweep touches it: its process may be about to
// lock it.
const young = time.Minute

// Announcement is a process's sign of life.
type Announcement struct{ lock *flock.Flock }

// Announce says in dir, which is made if it is not there, that the process lives,
// until Close or its end. id is a nonce of the process, made anew at each start.
// Errors: ErrExists for an id that somebody else has announced; ErrInvalid for one
// that is empty or longer than 80 bytes.
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
		_ = lock.Close() // somebody swept it away before it was locked
	}
	return nil, &ken.Error{Code: ken.CodeUnavailable, Msg: "announce a process: its file keeps vanishing from " + dir,
		Try: "Stop what deletes files there."}
}

// maxID bounds an id in bytes: escaped it takes three times as many, and a file's
// name may have 255.
const maxID = 80

func file(dir, id string) string { return filepath.Join(dir, url.PathEscape(id)+suffix) }

// same reports whether what is locked is what bears the name.
func same(lock *flock.Flock, path string) bool {
	locked, err := lock.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(locked, there)
}

// Close says that the process has ended, as far as others are concerned.
func (a *Announcement) Close() error {
	// Windows deletes no file that is open, others lose nothing by the order: a file
	// that nobody locks is one of a process that has ended.
	err := a.lock.Close()
	if rm := os.Remove(a.lock.Path()); rm != nil && !errors.Is(rm, fs.ErrNotExist) {
		err = errors.Join(err, rm)
	}
	if err != nil {
		return fmt.Errorf("take back the announcement of a process: %w", err)
	}
	return nil
}

// Is reports whether a process that announced itself in dir lives, this one
// included. When it can't be found out, it does: to take from the living is worse
// than to wait for the dead.
func Is(dir, id string) bool {
	if id == "" || len(id) > maxID {
		return false
	}
	return lives(file(dir, id))
}

func lives(path string) bool {
	// Without O_CREATE, so that looking for a file does not make it. The lock is a
	// shared one: two who look at the same time must not take each other for its owner.
	lock := flock.New(path, flock.SetFlag(os.O_RDWR))
	ok, err := lock.TryRLock()
	if ok {
		_ = lock.Close()
	}
	return !ok && !errors.Is(err, fs.ErrNotExist)
}

// Sweep deletes the files of processes that are gone and returns how many. It goes
// on past one that it can't delete.
func Sweep(dir string, now time.Time) (int, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("look for processes that are gone: %w", err)
	}
	swept := 0
	var errs []error
	for _, e := range entries {
		if e.IsDir() || !strings.HasSuffix(e.Name(), suffix) {
			continue
		}
		info, err := e.Info()
		if err != nil || now.Sub(info.ModTime()) < young || lives(filepath.Join(dir, e.Name())) {
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
