package bolt_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/bolt"
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

// A lock is one process's; what a holder says of itself is there as long as it
// holds, and for its own eyes only.
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
	must(t, l.Announce("unix", "/s", "secret"))
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

// An error on opening leaves the lock to who has it.
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

// Compaction puts a new file in the old one's place. Who had opened the old one a
// moment before must not end up with the lock of a file that is gone: what it wrote
// would be gone with it.
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

// Many that come at once to a folder that is not there yet: one makes it, and none
// takes what another is just making for a broken file.
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
