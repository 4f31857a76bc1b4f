package bolt

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// Who follows the log asks for what its events changed: an event that is on the disk
// is not there to be read before its claim can be found by what it is about.
func TestEventsComeWithWhatTheyChanged(t *testing.T) {
	s, err := Open(context.Background(), t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() // it was only read
	c, err := ken.NewClaim("The checkout depends on payments.", ken.FromUserStatement("s", "m"))
	if err != nil {
		t.Fatal(err)
	}
	seen := func() (n int) {
		for _, err := range s.Events(t.Context(), 1) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		return n
	}
	s.cache.mu.Lock() // what is committed waits here
	wrote := make(chan error)
	go func() {
		_, err := s.WriteClaim(context.Background(), c)
		wrote <- err
	}()
	for n := 0; n == 0; runtime.Gosched() {
		err := s.view(func(tx *bbolt.Tx) error {
			n = tx.Bucket(bEvents).Stats().KeyN
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := seen(); n > 0 || s.Seq() > 0 {
		t.Errorf("%d events up to %d, and nobody can find the claim", n, s.Seq())
	}
	s.cache.mu.Unlock()
	if err := <-wrote; err != nil {
		t.Fatal(err)
	}
	if n := seen(); n != 1 || s.Seq() != 1 {
		t.Errorf("%d events up to %d, not one", n, s.Seq())
	}
}

func TestLocksOfBbolt(t *testing.T) {
	db, err := bbolt.Open(filepath.Join(t.TempDir(), "a.db"), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = write(db, func(*bbolt.Tx) error {
		if lock[sync.Mutex](db, "rwlock").TryLock() {
			t.Error("a writer does not hold the lock for writers")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	err = read(db, func(*bbolt.Tx) error {
		if lock[sync.RWMutex](db, "mmaplock").TryLock() {
			t.Error("a reader does not keep the file mapped")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if meta := lock[sync.Mutex](db, "metalock"); !meta.TryLock() {
		t.Error("the lock of the start of the file is held")
	} else {
		meta.Unlock()
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// While the disk hangs, reads go on, the store says so, writes end with an error, and what
// was written when it answers is there once.
func TestADiskThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := Open(t.Context(), t.TempDir(), Options{NoSync: true, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		write := func(text string) error {
			_, err := s.WriteClaim(t.Context(), ken.Claim{Text: text, Evidence: []ken.Evidence{ken.FromUserStatement("s", "m")}})
			return err
		}
		find := func(word string) int {
			got, err := s.Query(t.Context(), ken.Query{Question: word})
			if err != nil {
				t.Error(err)
			}
			return len(got)
		}
		if err := write("the port is 8080"); err != nil {
			t.Fatal(err)
		}
		answers := make(chan struct{})
		s.beforeCommit = func() { <-answers }
		first := make(chan error, 1)
		go func() { first <- write("the host is example") }()
		time.Sleep(stallTold + time.Second)
		if faults, _ := s.Faults(t.Context()); len(faults) != 1 || faults[0].Name != store.FaultDisk {
			t.Errorf("faults %v", faults)
		}
		if find("port") != 1 {
			t.Error("nothing is read while the disk hangs")
		}
		select {
		case err := <-first:
			t.Errorf("it ended too early: %v", err)
		default:
		}
		time.Sleep(stallEnds)
		for what, err := range map[string]error{"first": <-first, "next": write("the user is ada"),
			"shelf": s.Shelf().Update(t.Context(), func(tx store.ShelfTx) error { return tx.Put("k", nil) })} {
			if !errors.Is(err, ken.ErrUnavailable) || ken.Hint(err) == "" {
				t.Errorf("%s: %v", what, err)
			}
		}
		close(answers)
		synctest.Wait()
		if faults, _ := s.Faults(context.Background()); len(faults) != 0 {
			t.Errorf("it answers again: %v", faults)
		}
		if err := write("the flag is red"); err != nil {
			t.Error(err)
		}
		if find("host") != 1 || find("flag") != 1 || find("ada") > 1 {
			t.Error("what was written is not there once")
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
