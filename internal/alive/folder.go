package alive

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"
)

// Folder creates a folder in dir for the temporary files of this process. remove deletes it.
// If the process ends before that, RemoveLeft or the next Folder deletes it. dir is created if
// needed and deleted with its last folder, so nothing else may be stored in it.
func Folder(dir string) (path string, remove func() error, err error) {
	if err := RemoveLeft(dir, time.Now()); err != nil {
		return "", nil, err
	}
	id := uuid.NewString()
	a, err := Announce(dir, id)
	for range 10 {
		if !errors.Is(err, fs.ErrNotExist) { // otherwise another process deleted dir meanwhile
			break
		}
		a, err = Announce(dir, id)
	}
	if err != nil {
		return "", nil, err
	}
	path = filepath.Join(dir, id)
	remove = func() error {
		err := errors.Join(os.RemoveAll(path), a.Close()) // in this order: see RemoveLeft
		_ = os.Remove(dir)                                // fails if it has other folders
		return err
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		return "", nil, errors.Join(fmt.Errorf("make a folder for copies: %w", err), remove())
	}
	return path, remove, nil
}

// RemoveLeft deletes the folders that Folder created in dir for processes that have ended.
func RemoveLeft(dir string, now time.Time) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for folders that processes left behind: %w", err)
	}
	var errs []error
	for _, e := range entries {
		if e.IsDir() && !Is(dir, e.Name()) {
			errs = append(errs, os.RemoveAll(filepath.Join(dir, e.Name())))
			_ = os.Remove(file(dir, e.Name())) // if this fails, a later Sweep does it
		}
	}
	_, err = Sweep(dir, now)
	_ = os.Remove(dir) // fails unless it is empty
	return errors.Join(append(errs, err)...)
}
