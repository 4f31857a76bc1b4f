//go:build unix

package bolt

import (
	"os"
	"syscall"
)

// unlock lets go of the lock of a file that is still mapped: closing it would not.
func unlock(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
