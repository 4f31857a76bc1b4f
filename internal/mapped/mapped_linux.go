package mapped

import (
	"bytes"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Resident returns the number of bytes of mapped files that the process has in memory, its
// own program included; 0 if unknown. It takes some microseconds.
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

// Release drops the pages of b from the process's memory. b must be a whole shared,
// read-only mapping of a file; other memory would lose its content. Readers of b notice
// nothing. If releasing is not possible, it does nothing.
func Release(b []byte) {
	if len(b) == 0 || uintptr(unsafe.Pointer(unsafe.SliceData(b)))%uintptr(os.Getpagesize()) != 0 {
		return
	}
	_ = unix.Madvise(b, unix.MADV_DONTNEED)
}
