package bolt

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/seed"
	"github.com/kenlayer/ken/internal/store/sharedview"
	"github.com/kenlayer/ken/store"
)

// An index that fails does not fail a write, which is durable: it is opened again, and
// finds what was written meanwhile.
func TestAnIndexThatFailsIsMended(t *testing.T) {
	s, err := Open(t.Context(), t.TempDir(), Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	write := func(text string) {
		t.Helper()
		if _, err := s.WriteClaim(t.Context(), ken.Claim{Text: text, Evidence: []ken.Evidence{ken.FromUserStatement("s", "m")}}); err != nil {
			t.Fatal(err)
		}
	}
	write("the port is 8080")
	if err := s.index.Load().Close(); err != nil { // from now on it can't be written
		t.Fatal(err)
	}
	write("the host is example")
	for _, word := range []string{"port", "host"} {
		if got, err := s.Query(t.Context(), ken.Query{Question: word}); err != nil || len(got) != 1 {
			t.Errorf("%s: %v, %v", word, got, err)
		}
	}
	if faults, _ := s.Faults(t.Context()); len(faults) > 0 {
		t.Errorf("faults %v", faults)
	}
}

// A bad page refuses writes by name and lets reads go on; a rebuild ends that.
func TestABadPageRefusesWrites(t *testing.T) {
	s, err := Open(t.Context(), t.TempDir(), Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := ken.Claim{Text: "the port is 8080", Evidence: []ken.Evidence{ken.FromUserStatement("s", "m")}}
	id, err := s.WriteClaim(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	_ = s.notePageFault("page 7 makes no sense")
	c.Text = "the host is example"
	if _, err := s.WriteClaim(t.Context(), c); ken.Hint(err) == "" {
		t.Errorf("written to a damaged store: %v", err)
	}
	if err := s.Shelf().Update(t.Context(), func(tx store.ShelfTx) error { return tx.Put("k", nil) }); err == nil {
		t.Error("the shelf of a damaged store is written")
	}
	if _, err := s.Get(t.Context(), id); err != nil {
		t.Errorf("reads fail as well: %v", err)
	}
	if faults, _ := s.Faults(t.Context()); len(faults) != 1 || faults[0].Name != store.FaultDamaged {
		t.Errorf("faults %v", faults)
	}
	if err := s.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.WriteClaim(t.Context(), c); err != nil {
		t.Errorf("after a rebuild: %v", err)
	}
}

// Releasing the files' pages at any time does not affect readers and writers.
func TestGivenUpPagesAreReadAgain(t *testing.T) {
	s, err := Open(t.Context(), t.TempDir(), Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for round := range 3 {
		in := make([]store.Incoming, 1500) // more than the keyword index holds in memory
		for i := range in {
			if in[i].Claim, err = ken.NewClaim(fmt.Sprintf("The ledger of round %d has number %d.", round, i), ken.FromUserStatement("s", "m")); err != nil {
				t.Fatal(err)
			}
		}
		out := s.Import(t.Context(), in)
		if err := s.view(func(tx *bbolt.Tx) error {
			s.index.Load().Release()
			giveUp(tx)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for i := range out {
			if c, err := s.Get(t.Context(), out[i].ID); err != nil || c.Text != in[i].Claim.Text {
				t.Fatalf("%q, %v", c.Text, err)
			}
		}
		found, err := s.Query(t.Context(), ken.Query{Question: fmt.Sprintf("ledger round %d number 777", round), Limit: 3})
		if err != nil || len(found) == 0 || found[0].Text != in[777].Claim.Text {
			t.Fatalf("round %d: %v, %v", round, found, err)
		}
	}
}

// A file may have been written by a program without references. It opens like a new
// one, and only the first open takes time for that.
func TestUpgradeOfAFileWithoutReferences(t *testing.T) {
	for name, change := range map[string]func(tx *bbolt.Tx) error{
		"it never knew": func(tx *bbolt.Tx) error {
			if err := tx.DeleteBucket(bRefers); err != nil {
				return err
			}
			return tx.Bucket(bMeta).Delete(kRefers)
		},
		"it was last written by one": func(tx *bbolt.Tx) error {
			if err := tx.Bucket(bRefers).Delete(pair(referPrefix("Test3"), key32(3))); err != nil {
				return err
			}
			if err := tx.Bucket(bRefers).Put(pair(referPrefix("Test4"), key32(3)), nil); err != nil {
				return err
			}
			return tx.Bucket(bMeta).Put(kRefers, key64(3))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, caughtUp := t.TempDir(), 0
			reopen := func() *Store {
				t.Helper()
				s, err := Open(t.Context(), dir, Options{NoSync: true, Progress: func(stage string, done, total int) {
					if stage == "references" && done == total {
						caughtUp++
					}
				}})
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			s := reopen()
			var ids []string
			for i := range 6 {
				id, err := s.WriteClaim(t.Context(), ken.Claim{Text: fmt.Sprint("claim ", i), Evidence: []ken.Evidence{ken.FromTestResult(fmt.Sprint("Test", i), "")}})
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, id)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			db, err := bbolt.Open(dir+"/"+dbFile, 0o600, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Update(change); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				s = reopen()
				for i, id := range ids {
					refs, err := s.Referring(t.Context(), []string{fmt.Sprint("Test", i)}, &ken.Filter{})
					var got []string
					for _, ref := range refs {
						row, _ := s.Row(ref)
						got = append(got, row.ID)
					}
					if err != nil || !slices.Equal(got, []string{id}) {
						t.Errorf("claim %d: %v, %v", i, got, err)
					}
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if caughtUp != 1 {
				t.Errorf("caught up %d times", caughtUp)
			}
		})
	}
}

// A rebuild from the log brings the references back, and a claim that was revised is
// found by those that it has.
func TestReferencesFollowTheLog(t *testing.T) {
	s, err := Open(t.Context(), t.TempDir(), Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, test := range []string{"TestOld", "TestNew"} {
		if _, err := s.WriteClaim(t.Context(), ken.Claim{Key: "k", Text: test + " passes", Evidence: []ken.Evidence{ken.FromTestResult(test, "")}}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		for test, want := range map[string]int{"TestOld": 0, "TestNew": 1} {
			if refs, err := s.Referring(t.Context(), []string{test}, &ken.Filter{}); err != nil || len(refs) != want {
				t.Errorf("%s: %v, %v", test, refs, err)
			}
		}
		if err := s.Rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// A file that was last written by a program which does not know what was approved is
// caught up with when it is opened, once.
func TestApprovedIsFoundInOlderFiles(t *testing.T) {
	dir, o := t.TempDir(), Options{NoSync: true}
	shared := func(s *sharedview.View) (n int) {
		t.Helper()
		res, err := s.Newest(t.Context(), &ken.Filter{}, 10)
		if err != nil {
			t.Fatal(err)
		}
		return len(res.Hits)
	}
	s, err := Open(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []ken.Evidence{ken.FromHumanAssertion("ada", time.Now(), ""), ken.FromUserStatement("s", "m")} {
		c, err := ken.NewClaim("Said by "+string(e.Kind)+".", e)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.WriteClaim(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	if n := shared(sharedview.New(s, time.Now())); n != 1 {
		t.Fatalf("%d are shared, want 1", n)
	}
	err = s.update(func(tx *writeTx) error { // as such a program leaves it
		for ref := range s.t.rows {
			r := s.t.rows[ref]
			r.flags &^= flagApproved
			key := key32(store.Ref(ref))
			if err := tx.Bucket(bRows).Put(key, seal(bRows, key, r.encode())); err != nil {
				return err
			}
		}
		return tx.Bucket(bMeta).Put(kApproved, key64(s.commit-1))
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if s, err = Open(t.Context(), dir, o); err != nil {
			t.Fatal(err)
		}
		if n := shared(sharedview.New(s, time.Now())); n != 1 {
			t.Errorf("%d are shared after it was opened again, want 1", n)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// A filter looks at the marks, never at the rows: a mark that lags behind its row shows
// what was disputed, expired or forgotten. They agree whatever happens to the claims.
func TestMarksAgreeWithRows(t *testing.T) {
	ctx := t.Context()
	number := seed.Of(t)
	r := rand.New(rand.NewPCG(number, 0))
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	var clock atomic.Int64 // now in Unix nanoseconds, which the store reads in the background
	clock.Store(now.UnixNano())
	o := Options{NoSync: true, Now: func() time.Time { return time.Unix(0, clock.Load()).UTC() }}
	dir := t.TempDir()
	s, err := Open(ctx, dir, o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("number %d: %v", number, err)
		}
	}
	var ids []string
	one := func() int { return r.IntN(len(ids)) }
	for step := range 250 {
		now = now.Add(time.Minute)
		clock.Store(now.UnixNano())
		did := "write"
		switch n := r.IntN(12); {
		case n < 5 || len(ids) < 3:
			if id := writeMarked(t, s, r, fmt.Sprint("claim ", step), fmt.Sprint("key ", r.IntN(20)), now); !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		case n == 5:
			did = "transition"
			statuses := ken.Statuses() // a refused change has no effect, and is tested too
			_ = s.Transition(ctx, ken.Transition{ID: ids[one()], To: statuses[r.IntN(len(statuses))]})
		case n == 6:
			did = "supersede"
			_ = s.Supersede(ctx, ids[one()], ids[one()])
		case n == 7:
			did = "assign"
			_, _ = s.Assign(ctx, ken.Assignment{ID: ids[one()], By: ken.AssignedByRules, Entities: []string{"payments"}, Constraint: r.IntN(2) == 0})
		case n == 8:
			did = "reinforce"
			_ = s.Reinforce(ctx, ids[one()], []ken.Evidence{ken.FromTestResult(fmt.Sprint("T", step), "")}, ken.Actor{})
		case n == 9:
			did = "documents"
			chunk := ken.Claim{Kind: ken.KindDocument, Text: fmt.Sprint("func F", step), Evidence: []ken.Evidence{ken.FromFile("a.go", "sha256:0", "")}}
			must(s.PutDocuments(ctx, []store.Document{{Path: "a.go", Known: store.Known{Hash: fmt.Sprint("sha256:", step)}, Chunks: []ken.Claim{chunk}}}))
		case n == 10 && step%3 == 0:
			did = "forget"
			gone, err := s.Forget(ctx, ids[one()], "", ken.Actor{})
			must(err)
			ids = slices.DeleteFunc(ids, func(id string) bool { return slices.Contains(gone, id) })
		case n == 11 && step%3 == 0:
			did = "reopen"
			must(s.Close())
			s, err = Open(ctx, dir, o)
			must(err)
		}
		compareMarks(t, s, r, now, fmt.Sprintf("number %d, step %d, %s", number, step, did))
	}
	must(s.Rebuild(ctx))
	compareMarks(t, s, r, now, "rebuilt")
}

// writeMarked writes a claim of some kind, scope and trust, or revises the one with its
// key; every third expires, some in a moment.
func writeMarked(t *testing.T, s *Store, r *rand.Rand, text, key string, now time.Time) string {
	t.Helper()
	kinds := []ken.Kind{ken.KindFact, ken.KindFact, ken.KindEpisode, ken.KindHot, ken.KindDependency}
	c := ken.Claim{Text: text, Key: key, Kind: kinds[r.IntN(len(kinds))], Constraint: r.IntN(3) == 0, Evidence: []ken.Evidence{ken.FromUserStatement("s", "m")}}
	if c.Kind.Structural() {
		c.Entities, c.Constraint = []string{"payments", "ledger"}, false
	}
	if r.IntN(3) == 0 {
		c.ExpiresAt = now.Add(time.Duration(r.IntN(60)) * time.Minute)
	}
	if r.IntN(3) == 0 {
		c.Scope = ken.Scope{Type: ken.ScopeRepo, ID: fmt.Sprint(r.IntN(3))}
	}
	if r.IntN(4) == 0 {
		c.Evidence = append(c.Evidence, ken.FromToolResult("tc", ""))
	}
	if r.IntN(3) == 0 {
		c.Evidence = append(c.Evidence, ken.FromHumanAssertion("ada", now, ""))
	}
	id, err := s.WriteClaim(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// compareMarks asks about every ref, with some filters, by marks and by rows.
func compareMarks(t *testing.T, s *Store, r *rand.Rand, now time.Time, when string) {
	t.Helper()
	s.t.mu.RLock()
	defer s.t.mu.RUnlock()
	if len(s.t.marks) != len(s.t.rows) {
		t.Fatalf("%s: %d marks of %d rows", when, len(s.t.marks), len(s.t.rows))
	}
	for _, f := range []ken.Filter{{}, {Now: now}, {Statuses: ken.Statuses(), Structural: true, Now: now.Add(time.Duration(r.IntN(90)) * time.Minute)},
		{Scopes: []ken.Scope{{Type: ken.ScopeRepo, ID: "1"}}, Unscoped: r.IntN(2) == 0, Now: now}, {Kinds: []ken.Kind{ken.KindEpisode, ken.KindDependency}},
		{MinTrust: ken.TrustAgent, ClaimsOnly: true}, {Shared: true, Now: now}, {Shared: true, Statuses: ken.Statuses(), Structural: true}, {Statuses: []ken.Status{ken.StatusDisputed, ken.StatusSuperseded}, Now: now}} {
		sv := s.t.filterFor(&f)
		for i := range s.t.rows {
			row := &s.t.rows[i]
			var want ken.CutReason
			if !row.gone() {
				want = f.Reject(s.t.facts(row))
			}
			why, out := sv.reject(store.Ref(i))
			if why != want || out != (row.gone() || want != "") {
				t.Fatalf("%s: record %d is %q, %v by its mark, %q by its row, with %+v", when, i, why, out, want, f)
			}
		}
		if _, out := sv.reject(store.Ref(len(s.t.rows))); !out {
			t.Fatalf("%s: what is not there passes", when)
		}
	}
}
