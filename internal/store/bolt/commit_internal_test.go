package bolt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// A follower of the log reads what its events changed. So it gets an event only when
// the claim can be found under its entities.
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
	s.cache.mu.Lock() // a committed change waits here
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
		time.Sleep(stallReported + time.Second)
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
		time.Sleep(stallAborts)
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

// failMetaWrite makes the next write of one of the file's meta pages take effect and then
// return an error, as a disk may. The mapped file shows the change.
func failMetaWrite(db *bbolt.DB) {
	f := reflect.ValueOf(db).Elem().FieldByName("ops").FieldByName("writeAt")
	writeAt := (*func([]byte, int64) (int, error))(f.Addr().UnsafePointer())
	was, size := *writeAt, int64(2*db.Info().PageSize)
	*writeAt = func(b []byte, at int64) (int, error) {
		n, err := was(b, at)
		if err == nil && at < size {
			*writeAt = was
			return n, syscall.EIO
		}
		return n, err
	}
}

// contents is a hash of all that a transaction reads.
func contents(tx *bbolt.Tx) (uint64, error) {
	h := fnv.New64a()
	var walk func(b *bbolt.Bucket) error
	walk = func(b *bbolt.Bucket) error {
		return b.ForEach(func(k, v []byte) error {
			fmt.Fprintf(h, "%x=%x\n", k, v)
			if inner := b.Bucket(k); inner != nil {
				return walk(inner)
			}
			return nil
		})
	}
	err := tx.ForEach(func(_ []byte, b *bbolt.Bucket) error { return walk(b) })
	return h.Sum64(), err
}

// A reader that began before a commit that failed late still reads its own state: later
// writes don't reuse its pages.
func TestReadersOutliveACommitThatFailsLate(t *testing.T) {
	s, err := Open(t.Context(), t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	learn := func(i int) error {
		c, err := ken.NewClaim(fmt.Sprintf("Server %d runs in rack %d.", i, i%7), ken.FromUserStatement("s", ""))
		if err == nil {
			_, err = s.WriteClaim(t.Context(), c)
		}
		return err
	}
	for i := range 50 {
		if err := learn(i); err != nil {
			t.Fatal(err)
		}
	}
	wrote := make(chan error, 1)
	err = s.view(func(tx *bbolt.Tx) error {
		before, err := contents(tx)
		if err != nil {
			return err
		}
		failMetaWrite(s.db)
		go func() {
			for i := range 3 {
				if err := learn(50 + i); err != nil {
					wrote <- fmt.Errorf("write %d: %w", i, err)
					return
				}
			}
			wrote <- nil
		}()
		for s.snapshots.TryRLock() && len(wrote) == 0 { // until the writer waits, or has done it all
			s.snapshots.RUnlock()
			runtime.Gosched()
		}
		after, err := contents(tx)
		if err == nil && after != before {
			err = errors.New("it changed")
		}
		return err
	})
	if err != nil {
		t.Errorf("the reader's state: %v", err)
	}
	if err := <-wrote; err != nil {
		t.Error(err)
	}
	if n := s.Seq(); n != 53 {
		t.Errorf("%d changes, want 53", n)
	}
}

// An open store finds damage that no read has met, in each bucket and in the log. It
// reports nothing for undamaged values, erased events included.
func TestAnOpenStoreFindsDamageByItself(t *testing.T) {
	now := time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)
	s, err := Open(t.Context(), t.TempDir(), Options{NoSync: true, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var ids []string
	for i := range 400 {
		id, err := s.WriteClaim(t.Context(), ken.Claim{Text: fmt.Sprintf("the port of service%d is %d", i, 8000+i), Key: fmt.Sprint("k", i), Entities: []string{fmt.Sprint("service", i)},
			Evidence: []ken.Evidence{ken.FromUserStatement("s", "m")}})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := s.Shelf().Update(t.Context(), func(tx store.ShelfTx) error { return tx.Put("k", []byte("v")) }); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Forget(t.Context(), ids[7], "", ken.Actor{}); err != nil {
		t.Fatal(err)
	}
	pass := func() {
		t.Helper()
		err := s.submit(t.Context(), &request{done: make(chan error, 1), solo: func() error {
			s.scrubbed.after = time.Time{}
			for range 100 {
				s.scrub()
			}
			if !s.scrubbed.after.Equal(now.Add(scrubRest)) {
				return fmt.Errorf("a hundred steps later it is at %+v", s.scrubbed)
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	pass()
	if faults, _ := s.Faults(t.Context()); len(faults) > 0 {
		t.Fatalf("of a good store: %v", faults)
	}
	for _, bucket := range [][]byte{bClaims, bRows, bKeys, bAbout, bShelf, bEvents} {
		err := s.db.Update(func(tx *bbolt.Tx) error {
			k, v := tx.Bucket(bucket).Cursor().Last()
			v = bytes.Clone(v)
			v[len(v)/2] ^= 1
			return tx.Bucket(bucket).Put(bytes.Clone(k), v)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	pass()
	faults, _ := s.Faults(t.Context())
	if len(faults) != 1 || faults[0].Name != store.FaultDamaged || !strings.HasPrefix(faults[0].Cause, "6 values can't be read") {
		t.Errorf("%v", faults)
	}
}

// A log that is written during the verification is valid; one without its last event is
// not.
func TestVerifyLogAtItsEnd(t *testing.T) {
	ctx := context.Background()
	s, err := Open(ctx, t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() // nothing is left to write
	write := func(text string) error {
		c, err := ken.NewClaim(text, ken.FromUserStatement("s", "m"))
		if err == nil {
			_, err = s.WriteClaim(ctx, c)
		}
		return err
	}
	if err := write("The checkout depends on payments."); err != nil {
		t.Fatal(err)
	}
	events := func() (n int) {
		err := s.view(func(tx *bbolt.Tx) error {
			n = tx.Bucket(bEvents).Stats().KeyN
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	s.cache.mu.Lock() // a committed change waits here
	wrote := make(chan error)
	go func() { wrote <- write("Payments depend on the ledger.") }()
	for events() < 2 {
		runtime.Gosched()
	}
	if r, err := s.VerifyLog(ctx); err != nil || r.Events != 1 {
		t.Errorf("during a write: %d events, %v", r.Events, err)
	}
	s.cache.mu.Unlock()
	if err := <-wrote; err != nil {
		t.Fatal(err)
	}
	if r, err := s.VerifyLog(ctx); err != nil || r.Events != 2 {
		t.Errorf("after it: %d events, %v", r.Events, err)
	}
	err = s.db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(bEvents).Delete(key64(2)) })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.VerifyLog(ctx); !errors.Is(err, ken.ErrCorrupt) {
		t.Errorf("without its last event: %v", err)
	}
}
