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

// Folder makes a folder in dir, for files that no other process needs. remove removes it. When
// the process ends before, RemoveLeft does, and so does the next Folder. dir is made if it is
// not there, and goes with its last folder: nothing else may lie in it.
func Folder(dir string) (path string, remove func() error, err error) {
	if err := RemoveLeft(dir, time.Now()); err != nil {
		return "", nil, err
	}
	id := uuid.NewString()
	a, err := Announce(dir, id)
	for range 10 {
		if !errors.Is(err, fs.ErrNotExist) { // else somebody has removed dir in between
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
		_ = os.Remove(dir)                                // it may have other folders
		return err
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		return "", nil, errors.Join(fmt.Errorf("make a folder for copies: %w", err), remove())
	}
	return path, remove, nil
}

// RemoveLeft removes the folders that Folder made in dir for processes that are gone.
func RemoveLeft(dir string, now time.Time) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for what processes have left: %w", err)
	}
	var errs []error
	for _, e := range entries {
		if e.IsDir() && !Is(dir, e.Name()) {
			errs = append(errs, os.RemoveAll(filepath.Join(dir, e.Name())))
			_ = os.Remove(file(dir, e.Name())) // else Sweep does, later
		}
	}
	_, err = Sweep(dir, now)
	_ = os.Remove(dir) // when nothing is left in it
	return errors.Join(append(errs, err)...)
}
