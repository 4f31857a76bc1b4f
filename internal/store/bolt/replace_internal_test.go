package bolt

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/kenlayer/ken"
)

// closesToReplace makes the store close files before it replaces them, as on Windows.
func closesToReplace(t *testing.T) {
	was := replacesOpenFiles
	replacesOpenFiles = false
	t.Cleanup(func() { replacesOpenFiles = was })
}

// All that replaces the store's file also does so where open files can't be replaced.
func TestFilesAreReplacedClosed(t *testing.T) {
	closesToReplace(t)
	ctx, dir := t.Context(), t.TempDir()
	opened := func(l *Lock) *Store {
		t.Helper()
		s, err := l.Open(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	acquired := func(name string) *Lock {
		t.Helper()
		l, err := Acquire(filepath.Join(dir, name), Options{})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	write := func(s *Store, text string) string {
		t.Helper()
		id, err := s.WriteClaim(ctx, ken.Claim{Text: text, Evidence: []ken.Evidence{ken.FromUserStatement("s", "m")}})
		must(err)
		return id
	}

	s := opened(acquired("one"))
	gone, kept := write(s, "the port is 8080"), write(s, "the host is example")
	if _, err := s.Forget(ctx, gone, "it was wrong", ken.Actor{}); err != nil { // compacts
		t.Fatal(err)
	}
	must(s.Rebuild(ctx))
	added := write(s, "the zone is UTC")
	has := func(s *Store, ids ...string) {
		t.Helper()
		for _, id := range ids {
			if _, err := s.Get(ctx, id); err != nil {
				t.Error(err)
			}
		}
		if _, err := s.Get(ctx, gone); !errors.Is(err, ken.ErrNotFound) {
			t.Errorf("a forgotten claim: %v", err)
		}
	}
	has(s, kept, added)
	var snapshot bytes.Buffer
	must(s.Snapshot(func(_ uint64, file io.WriterTo) error {
		_, err := file.WriteTo(&snapshot)
		return err
	}))
	must(s.Close())

	l := acquired("two")
	must(l.Restore(&snapshot, false))
	s = opened(l)
	has(s, kept, added)
	must(s.Close())

	from, to := acquired("one"), acquired("two")
	must(to.Clear())
	must(to.Replace(from, nil, LogMark{}))
	must(from.Release())
	s = opened(to)
	has(s, kept, added)
	must(s.Close())
}

// If the new file can't take the place of the old one, the old one goes on.
func TestAFileThatIsNotReplaced(t *testing.T) {
	for name, prepare := range map[string]func(*testing.T){"open": func(*testing.T) {}, "closed": closesToReplace} {
		t.Run(name, func(t *testing.T) {
			prepare(t)
			dir, o := t.TempDir(), Options{}.withDefaults()
			path, tmp := filepath.Join(dir, "a"), filepath.Join(dir, "b")
			old, err := openDB(path, o)
			if err != nil {
				t.Fatal(err)
			}
			next, err := newDB(tmp, o)
			if err != nil {
				t.Fatal(err)
			}
			now, err := takeOver(old, next, filepath.Join(dir, "none"), path, o)
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%v", err)
			}
			tx, err := now.Begin(true)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(tx.Commit(), now.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}
