package bolt_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/store"
)

func TestFolderOfAnotherOwnerIsRefused(t *testing.T) {
	dir := t.TempDir()
	must(t, open(t, dir, bolt.Options{Owner: "alice"}).Close())
	_, err := bolt.Open(context.Background(), dir, bolt.Options{Owner: "bob"})
	if !errors.Is(err, ken.ErrRefused) || !strings.Contains(err.Error(), "alice") {
		t.Errorf("error %v", err)
	}
	open(t, dir, bolt.Options{Owner: "alice"}) // the lock went with the error
}

// Only one process has the lock. The holder's file exists while it has the
// lock, and only its user can read it.
func TestALockIsHeldOnceAndSaysByWhom(t *testing.T) {
	dir := t.TempDir()
	l, err := bolt.Acquire(dir, bolt.Options{LockTimeout: -1})
	must(t, err)
	if h := bolt.ReadHolder(dir); h.PID != os.Getpid() || h.Address != "" {
		t.Errorf("it says %+v", h)
	}
	if _, err := bolt.Acquire(dir, bolt.Options{LockTimeout: -1}); !errors.Is(err, ken.ErrHeld) || ken.Hint(err) == "" {
		t.Errorf("a second lock: %v", err)
	}
	must(t, l.Announce("unix", "/s", "secret", false))
	if h := bolt.ReadHolder(dir); h.Network != "unix" || h.Address != "/s" || h.Token != "secret" {
		t.Errorf("it says %+v", h)
	}
	fi, err := os.Stat(filepath.Join(dir, "holder.json"))
	if must(t, err); fi.Mode().Perm() != 0o600 {
		t.Errorf("mode %v of a file with a token", fi.Mode())
	}
	s, err := l.Open(context.Background())
	must(t, err)
	must(t, l.Release()) // it is the store's now
	if _, err := bolt.Acquire(dir, bolt.Options{LockTimeout: -1}); !errors.Is(err, ken.ErrHeld) {
		t.Errorf("beside the store: %v", err)
	}
	must(t, s.Close())
	if h := bolt.ReadHolder(dir); h != (bolt.Holder{}) {
		t.Errorf("afterwards it says %+v", h)
	}
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "holder.json") {
			t.Errorf("%s was left", e.Name())
		}
	}
}

// A failed open does not release another store's lock.
func TestALockOutlivesAnOpeningThatFails(t *testing.T) {
	dir := t.TempDir()
	must(t, open(t, dir, bolt.Options{Owner: "alice"}).Close())
	l, err := bolt.Acquire(dir, bolt.Options{Owner: "bob", LockTimeout: -1})
	must(t, err)
	if _, err := l.Open(context.Background()); !errors.Is(err, ken.ErrRefused) {
		t.Fatalf("it opens: %v", err)
	}
	if _, err := bolt.Acquire(dir, bolt.Options{LockTimeout: -1}); !errors.Is(err, ken.ErrHeld) {
		t.Errorf("a second lock: %v", err)
	}
	must(t, l.Release())
	open(t, dir, bolt.Options{Owner: "alice"})
}

// Compaction puts a new file in the old one's place. A process that opened the old
// file a moment before must not get the lock of the deleted file, because its
// writes would be lost.
func TestALockIsNeverOnAFileThatWasReplaced(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	s, err := bolt.Open(ctx, dir, bolt.Options{NoSync: true})
	must(t, err)
	var stop atomic.Bool
	var trying sync.WaitGroup
	for range 2 {
		trying.Go(func() {
			for !stop.Load() {
				if l, err := bolt.Acquire(dir, bolt.Options{LockTimeout: -1}); err == nil {
					t.Error("a second process has the lock")
					_ = l.Release()
				} else if !errors.Is(err, ken.ErrHeld) {
					t.Errorf("it says %v", err)
				}
			}
		})
	}
	for range 20 {
		must(t, s.Compact(ctx))
	}
	stop.Store(true)
	trying.Wait()
	must(t, s.Close())
}

// Many processes open a folder that does not exist yet. One creates it, and no
// other treats the incomplete file as damaged.
func TestManyMakeOneFolder(t *testing.T) {
	for range 20 {
		dir := filepath.Join(t.TempDir(), "new")
		var wg sync.WaitGroup
		var got atomic.Int32
		gate := make(chan struct{})
		locks := make(chan *bolt.Lock, 8)
		for range 8 {
			wg.Go(func() {
				<-gate
				l, err := bolt.Acquire(dir, bolt.Options{LockTimeout: -1})
				switch {
				case err == nil:
					got.Add(1)
					locks <- l
				case !errors.Is(err, ken.ErrHeld):
					t.Errorf("it says %v", err)
				}
			})
		}
		close(gate)
		wg.Wait()
		close(locks)
		if got.Load() != 1 {
			t.Errorf("%d have the lock", got.Load())
		}
		for l := range locks {
			must(t, l.Release())
		}
	}
}

// Whatever an owner is called, the list of a folder names it as it is.
func TestListNamesOwners(t *testing.T) {
	dir := t.TempDir()
	names := []string{"default", "a/b", "..", ".hidden", "C:x", "a b", "100%", "日本", "*", "Ada"}
	for _, name := range names {
		must(t, open(t, filepath.Join(dir, bolt.FolderName(name)), bolt.Options{Owner: name}).Close())
	}
	for _, other := range []string{"events", "%zz"} { // of something else
		if err := os.MkdirAll(filepath.Join(dir, other), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	got, err := bolt.List(dir)
	slices.Sort(got)
	slices.Sort(names)
	if err != nil || !slices.Equal(got, names) {
		t.Errorf("%q, %v; want %q", got, err, names)
	}
	if got, err := bolt.List(filepath.Join(dir, "nowhere")); len(got) != 0 || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// content is every file below a folder.
func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		out[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A read-only folder can be searched, exported and checked by any number of processes,
// and no byte of it changes.
func TestReadOnly(t *testing.T) {
	dir, led := furnished(t)
	before := content(t, dir)
	ctx := context.Background()
	first, err := bolt.OpenReadOnly(ctx, dir, quiet())
	if err != nil {
		t.Fatal(err)
	}
	second, err := bolt.OpenReadOnly(ctx, dir, quiet())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*bolt.Store{first, second} {
		if n := led.compare(t, s, "read alone"); n != len(led.texts) {
			t.Errorf("%d claims of %d", n, len(led.texts))
		}
		if got := texts(t, s, "which port has service17"); len(got) == 0 || got[0] != "the port of service17 is 8017" {
			t.Errorf("found %q", got)
		}
		if _, err := s.WriteClaim(ctx, claim(t, "the host is example")); !errors.Is(err, ken.ErrUnavailable) || ken.Hint(err) == "" {
			t.Errorf("write: %v", err)
		}
		if err := s.Shelf().Update(ctx, func(tx store.ShelfTx) error { return tx.Put("k", []byte("v")) }); !errors.Is(err, ken.ErrUnavailable) {
			t.Errorf("write to the shelf: %v", err)
		}
		if report, err := s.Check(ctx); err != nil || report.Found > 0 {
			t.Errorf("check: %+v, %v", report, err)
		}
		if faults, _ := s.Faults(ctx); len(faults) != 1 || faults[0].Name != store.FaultReadOnly {
			t.Errorf("faults %v", faults)
		}
	}
	closeStore(t, first)
	closeStore(t, second)
	if diff := cmp.Diff(before, content(t, dir)); diff != "" {
		t.Errorf("the folder changed: %.300s", diff)
	}
	if _, err := bolt.OpenReadOnly(ctx, t.TempDir(), quiet()); !errors.Is(err, ken.ErrNotFound) {
		t.Errorf("an empty folder: %v", err)
	}
}
