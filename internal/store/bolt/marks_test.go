package bolt

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/seed"
	"github.com/kenlayer/ken/store"
)

// A filter looks at the marks, never at the rows: a mark that lags behind its row shows
// what was disputed, expired or forgotten. They agree whatever happens to the claims.
func TestMarksAgreeWithRows(t *testing.T) {
	ctx := t.Context()
	number := seed.Of(t)
	r := rand.New(rand.NewPCG(number, 0))
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	o := Options{NoSync: true, Now: func() time.Time { return now }}
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
		did := "write"
		switch n := r.IntN(12); {
		case n < 5 || len(ids) < 3:
			if id := writeMarked(t, s, r, fmt.Sprint("claim ", step), fmt.Sprint("key ", r.IntN(20)), now); !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		case n == 5:
			did = "transition"
			statuses := ken.Statuses() // what is not allowed changes nothing, and is no less of a test
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
		sv := s.t.sieve(&f)
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
