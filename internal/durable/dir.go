// Package durable makes changes in a folder survive a power cut.
package durable

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

// WriteFile replaces a file atomically: after a crash it has its old content or b. The file
// has mode 0600. Its folder must exist.
func WriteFile(path string, b []byte) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*.tmp") // has mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return Dir(dir)
}

// Dir syncs a folder. Before that, a power cut may undo the creation, renaming or removal
// of a file. On Windows, where a folder can't be synced, it does nothing.
func Dir(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
