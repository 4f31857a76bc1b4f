//go:build unix

package bolt

import (
	"os"
	"syscall"
)

// unlock releases the lock of a file that is still mapped. Closing the file would not
// release it.
func unlock(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
