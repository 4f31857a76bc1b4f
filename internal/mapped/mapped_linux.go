package mapped

import (
	"bytes"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Resident is how many bytes of mapped files the process has in memory, its own program
// included; 0 when that is not known. It takes some microseconds.
func Resident() int {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	f := bytes.Fields(b) // in pages: size, resident, shared, …
	if len(f) < 3 {
		return 0
	}
	n, err := strconv.Atoi(string(f[2]))
	if err != nil {
		return 0
	}
	return n * os.Getpagesize()
}

// Release gives up the pages of b, which must be a whole mapping of a file that is shared
// and only read: whatever else it was would be lost. Nothing that reads b notices. It does
// nothing when that is not possible.
func Release(b []byte) {
	if len(b) == 0 || uintptr(unsafe.Pointer(unsafe.SliceData(b)))%uintptr(os.Getpagesize()) != 0 {
		return
	}
	_ = unix.Madvise(b, unix.MADV_DONTNEED)
}
