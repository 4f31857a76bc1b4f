package shared_test

import (
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/store/commitlog/logtest"
	"github.com/kenlayer/ken/internal/store/shared"
)

// bounded starts a node that limits its folder to a number of bytes, and keeps one store open.
func bounded(t *testing.T, log *logtest.Memory, dir string, bytes int64) *member {
	t.Helper()
	m := &member{dir: dir, log: log.Join()}
	quiet := slog.New(slog.DiscardHandler)
	var err error
	m.node, err = shared.StartNode(t.Context(), shared.NodeOptions{Log: m.log, ID: "bounded", Logger: quiet})
	must(t, err)
	m.putAway = make(chan string, 1024)
	m.Owners = shared.NewOwners(dir, 1, shared.Options{Node: m.node, Folder: bytes, Log: quiet, OnPutAway: func(owner string) { m.putAway <- owner }})
	m.end = func() { must(t, m.Close()); must(t, m.node.Close()) }
	return m
}

// visit writes to an owner's store and releases it.
func (m *member) visit(t *testing.T, owner string) {
	t.Helper()
	s, release, err := m.Get(t.Context(), owner)
	must(t, err)
	defer release()
	write(t, s, claim(t, owner+" listens on port 8080"))
}

// folders lists the owners whose copies are in a folder.
func folders(t *testing.T, dir string) []string {
	t.Helper()
	owners, err := bolt.List(dir)
	must(t, err)
	return owners
}

func bytesIn(t *testing.T, dir string) (n int64) {
	t.Helper()
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}

// TestANodesFolderIsBounded checks that a node deletes the least recently used copies until its
// folder is within the limit, and that no data of their owners is lost.
func TestANodesFolderIsBounded(t *testing.T) {
	log := logtest.NewMemory()
	first := bounded(t, log, t.TempDir(), 0)
	first.visit(t, "o0")
	first.end()
	one := bytesIn(t, first.dir)
	const owners, fit = 8, 3
	m := bounded(t, log, t.TempDir(), fit*one+one/2)
	var all []string
	for i := range owners {
		all = append(all, fmt.Sprint("o", i))
		m.visit(t, all[i])
		if i > 0 { // a store that is still being closed is kept, and one after it is deleted instead
			if owner := <-m.putAway; owner != all[i-1] {
				t.Fatalf("%s was closed", owner)
			}
		}
		eventually(t, "the folder is within the bound", func() bool { return bytesIn(t, m.dir) <= (fit+1)*one })
	}
	eventually(t, "the last ones are left", func() bool { return slices.Equal(folders(t, m.dir), all[owners-fit:]) })
	for _, owner := range all {
		s, release, err := m.Get(t.Context(), owner)
		must(t, err)
		if got := texts(t, s, owner); len(got) == 0 {
			t.Errorf("%s is not there", owner)
		}
		release()
	}
	m.end()
}

// TestWhatTheEngineLacksIsKept checks that a store with records that the engine lacks is not deleted,
// whatever the size of the folder.
func TestWhatTheEngineLacksIsKept(t *testing.T) {
	dir, log := t.TempDir(), logtest.NewMemory()
	m := bounded(t, log, dir, 0)
	for _, owner := range []string{"copy", "open", "locked", "aside"} {
		m.visit(t, owner)
	}
	m.end()
	alone := owners(t, dir, shared.Options{})
	s, release, err := alone.Get(t.Context(), "own")
	must(t, err)
	write(t, s, claim(t, "the host is ada"))
	release()
	must(t, alone.Close())
	lock, err := bolt.Acquire(filepath.Join(dir, "locked"), bolt.Options{Owner: "locked"}) // by another process
	must(t, err)
	own, err := os.ReadFile(filepath.Join(dir, "own", "ken.db"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "aside", "ken.db.moved"), own, 0o600))
	must(t, os.MkdirAll(filepath.Join(dir, ".gone-by-a-process-that-was-killed", "index"), 0o700))

	m = bounded(t, log, dir, 1)
	_, release, err = m.Get(t.Context(), "open")
	must(t, err)
	eventually(t, "the copy is gone", func() bool { return slices.Equal(folders(t, dir), []string{"aside", "locked", "open", "own"}) })
	eventually(t, "what a process has left is gone", func() bool {
		left, err := filepath.Glob(filepath.Join(dir, ".gone-*"))
		return err == nil && len(left) == 0
	})
	release()
	must(t, lock.Release())
	m.end()

	// The engine was emptied, and has another log of one of them.
	log = logtest.NewMemory()
	other := bounded(t, log, t.TempDir(), 0)
	other.visit(t, "open")
	other.visit(t, "new")
	other.end()
	m = bounded(t, log, dir, 1)
	m.visit(t, "new")
	m.visit(t, "last") // puts the one before away
	eventually(t, "the new one is gone", func() bool { return !slices.Contains(folders(t, dir), "new") })
	if got := folders(t, dir); !slices.Equal(got, []string{"aside", "last", "locked", "open", "own"}) {
		t.Errorf("left are %v", got)
	}
	m.end()
}
