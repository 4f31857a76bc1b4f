package bolt

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

func openShelf(t testing.TB) *Store {
	t.Helper()
	s, err := Open(context.Background(), t.TempDir(), Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// commits is how many transactions the file has seen.
func (s *Store) commits(t testing.TB) (n int) {
	t.Helper()
	if err := s.view(func(tx *bbolt.Tx) error { n = tx.ID(); return nil }); err != nil {
		t.Fatal(err)
	}
	return n
}

// gather starts an update that changes nothing and does not end before the others
// wait behind it, and returns what became of each, and of itself.
func gather(t testing.TB, s *Store, fns ...func(store.ShelfTx) error) []error {
	t.Helper()
	entered, leave, first := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		first <- s.Shelf().Update(t.Context(), func(store.ShelfTx) error { close(entered); <-leave; return nil })
	}()
	<-entered
	type result struct {
		i   int
		err error
	}
	results := make(chan result, len(fns))
	for i, fn := range fns {
		go func() {
			r := result{i, errors.New("it panicked")}
			defer func() { _ = recover(); results <- r }()
			r.err = s.Shelf().Update(t.Context(), fn)
		}()
		s.waitFor(i + 1) // so that they come in their order
	}
	close(leave)
	errs := make([]error, len(fns)+1)
	for range fns {
		r := <-results
		errs[r.i] = r.err
	}
	errs[len(fns)] = <-first
	return errs
}

// waitFor returns when so many updates wait.
func (s *Store) waitFor(n int) {
	for {
		s.gate.mu.Lock()
		have := len(s.gate.waiting)
		s.gate.mu.Unlock()
		if have >= n {
			return
		}
		runtime.Gosched()
	}
}

func everything(t testing.TB, s *Store) (keys []string) {
	t.Helper()
	err := s.Shelf().View(t.Context(), func(r store.ShelfReader) error {
		keys = nil
		for key := range r.Scan("") {
			keys = append(keys, key)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func TestUpdatesThatWaitShareACommit(t *testing.T) {
	s := openShelf(t)
	before := s.commits(t)
	var fns []func(store.ShelfTx) error
	var want []string
	for i := range 50 {
		key := fmt.Sprintf("k/%02d", i)
		want = append(want, key)
		fns = append(fns, func(tx store.ShelfTx) error {
			n := 0
			for range tx.Scan("k/") {
				n++
			}
			if n != i {
				t.Errorf("update %d sees %d before it", i, n)
			}
			return tx.Put(key, nil)
		})
	}
	for i, err := range gather(t, s, fns...) {
		if err != nil {
			t.Errorf("update %d: %v", i, err)
		}
	}
	if n := s.commits(t) - before; n != 1 {
		t.Errorf("%d commits for 50 updates that waited", n)
	}
	if got := everything(t, s); !slices.Equal(got, want) {
		t.Errorf("there is %q", got)
	}
}

func TestWhoFailsInAGroupFailsAlone(t *testing.T) {
	s := openShelf(t)
	before := s.commits(t)
	mine := errors.New("mine")
	put := func(key string, then func() error) func(store.ShelfTx) error {
		return func(tx store.ShelfTx) error {
			if tx.Get("failed") != nil || tx.Get("panicked") != nil {
				t.Errorf("%s sees what failed", key)
			}
			if err := tx.Put(key, nil); err != nil {
				return err
			}
			return then()
		}
	}
	good := func() error { return nil }
	errs := gather(t, s, put("a", good), put("failed", func() error { return mine }), put("b", good),
		put("panicked", func() error { panic("in the middle") }), put("c", good))
	if errs[0] != nil || errs[1] != mine || errs[2] != nil || errs[3] == nil || errs[4] != nil || errs[5] != nil { // nobody may wrap it
		t.Errorf("they return %v", errs)
	}
	if got := everything(t, s); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("there is %q", got)
	}
	if n := s.commits(t) - before; n != 1 {
		t.Errorf("%d commits", n)
	}
}

// Every update in a group gets the error of its commit, and an error of a function is
// returned only after the commit failed.
func TestACommitThatFailsFailsAll(t *testing.T) {
	s := openShelf(t)
	s.db.MaxSize = 1 // no growth
	large := make([]byte, 1<<20)
	errs := gather(t, s,
		func(tx store.ShelfTx) error { return tx.Put("small", nil) },
		func(tx store.ShelfTx) error { return tx.Put("large", large) },
		func(tx store.ShelfTx) error {
			if tx.Get("small") == nil {
				t.Error("it does not see what came before it")
			}
			return nil
		})
	for i, err := range errs {
		if !errors.Is(err, ken.ErrUnavailable) {
			t.Errorf("update %d: %v", i, err)
		}
	}
	if got := everything(t, s); len(got) > 0 {
		t.Errorf("there is %q", got)
	}
	s.db.MaxSize = 0
	if err := s.Shelf().Update(t.Context(), func(tx store.ShelfTx) error { return tx.Put("small", nil) }); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// If a function has read the changes of another update in its group, the next view must
// have them too, even if the function failed. Otherwise a retry loops.
func TestWhatAFailedUpdateSawIsThereWhenItReturns(t *testing.T) {
	s := openShelf(t)
	refused := errors.New("refused")
	seen := false
	errs := gather(t, s,
		func(tx store.ShelfTx) error { return tx.Put("a", nil) },
		func(tx store.ShelfTx) error {
			if seen = tx.Get("a") != nil; seen {
				return refused
			}
			return nil
		})
	if !seen || errs[1] != refused { // nobody may wrap it
		t.Fatalf("%v, seen %v", errs, seen)
	}
	if got := everything(t, s); !slices.Equal(got, []string{"a"}) {
		t.Errorf("there is %q", got)
	}
}

func TestAPageThatMakesNoSenseIsAnError(t *testing.T) {
	s := openShelf(t)
	if err := s.guarded(func(*writeTx) error { panic("page 7: unexpected type") }); err == nil {
		t.Error("no error")
	}
	if err := s.Shelf().Update(t.Context(), func(tx store.ShelfTx) error { return tx.Put("a", nil) }); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// BenchmarkShelfUpdates has many write at once, as a gateway's turns do.
func BenchmarkShelfUpdates(b *testing.B) {
	s, err := Open(context.Background(), b.TempDir(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	before := s.commits(b)
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			err := s.Shelf().Update(context.Background(), func(tx store.ShelfTx) error {
				return tx.Put(fmt.Sprintf("session/entry/%08d", i), []byte("one message of a session, as long as they are"))
			})
			if err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/float64(max(1, s.commits(b)-before)), "updates/commit")
}
