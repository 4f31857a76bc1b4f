// Package durable makes changes in a folder survive a power cut.
package durable

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// WriteFile replaces a file atomically: after a crash it has its old content or b. Its folder must
// exist.
func WriteFile(path string, b []byte, mode fs.FileMode) error {
	return Replace(path, mode, func(w io.Writer) error { _, err := w.Write(b); return err })
}

// Replace is WriteFile with what write writes. Until it returns, the folder also has a file with
// the prefix ".NAME.".
func Replace(path string, mode fs.FileMode, write func(w io.Writer) error) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*.tmp") // has mode 0600
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<16)
	if err = write(w); err == nil {
		err = w.Flush()
	}
	if err == nil && mode != 0o600 {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return Dir(dir)
}

// Rename is os.Rename. On Windows, where a file that another process reads can't be replaced, it
// tries for half a second.
func Rename(from, to string) error {
	err := os.Rename(from, to)
	if runtime.GOOS != "windows" {
		return err
	}
	const sharingViolation = syscall.Errno(32)
	for wait := time.Millisecond; wait < 512*time.Millisecond && (errors.Is(err, sharingViolation) || errors.Is(err, fs.ErrPermission)); wait *= 2 {
		time.Sleep(wait) //nolint:forbidigo // there is nothing to wait for
		err = os.Rename(from, to)
	}
	return err
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
