package shared

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"

	"github.com/kenlayer/ken/internal/durable"
)

// A node's file is a copy of a log, so its commits need not wait for the disk: a process
// that is killed loses nothing, and after a power cut the copy is made again. That the
// machine has started again since tells the two apart.

const (
	// copyFile says that a folder's store is a copy, which may be made again. While the store is
	// open it names the start of the machine since which the file may lack on the disk what it
	// shows; otherwise it is empty.
	copyFile = "copy-of-a-log"
	bootID   = "/proc/sys/kernel/random/boot_id"
)

// isCopy reports whether a folder's store is a copy, and whether it was open when the machine
// went down: what is on the disk may be of no one moment then.
func isCopy(dir string) (is, torn bool, err error) {
	was, err := os.ReadFile(filepath.Join(dir, copyFile))
	if errors.Is(err, os.ErrNotExist) {
		return false, false, nil
	}
	if err != nil {
		return false, false, err
	}
	boot, err := os.ReadFile(bootID)
	return true, len(was) > 0 && (err != nil || !bytes.Equal(was, boot)), nil
}

// leaveUnsynced notes that a folder's store is a copy whose file may lack on the disk what it
// shows. It reports whether it may: some systems don't say when they have started.
func leaveUnsynced(dir string) (may bool, err error) {
	boot, err := os.ReadFile(bootID)
	if err != nil {
		boot = nil
	}
	path := filepath.Join(dir, copyFile)
	if was, err := os.ReadFile(path); err == nil && bytes.Equal(was, boot) {
		return boot != nil, nil
	}
	return boot != nil, durable.WriteFile(path, boot)
}

// synced notes that the file of a copy is on the disk as it is.
func synced(dir string) error { return durable.WriteFile(filepath.Join(dir, copyFile), nil) }

// forgetCopy notes that a folder's store is no copy any more.
func forgetCopy(dir string) error {
	if err := os.Remove(filepath.Join(dir, copyFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
