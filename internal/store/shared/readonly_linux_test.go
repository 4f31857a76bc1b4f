package shared_test

import (
	"context"
	"errors"
	"syscall"
	"testing"

	"github.com/kenlayer/ken"
)

// TestAReadOnlyFileSystem checks that a store on a read-only file system can be searched, and refuses
// writes.
func TestAReadOnlyFileSystem(t *testing.T) {
	dir := t.TempDir()
	w := owners(t, dir, suiteOptionsPlain())
	s := open(t, w)
	write(t, s, claim(t, "the port is 8080"))
	must(t, w.Close())
	if err := syscall.Mount(dir, dir, "", syscall.MS_BIND, ""); err != nil {
		t.Skipf("no read-only file system: nothing can be mounted here: %v", err)
	}
	defer func() { must(t, syscall.Unmount(dir, syscall.MNT_DETACH)) }()
	must(t, syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, ""))
	for range 2 {
		w := owners(t, dir, suiteOptionsPlain())
		s := open(t, w)
		if got := texts(t, s, "port"); len(got) != 1 {
			t.Errorf("found %q", got)
		}
		if _, err := s.WriteClaim(context.Background(), claim(t, "the host is example")); !errors.Is(err, ken.ErrUnavailable) {
			t.Errorf("write: %v", err)
		}
	}
}
