package bolt_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/store"
)

// structured fills a store with claims of all the kinds that an index of names
// distinguishes.
func structured(t *testing.T, s *bolt.Store) {
	t.Helper()
	for i := range 40 {
		c := claim(t, fmt.Sprintf("claim %d", i))
		c.Entities = []string{fmt.Sprintf("Service-%d", i%7), "ledger", fmt.Sprint("only ", i)}[:1+i%3]
		c.Aspect, c.Constraint = []string{"", "speed", "ports"}[i%3], i%5 == 0
		switch i % 8 {
		case 3:
			c.Kind, c.Importance = ken.KindDependency, 0.7
		case 4:
			c.Entities = nil
		}
		id := write(t, s, c)
		if i%6 == 1 && !c.Kind.Structural() {
			_, err := s.Assign(context.Background(), ken.Assignment{ID: id, By: ken.AssignedByModel, Entities: []string{"assigned"}, Constraint: i%4 == 1})
			must(t, err)
		}
		if i%9 == 2 {
			must(t, s.Transition(context.Background(), ken.Transition{ID: id, To: ken.StatusDisputed}))
		}
	}
}

// said is all that the index says.
func said(t *testing.T, s store.Structure) (names []store.NameCount, outlines []store.Outline) {
	t.Helper()
	ask := []string{"", "nobody", "claim", "claim 10"}
	for c, err := range s.Names(context.Background(), &ken.Filter{Statuses: ken.Statuses()}) {
		must(t, err)
		names, ask = append(names, c), append(ask, c.Name)
	}
	for _, f := range []*ken.Filter{{}, {Statuses: ken.Statuses()}} {
		got, err := s.Outlines(context.Background(), ask, f, store.OutlineOptions{Mentioned: ask})
		must(t, err)
		outlines = append(outlines, got...)
	}
	return names, outlines
}

func wantSaid(t *testing.T, when string, s store.Structure, names []store.NameCount, outlines []store.Outline) {
	t.Helper()
	gotNames, gotOutlines := said(t, s)
	if diff := cmp.Diff(names, gotNames); diff != "" {
		t.Errorf("%s, names (-want +got):\n%s", when, diff)
	}
	if diff := cmp.Diff(outlines, gotOutlines); diff != "" {
		t.Errorf("%s, outlines (-want +got):\n%s", when, diff)
	}
}

// The entities of claims are available as soon as a store is open, and also after a
// copy, a compaction and a rebuild from the log.
func TestTheIndexOfNamesOutlivesTheProcess(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	s := open(t, dir, bolt.Options{NoSync: true})
	structured(t, s)
	names, outlines := said(t, s)
	if len(names) < 10 {
		t.Fatalf("%v", names)
	}
	closeStore(t, s)
	s = open(t, dir, bolt.Options{NoSync: true})
	wantSaid(t, "opened again", s, names, outlines)
	must(t, s.Compact(ctx))
	wantSaid(t, "compacted", s, names, outlines)
	to := t.TempDir()
	must(t, s.CopyTo(ctx, to))
	wantSaid(t, "the copy", open(t, to, bolt.Options{NoSync: true}), names, outlines)

	claims := claimsOf(t, s)
	must(t, s.Rebuild(ctx))
	if diff := cmp.Diff(claims, claimsOf(t, s)); diff != "" {
		t.Errorf("folded again (-want +got):\n%s", diff)
	}
	closeStore(t, s)
	s = open(t, dir, bolt.Options{NoSync: true})
	for _, c := range claims {
		for _, n := range analysis.Entities(c.Entities) {
			got, err := s.Outlines(ctx, []string{n}, &ken.Filter{Statuses: ken.Statuses()}, store.OutlineOptions{})
			must(t, err)
			if got[0].Records != names[slices.IndexFunc(names, func(c store.NameCount) bool { return c.Name == n })].Records {
				t.Errorf("folded again: %+v", got[0])
			}
		}
	}
}

func claimsOf(t *testing.T, s *bolt.Store) map[string]ken.Claim {
	t.Helper()
	out := map[string]ken.Claim{}
	for c, err := range s.Claims(context.Background()) {
		must(t, err)
		out[c.ID] = c
	}
	return out
}

// Delete is not delete in other layers. A name is no less a word of the claim than its
// text.
func TestAForgottenNameIsGoneFromEveryFile(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	s := open(t, dir, bolt.Options{})
	c := claim(t, "a patient of quuxrule must never move")
	c.Entities, c.Aspect, c.Constraint = []string{"zanzibarquux"}, "zanzibar-aspect", true
	id := write(t, s, c)
	if got, err := s.Outlines(ctx, []string{"quuxrule"}, &ken.Filter{}, mentioning("quuxrule")); err != nil || len(got[0].Constraints) != 1 {
		t.Fatalf("a rule is not found by what it says: %+v, %v", got, err)
	}
	_, err := s.Assign(ctx, ken.Assignment{ID: id, By: ken.AssignedByOperator, Entities: []string{"quuxassigned"}, Aspect: "quux-aspect"})
	must(t, err)
	write(t, s, claim(t, "the clinic opens at nine"))
	_, err = s.Forget(ctx, id, "", ken.Actor{})
	must(t, err)
	for _, word := range []string{"zanzibarquux", "zanzibar-aspect", "quuxassigned", "quux-aspect", "quuxrule"} {
		if files := filesWith(t, dir, []byte(word)); len(files) > 0 {
			t.Errorf("%s is still in %v", word, files)
		}
	}
	closeStore(t, s)
	s = open(t, dir, bolt.Options{})
	if got := s.Known([]string{"zanzibarquux", "quuxassigned"}); got[0] || got[1] {
		t.Errorf("known again: %v", got)
	}
	must(t, s.Rebuild(ctx))
	if got, err := s.Outlines(ctx, []string{"quuxrule"}, &ken.Filter{Statuses: ken.Statuses()}, mentioning("quuxrule")); err != nil || len(got[0].Constraints) != 0 {
		t.Errorf("what it said is found again: %+v, %v", got, err)
	}
	if names, _ := said(t, s); len(names) != 0 {
		t.Errorf("a rebuild brought back %v", names)
	}
}

func mentioning(names ...string) store.OutlineOptions { return store.OutlineOptions{Mentioned: names} }

// knower assigns a claim to those of its words that name something already, or
// introduce it.
func knower(s store.Structure, c *ken.Claim) {
	for word := range strings.FieldsSeq(c.Text) {
		name, introduced := strings.CutSuffix(word, ":")
		if introduced || s.Known([]string{name})[0] {
			c.Entities, c.AssignedBy = append(c.Entities, name), ken.AssignedByRules
		}
	}
}

// Writes may or may not share a transaction; a write must see the names of earlier ones
// in either case.
func TestNamesOfOneTransactionAreKnownInIt(t *testing.T) {
	s := open(t, t.TempDir(), bolt.Options{NoSync: true, Assign: knower})
	in := []store.Incoming{{Claim: claim(t, "the payments service is slow")}, {Claim: claim(t, "payments: a service")}, {Claim: claim(t, "the payments service is quick")}}
	for i, o := range s.Import(context.Background(), in) {
		must(t, o.Err)
		c, err := s.Get(context.Background(), o.ID)
		must(t, err)
		if want := i > 0; (c.AssignedBy == ken.AssignedByRules && slices.Equal(c.Entities, []string{"payments"})) != want {
			t.Errorf("%q is about %q", c.Text, c.Entities)
		}
	}
	if got := s.Known([]string{"payments", "service"}); !got[0] || got[1] {
		t.Errorf("known: %v", got)
	}
}

// Whoever reads while others write sees a rule in full or not at all, and a name that
// is known has its records.
func TestOutlinesWhileOthersWrite(t *testing.T) {
	ctx := context.Background()
	s := open(t, t.TempDir(), bolt.Options{NoSync: true})
	done := make(chan struct{})
	var wg sync.WaitGroup
	for w := range 2 {
		wg.Go(func() {
			for i := range 60 {
				c := claim(t, "never deploy")
				c.Entities, c.Constraint = []string{"payments", fmt.Sprint("writer ", w, " ", i)}, true
				id := write(t, s, c)
				got, err := s.Outlines(ctx, []string{"payments"}, &ken.Filter{}, store.OutlineOptions{})
				if err != nil || !slices.ContainsFunc(got[0].Constraints, func(ref store.Ref) bool { row, _ := s.Row(ref); return row.ID == id }) {
					t.Errorf("a rule that was acknowledged is missing: %v", err)
				}
			}
		})
	}
	go func() { wg.Wait(); close(done) }()
	for last := 0; ; {
		got, err := s.Outlines(ctx, []string{"payments", "payments"}, &ken.Filter{}, store.OutlineOptions{})
		must(t, err)
		if !cmp.Equal(got[0], got[1]) || len(got[0].Constraints) < last {
			t.Fatalf("%d and %d rules, after %d", len(got[0].Constraints), len(got[1].Constraints), last)
		}
		last = len(got[0].Constraints)
		select {
		case <-done:
			return
		default:
		}
	}
}
