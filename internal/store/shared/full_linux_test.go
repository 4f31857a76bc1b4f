package shared_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/commitlog/logtest"
	"github.com/kenlayer/ken/internal/store/shared"
)

// smallDisk returns a folder with a file system of its own, of the given size.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size)
	if errors.Is(err, syscall.EPERM) {
		t.Skip("SKIPPED: mounting a file system needs root")
	}
	must(t, err)
	t.Cleanup(func() { must(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	return dir
}

// TestANodeMakesRoomOnAFullDisk checks that a node deletes copies when its disk is full, even if the
// folder is smaller than store.folder_mb.
func TestANodeMakesRoomOnAFullDisk(t *testing.T) {
	log, dir := logtest.NewMemory(), smallDisk(t, "2m")
	m := bounded(t, log, dir, 1<<30)
	const owners = 32
	for i := range owners {
		m.visit(t, fmt.Sprint("o", i))
	}
	if left := len(folders(t, dir)); left == owners {
		t.Fatal("the disk was never full")
	}
	for i := range owners {
		m.visit(t, fmt.Sprint("o", i))
	}
	m.end()
}

// TestANodeWhoseDiskIsFull checks a node whose disk is full of other files: it returns an error that
// says so, another node takes its owners over, and it works again when the disk has room.
func TestANodeWhoseDiskIsFull(t *testing.T) {
	log, dir := logtest.NewMemory(), smallDisk(t, "4m")
	ballast := filepath.Join(dir, "ballast")
	must(t, os.WriteFile(ballast, nil, 0o600))
	f, err := os.OpenFile(ballast, os.O_WRONLY, 0)
	must(t, err)
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	must(t, f.Close())
	m := bounded(t, log, dir, 1<<30)
	_, _, err = m.Get(t.Context(), "o0")
	if !errors.Is(err, ken.ErrUnavailable) || !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "the disk of this node's folder is full") || !strings.Contains(ken.Hint(err), "Make room") {
		t.Errorf("it says %v, and to try: %s", err, ken.Hint(err))
	}
	other := (&cluster{t: t, log: log}).start(shared.Options{})
	write(t, other.engine(t, "o0"), claim(t, "the port is 8080"))
	s, release, err := m.Get(t.Context(), "o0")
	must(t, err)
	if got := texts(t, s, "port"); len(got) != 1 || !other.Holds("o0") {
		t.Errorf("it finds %q", got)
	}
	release()
	must(t, os.Remove(ballast))
	m.visit(t, "o1")
	if !m.Holds("o1") {
		t.Error("it does not hold the owner although there is room")
	}
	m.end()
}
