package bolt_test

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed/embedtest"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/store"
)

func named() context.Context {
	return store.WithCommit(context.Background(), uuid.Must(uuid.NewV7()))
}

// A caller that lost the answer to a write repeats it. The write is done once,
// and the answer is the same, in this process or in the next one.
func TestAWriteUnderOneNameIsDoneOnce(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, bolt.Options{})
	id := write(t, s, claim(t, "the port is 8080"))
	old, next := write(t, s, claim(t, "Ana works at Google")), write(t, s, claim(t, "Ana joined Microsoft"))
	derived := claim(t, "somebody decided on the port")
	derived.Evidence = append(derived.Evidence, ken.FromDecision(old))
	child := write(t, s, derived)
	keyless := claim(t, "written without a key")
	twins := []store.Incoming{{Claim: claim(t, "one of two")}, {Claim: ken.Claim{Text: "without evidence"}}, {Claim: claim(t, "two of two")}}
	type result struct {
		IDs []string
		Err error
	}
	writes := []struct {
		name string
		do   func(ctx context.Context, s *bolt.Store) result
	}{
		{"write", func(ctx context.Context, s *bolt.Store) result {
			id, err := s.WriteClaim(ctx, keyless)
			return result{[]string{id}, err}
		}},
		{"import", func(ctx context.Context, s *bolt.Store) (r result) {
			for _, o := range s.Import(ctx, twins) {
				r.IDs = append(r.IDs, o.ID)
				r.Err = errors.Join(r.Err, o.Err)
				if o.Changed != (o.Err == nil) {
					t.Errorf("changed %v: %v", o.Changed, o.Err)
				}
			}
			return r
		}},
		{"transition", func(ctx context.Context, s *bolt.Store) result {
			return result{nil, s.Transition(ctx, ken.Transition{ID: id, To: ken.StatusVerified})}
		}},
		{"reinforce", func(ctx context.Context, s *bolt.Store) result {
			return result{nil, s.Reinforce(ctx, id, []ken.Evidence{ken.FromAgentAssertion("a", "")}, ken.Actor{})}
		}},
		{"assign", func(ctx context.Context, s *bolt.Store) result {
			changed, err := s.Assign(ctx, ken.Assignment{ID: id, By: ken.AssignedByRules, Entities: []string{"port"}})
			return result{[]string{strconv.FormatBool(changed)}, err}
		}},
		{"supersede", func(ctx context.Context, s *bolt.Store) result {
			return result{nil, s.SupersedeFor(ctx, old, next, "moved", ken.Actor{})}
		}},
		{"archive", func(ctx context.Context, s *bolt.Store) result {
			return result{nil, s.Archive(ctx, old, "", ken.Actor{})}
		}},
		{"forget", func(ctx context.Context, s *bolt.Store) result {
			ids, err := s.Forget(ctx, old, "", ken.Actor{})
			return result{ids, err}
		}},
	}
	text := cmp.Comparer(func(a, b error) bool { return (a == nil) == (b == nil) && (a == nil || a.Error() == b.Error()) })
	for _, w := range writes {
		ctx := named()
		first := w.do(ctx, s)
		seq, commit := s.Seq(), s.Commit()
		if w.name == "assign" && first.IDs[0] != "true" {
			t.Error("an assignment changed nothing")
		}
		if again := w.do(ctx, s); !cmp.Equal(first, again, text) {
			t.Errorf("%s: first %v, then %v", w.name, first, again)
		}
		closeStore(t, s)
		s = open(t, dir, bolt.Options{})
		if again := w.do(ctx, s); !cmp.Equal(first, again, text) {
			t.Errorf("%s: first %v, in the next process %v", w.name, first, again)
		}
		if s.Seq() != seq || s.Commit() != commit {
			t.Errorf("%s: done again, it changed something", w.name)
		}
		if other := w.do(named(), s); w.name == "reinforce" && s.Seq() == seq {
			t.Errorf("%s: under another name it is another write: %v", w.name, other)
		}
	}
	for _, id := range []string{old, child} {
		if s.Has(id) {
			t.Errorf("%s is there", id)
		}
	}
}

// A write that was refused has left no name: it is tried again.
func TestARefusedWriteIsNotRemembered(t *testing.T) {
	s := open(t, t.TempDir(), bolt.Options{})
	id := uuid.NewString()
	ctx := named()
	move := func() error { return s.Transition(ctx, ken.Transition{ID: id, To: ken.StatusVerified}) }
	if err := move(); !errors.Is(err, ken.ErrNotFound) {
		t.Fatal(err)
	}
	c := claim(t, "the port is 8080")
	c.ID = id
	write(t, s, c)
	must(t, move())
}

// The same holds for an update of the shelf with an ID: its function does not run again.
func TestAnUpdateUnderOneNameIsDoneOnce(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, bolt.Options{})
	ctx := named()
	runs := 0
	add := func(s *bolt.Store, ctx context.Context) {
		t.Helper()
		must(t, s.Shelf().Update(ctx, func(tx store.ShelfTx) error {
			runs++
			return tx.Put("n", append(tx.Get("n"), 'x'))
		}))
	}
	add(s, ctx)
	add(s, ctx)
	closeStore(t, s)
	s = open(t, dir, bolt.Options{})
	add(s, ctx)
	if got := shelfOf(t, s.Shelf()); got["n"] != "x" || len(got) != 1 || runs != 1 {
		t.Errorf("after %d runs it holds %v", runs, got)
	}
	add(s, named())
	if got := shelfOf(t, s.Shelf()); got["n"] != "xx" {
		t.Errorf("it holds %v", got)
	}
	failed := named()
	if err := s.Shelf().Update(failed, func(tx store.ShelfTx) error { return errors.New("no") }); err == nil {
		t.Error("no error")
	}
	add(s, failed) // what failed has left no name
	if got := shelfOf(t, s.Shelf()); got["n"] != "xxx" {
		t.Errorf("it holds %v", got)
	}
}

// Names go after their time, or a store would grow by each write that it ever had.
func TestOldNamesAreForgotten(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, bolt.Options{})
	at := func(ago time.Duration, n byte) context.Context {
		id := uuid.Must(uuid.NewV7())
		ms := time.Now().Add(-ago).UnixMilli()
		for i := range 6 {
			id[i] = byte(ms >> (40 - 8*i))
		}
		id[15] = n
		return store.WithCommit(context.Background(), id)
	}
	for i := range 10 {
		_, err := s.WriteClaim(at(store.CommitsKept+time.Hour, byte(i)), claim(t, "old "+strings.Repeat("x", i)))
		must(t, err)
	}
	put := func(ctx context.Context) error {
		return s.Shelf().Update(ctx, func(tx store.ShelfTx) error { return tx.Put("a", []byte("b")) })
	}
	must(t, put(at(store.CommitsKept-time.Minute, 1)))
	must(t, put(at(0, 1)))
	closeStore(t, s)
	db, err := bbolt.Open(filepath.Join(dir, "ken.db"), 0o600, nil)
	must(t, err)
	defer db.Close()
	must(t, db.View(func(tx *bbolt.Tx) error {
		if n := tx.Bucket([]byte("commits")).Stats().KeyN; n != 2 {
			t.Errorf("%d names are kept, want the 2 young ones", n)
		}
		return nil
	}))
}

// An ID is kept long enough even if the clock of the machine that made it is 20 minutes slow,
// or another machine's is 20 minutes fast: a repeated write is done once.
func TestNamesOfMachinesWhoseClocksDiffer(t *testing.T) {
	s := open(t, t.TempDir(), bolt.Options{})
	at := func(ahead time.Duration) context.Context {
		id := uuid.Must(uuid.NewV7())
		ms := time.Now().Add(ahead).UnixMilli()
		for i := range 6 {
			id[i] = byte(ms >> (40 - 8*i))
		}
		return store.WithCommit(context.Background(), id)
	}
	add := func(ctx context.Context) {
		must(t, s.Shelf().Update(ctx, func(tx store.ShelfTx) error { return tx.Put("n", append(tx.Get("n"), 'x')) }))
	}
	behind, right := at(-20*time.Minute), at(0)
	add(behind)
	add(right)
	add(at(20 * time.Minute))
	add(behind)
	add(right)
	if got := shelfOf(t, s.Shelf()); got["n"] != "xxx" {
		t.Errorf("it holds %v", got)
	}
}

// A process that ends after it has forgotten a claim, but before it has rewritten
// the files, leaves words on the disk. Who repeats the call finishes the work.
func TestForgettingAgainFinishesTheWork(t *testing.T) {
	dir := t.TempDir()
	o := bolt.Options{Embedder: embedtest.Bag{}}
	s := open(t, dir, o)
	id := write(t, s, claim(t, "the word is zanzibar"))
	kept := write(t, s, claim(t, "the port is 8080"))
	ctx := named()
	// The steps after the deletion of the claim are left out.
	if _, err := s.Forget(until{ctx, func() bool { return !s.Has(id) }}, id, "", ken.Actor{}); !errors.Is(err, context.Canceled) {
		t.Fatalf("it was not cut off: %v", err)
	}
	closeStore(t, s)
	if files := filesWith(t, dir, []byte("zanzibar")); len(files) == 0 {
		t.Fatal("nothing was left on the disk to begin with")
	}
	s = open(t, dir, o)
	ids, err := s.Forget(ctx, id, "", ken.Actor{})
	if err != nil || len(ids) != 1 || ids[0] != id {
		t.Fatalf("%v, %v", ids, err)
	}
	if files := filesWith(t, dir, []byte("zanzibar")); len(files) > 0 {
		t.Errorf("the word is still in %v", files)
	}
	if have, total := s.Coverage(); have != 1 || total != 1 || !s.Has(kept) {
		t.Errorf("of the rest, %d of %d have a vector", have, total)
	}
}

// until is a context that ends by itself.
type until struct {
	context.Context
	over func() bool
}

func (c until) Err() error {
	if c.over() {
		return context.Canceled
	}
	return nil
}

// A name that does not say when it was made would be forgotten at any time.
func TestANameOfAnotherKindIsRefused(t *testing.T) {
	s := open(t, t.TempDir(), bolt.Options{})
	ctx := store.WithCommit(t.Context(), uuid.New())
	for what, err := range map[string]error{
		"claim": func() error { _, err := s.WriteClaim(ctx, claim(t, "Deploys run on Tuesday.")); return err }(),
		"shelf": s.Shelf().Update(ctx, func(tx store.ShelfTx) error { return tx.Put("a", []byte("b")) }),
	} {
		var e *ken.Error
		if !errors.As(err, &e) || e.Code != ken.CodeInvalid || e.Field != "commit" {
			t.Errorf("%s: %v", what, err)
		}
	}
}
