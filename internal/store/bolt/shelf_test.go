package bolt_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/seed"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/store"
	"github.com/kenlayer/ken/store/storetest"
)

func TestShelf(t *testing.T) {
	storetest.Shelf(t, func(t *testing.T) store.Shelf {
		return open(t, t.TempDir(), bolt.Options{NoSync: true}).Shelf()
	})
}

func put(t testing.TB, s store.Shelf, key, value string) {
	t.Helper()
	err := s.Update(context.Background(), func(tx store.ShelfTx) error { return tx.Put(key, []byte(value)) })
	if err != nil {
		t.Fatalf("put %q: %v", key, err)
	}
}

// shelfOf reads a complete shelf.
func shelfOf(t testing.TB, s store.Shelf) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := s.View(context.Background(), func(r store.ShelfReader) error {
		for key, value := range r.Scan("") {
			out[key] = string(value)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("view: %v", err)
	}
	return out
}

// The shelf is in the owner's file. It survives reopening, compaction,
// forgetting and rebuilding, and is not part of the log.
func TestShelfIsKept(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	s := open(t, dir, bolt.Options{})
	id := write(t, s, claim(t, "the port is 8080"))
	put(t, s.Shelf(), "session/info/1", "one")
	put(t, s.Shelf(), "jobs/job/2", "two")
	check := func(s *bolt.Store, after string) {
		t.Helper()
		got := shelfOf(t, s.Shelf())
		maps.DeleteFunc(got, func(key, _ string) bool { return strings.HasPrefix(key, "forgotten/") }) // a mark that stays
		if len(got) != 2 || got["session/info/1"] != "one" || got["jobs/job/2"] != "two" {
			t.Errorf("after %s it holds %v", after, got)
		}
		if report, err := s.VerifyLog(ctx); err != nil {
			t.Errorf("after %s the log has %+v, %v", after, report, err)
		}
	}
	must(t, s.Compact(ctx))
	check(s, "compaction")
	must(t, s.Rebuild(ctx))
	check(s, "rebuilding")
	_, err := s.Forget(ctx, id, "", ken.Actor{})
	must(t, err)
	check(s, "forgetting")
	must(t, s.Close())
	check(open(t, dir, bolt.Options{}), "reopening")
}

// Data that was deleted from the shelf must not stay in its old pages.
func TestDeletedFromTheShelfIsGoneFromTheDisk(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	s := open(t, dir, bolt.Options{})
	id := write(t, s, claim(t, "the port is 8080"))
	deleteAll := func() {
		must(t, s.Shelf().Update(ctx, func(tx store.ShelfTx) error {
			for key := range tx.Scan("session/") {
				if err := tx.Delete(key); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	for name, erase := range map[string]func() error{
		"Compact": func() error { return s.Compact(ctx) },
		"Forget":  func() error { _, err := s.Forget(ctx, id, "", ken.Actor{}); return err },
	} {
		word := "zanzibar" + strings.ToLower(name)
		for i := range 200 {
			put(t, s.Shelf(), fmt.Sprintf("session/%d/%s", i, word), strings.Repeat(word+" ", 50))
		}
		if len(filesWith(t, dir, []byte(word))) == 0 {
			t.Fatal("the word is not in the file to begin with")
		}
		deleteAll()
		must(t, erase())
		if files := filesWith(t, dir, []byte(word)); len(files) > 0 {
			t.Errorf("after %s the word is still in %v", name, files)
		}
	}
}

// A folder of a version without shelves gets one when it is opened.
func TestShelfIsAddedToAnOlderFile(t *testing.T) {
	dir := filled(t)
	db, err := bbolt.Open(filepath.Join(dir, "ken.db"), 0o600, nil)
	must(t, err)
	must(t, db.Update(func(tx *bbolt.Tx) error { return tx.DeleteBucket([]byte("shelf")) }))
	must(t, db.Close())
	s := open(t, dir, bolt.Options{})
	put(t, s.Shelf(), "a", "b")
	if got := shelfOf(t, s.Shelf()); got["a"] != "b" {
		t.Errorf("it holds %v", got)
	}
	if s.Len() != 300 {
		t.Errorf("%d claims", s.Len())
	}
}

func TestShelfOfAClosedStore(t *testing.T) {
	s := open(t, t.TempDir(), bolt.Options{})
	shelf := s.Shelf()
	must(t, s.Close())
	ran := false
	err := shelf.Update(context.Background(), func(store.ShelfTx) error { ran = true; return nil })
	if !errors.Is(err, ken.ErrUnavailable) || ken.Hint(err) == "" || ran {
		t.Errorf("update: %v, ran %v", err, ran)
	}
	err = shelf.View(context.Background(), func(store.ShelfReader) error { ran = true; return nil })
	if !errors.Is(err, ken.ErrUnavailable) || ran {
		t.Errorf("view: %v, ran %v", err, ran)
	}
	if err := s.Compact(context.Background()); !errors.Is(err, ken.ErrUnavailable) {
		t.Errorf("compact: %v", err)
	}
}

// Compaction swaps the file. A concurrent update or claim must not be written to the
// file that is discarded.
func TestCompactionLosesNoUpdate(t *testing.T) {
	ctx := context.Background()
	s := open(t, t.TempDir(), bolt.Options{NoSync: true})
	stop := make(chan struct{})
	counts := make(chan int)
	for w := range 3 {
		go func() {
			n := 0
			defer func() { counts <- n }()
			for {
				select {
				case <-stop:
					return
				default:
				}
				var err error
				if w == 2 {
					_, err = s.WriteClaim(ctx, claim(t, fmt.Sprintf("claim number %d", n)))
				} else {
					err = s.Shelf().Update(ctx, func(tx store.ShelfTx) error { return tx.Put(fmt.Sprintf("%d/%08d", w, n), nil) })
				}
				if err != nil {
					t.Errorf("writer %d: %v", w, err)
					return
				}
				n++
			}
		}()
	}
	for range 15 {
		if err := s.Compact(ctx); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	acked := 0
	for range 3 {
		acked += <-counts
	}
	if got := len(shelfOf(t, s.Shelf())) + s.Len(); got != acked {
		t.Errorf("%d of %d acknowledged writes are there", got, acked)
	}
}

// An update that only looked must not cost a sync, however often a worker looks.
func TestUpdateWithoutChangeWritesNothing(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, bolt.Options{})
	put(t, s.Shelf(), "a", "b")
	before := fileBytes(t, dir)
	must(t, s.Shelf().Update(context.Background(), func(tx store.ShelfTx) error {
		if string(tx.Get("a")) != "b" || tx.Get("none") != nil {
			t.Error("it does not read")
		}
		return nil
	}))
	if !slices.Equal(before, fileBytes(t, dir)) {
		t.Error("the file changed")
	}
	put(t, s.Shelf(), "a", "c")
	if slices.Equal(before, fileBytes(t, dir)) {
		t.Error("the file does not change over a real update either")
	}
}

func fileBytes(t testing.TB, dir string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "ken.db"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func BenchmarkShelfUpdate(b *testing.B) {
	s := open(b, b.TempDir(), bolt.Options{})
	for i := 0; b.Loop(); i++ {
		put(b, s.Shelf(), fmt.Sprintf("session/entry/%08d", i), "one message of a session, as long as they are")
	}
}

func BenchmarkShelfView(b *testing.B) {
	s := open(b, b.TempDir(), bolt.Options{NoSync: true})
	put(b, s.Shelf(), "session/info/1", "one")
	for b.Loop() {
		err := s.Shelf().View(context.Background(), func(r store.ShelfReader) error {
			if r.Get("session/info/1") == nil {
				return errors.New("it is gone")
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// childShelf moves keys about without end: each update takes one away, adds one
// and counts itself, and is printed after it was acknowledged.
func childShelf() {
	s, err := bolt.Open(context.Background(), os.Getenv("KEN_TEST_DIR"), bolt.Options{})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	for {
		var n int
		err := s.Shelf().Update(context.Background(), func(tx store.ShelfTx) error {
			_, _ = fmt.Sscan(string(tx.Get("n")), &n)
			n++
			for key := range tx.Scan("at/") {
				if err := tx.Delete(key); err != nil {
					return err
				}
				break
			}
			if err := tx.Put(fmt.Sprintf("at/%d", n), []byte(strings.Repeat("x", n%5000))); err != nil {
				return err
			}
			return tx.Put("n", fmt.Append(nil, n))
		})
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		fmt.Println(n)
	}
}

// An acknowledged update survives a kill, and any other is there completely or not at
// all.
func TestKillNineLeavesNoHalfUpdateOnTheShelf(t *testing.T) {
	number := seed.Of(t)
	rng := rand.New(rand.NewPCG(number, 1))
	dir := t.TempDir()
	acked := 0
	for range crashes {
		cmd := child(t, "shelf", dir)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		lines := bufio.NewScanner(out)
		for left := 1 + rng.IntN(60); lines.Scan(); left-- {
			if _, err := fmt.Sscan(lines.Text(), &acked); err != nil {
				t.Fatalf("the child said %q", lines.Text())
			}
			if left == 0 {
				must(t, cmd.Process.Kill())
			}
		}
		_ = cmd.Wait() // killed
		s, err := bolt.Open(context.Background(), dir, bolt.Options{})
		must(t, err)
		held := shelfOf(t, s.Shelf())
		closeStore(t, s)
		var n int
		if _, err := fmt.Sscan(held["n"], &n); err != nil || n < acked || n > acked+1 {
			t.Fatalf("%d updates were acknowledged, and the shelf counts %q", acked, held["n"])
		}
		value, there := held[fmt.Sprintf("at/%d", n)]
		if !there || len(value) != n%5000 || len(held) != 2 {
			t.Fatalf("update %d is there in part: %d keys, value of %d bytes", n, len(held), len(value))
		}
		acked = n
	}
	t.Logf("%d updates over %d kills", acked, crashes)
}
