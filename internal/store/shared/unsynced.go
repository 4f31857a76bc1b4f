package shared

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"

	"github.com/kenlayer/ken/internal/durable"
	"github.com/kenlayer/ken/internal/store/bolt"
)

// A node's file is a copy of a log, so its commits need not wait for the disk: a process
// that is killed loses nothing, and after a power cut the copy is made again. That the
// machine has started again since tells the two apart.

const (
	// unsyncedFile names the start of the machine since which the file may lack on the disk
	// what it shows. It is there as long as the store is open.
	unsyncedFile = "unsynced"
	bootID       = "/proc/sys/kernel/random/boot_id"
)

// checkUnsynced removes the copy of a store that was open when the machine went down.
func checkUnsynced(dir string) error {
	was, err := os.ReadFile(filepath.Join(dir, unsyncedFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if boot, err := os.ReadFile(bootID); err == nil && bytes.Equal(was, boot) {
		return nil
	}
	return errors.Join(bolt.Discard(dir), synced(dir))
}

// leaveUnsynced notes that the file may lack on the disk what it shows. It reports whether
// that can be noted: some systems don't say when they have started.
func leaveUnsynced(dir string) (bool, error) {
	boot, err := os.ReadFile(bootID)
	if err != nil {
		return false, nil //nolint:nilerr // another system
	}
	path := filepath.Join(dir, unsyncedFile)
	if was, err := os.ReadFile(path); err == nil && bytes.Equal(was, boot) {
		return true, nil
	}
	return true, durable.WriteFile(path, boot)
}

// synced notes that the file is on the disk as it is.
func synced(dir string) error {
	if err := os.Remove(filepath.Join(dir, unsyncedFile)); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
