package mapped

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// What is read of a mapping counts as the process's memory until it is released, and can be
// read again then.
func TestRelease(t *testing.T) {
	const size = 32 << 20
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, bytes.Repeat([]byte("0123456789abcdef"), size/16), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(b)
	sum := func() (n int) {
		for i := 0; i < len(b); i += 512 {
			n += int(b[i])
		}
		return n
	}
	before := Resident()
	want := sum()
	if got := Resident() - before; got < size*3/4 {
		t.Skipf("reading %d bytes counts as %d: another file system", size, got)
	}
	Release(b)
	if got := Resident() - before; got > size/4 {
		t.Errorf("%d bytes are left of %d", got, size)
	}
	if got := sum(); got != want {
		t.Errorf("it reads %d, not %d", got, want)
	}
	Release(b[1:]) // not from the beginning of a page
	Release(nil)
	if got := sum(); got != want {
		t.Errorf("it reads %d, not %d", got, want)
	}
}
