package shared

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"

	"github.com/kenlayer/ken/internal/durable"
)

// A node's file is a copy of a log, so its commits need no fsync. When the process is
// killed, the file is still complete. After a power failure the file may be damaged, and the
// node makes a new copy. A changed boot ID shows that the machine has restarted meanwhile.

const (
	// copyFile is the name of a file that marks a folder's store as a copy of a log, which may be
	// deleted and made again. While the store has unsynced writes, it contains the machine's boot
	// ID; otherwise it is empty.
	copyFile = "copy-of-a-log"
	// bootID is the Linux file with the machine's boot ID, which is new at each start.
	bootID = "/proc/sys/kernel/random/boot_id"
)

// isCopy reports whether a folder's store is a copy of a log. torn reports whether the copy had
// unsynced writes when the machine went down: then the file may be inconsistent.
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

// leaveUnsynced records that a folder's store is a copy of a log which may have unsynced writes.
// may reports whether writes may be left unsynced. It is false on systems without a boot ID.
func leaveUnsynced(dir string) (may bool, err error) {
	boot, err := os.ReadFile(bootID)
	if err != nil {
		boot = nil
	}
	path := filepath.Join(dir, copyFile)
	if was, err := os.ReadFile(path); err == nil && bytes.Equal(was, boot) {
		return boot != nil, nil
	}
	return boot != nil, durable.WriteFile(path, boot, 0o600)
}

// synced records that all writes of a copy are on the disk.
func synced(dir string) error { return durable.WriteFile(filepath.Join(dir, copyFile), nil, 0o600) }

// forgetCopy records that a folder's store is no longer a copy.
func forgetCopy(dir string) error {
	if err := os.Remove(filepath.Join(dir, copyFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
