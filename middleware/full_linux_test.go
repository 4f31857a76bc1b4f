package middleware_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/store/commitlog/logtest"
)

// If the disk of a node is full, turns go on without knowledge. When there is room, they have it
// again.
func TestTurnsGoOnOnAFullDisk(t *testing.T) {
	root := t.TempDir()
	err := syscall.Mount("tmpfs", root, "tmpfs", 0, "size=16m")
	if errors.Is(err, syscall.EPERM) {
		t.Skip("SKIPPED: mounting a file system needs root")
	}
	must(t, err)
	t.Cleanup(func() { must(t, syscall.Unmount(root, syscall.MNT_DETACH)) })
	ballast := filepath.Join(root, "ballast")
	url := logtest.StartNATS(t, 1).URL()
	l := open(t, settings(func(c *config.Config) { c.Store.URL, c.Retrieval.Deadline = url, time.Second }), in(root))
	learn(t, l, fact(t, "%s", retryFact))
	f, err := os.Create(ballast)
	must(t, err)
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	must(t, f.Close())

	turn := asked(question)
	turn.Owner, turn.Session = "new", "s" // whose store is not open
	a := l.Assemble(t.Context(), turn)
	if len(a.Insertions) != 0 || len(a.Receipt.Degraded) == 0 {
		t.Errorf("insertions %+v, degraded %q", a.Insertions, a.Receipt.Degraded)
	}
	_, _, err = l.Store(t.Context(), "another")
	if !errors.Is(err, ken.ErrUnavailable) || !strings.Contains(err.Error(), "disk") || !strings.Contains(ken.Hint(err), "Make room") {
		t.Errorf("it says %v, and to try: %s", err, ken.Hint(err))
	}

	must(t, os.Remove(ballast))
	turn = asked(question)
	turn.Session = "t"
	if a := l.Assemble(t.Context(), turn); len(a.Insertions) != 1 {
		t.Errorf("insertions %+v, degraded %q", a.Insertions, a.Receipt.Degraded)
	}
	turn.Owner = "new"
	for range 10 { // the node leaves the owner to others for some seconds
		if a = l.Assemble(t.Context(), turn); len(a.Receipt.Degraded) == 0 {
			break
		}
	}
	if len(a.Receipt.Degraded) > 0 {
		t.Errorf("with room, degraded %q", a.Receipt.Degraded)
	}
}
