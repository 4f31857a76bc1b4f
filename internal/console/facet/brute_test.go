package facet_test

import (
	"bytes"
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/console/facet"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/seed"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/store"
)

const decay = 30

// has is what a claim has of each facet, read from the claim itself.
func has(c *ken.Claim, now time.Time) map[string][]string {
	yes := func(is bool) []string {
		if is {
			return []string{"yes"}
		}
		return []string{"no"}
	}
	one := func(s string) []string {
		if s == "" {
			return nil
		}
		return []string{s}
	}
	sup := c.Support(nil)
	out := map[string][]string{facet.Kind: one(string(c.Kind)), facet.Status: one(string(c.Status)), facet.Tier: one(sup.At(now, decay).String()),
		facet.Trust: one(sup.Trust.String()), facet.Scope: one(c.Scope.String()), facet.Source: one(c.Source), facet.SourceType: one(c.SourceType),
		facet.Session: one(c.Session), facet.Project: one(c.Project), facet.Agent: one(facet.Writer(c.Actor)), facet.Constraint: yes(c.Constraint),
		facet.Archived: yes(!c.ArchivedAt.IsZero()), facet.Expired: yes(c.Expired(now))}
	add := func(name, value string) {
		if value != "" && !slices.Contains(out[name], value) {
			out[name] = append(out[name], value)
		}
	}
	for _, t := range c.Tags {
		add(facet.Tag, t)
	}
	for _, e := range c.Entities {
		add(facet.Entity, analysis.Entity(e))
	}
	for _, e := range c.Evidence {
		add(facet.File, e.Path)
	}
	return out
}

// chosen is what a selection asks of each facet.
func chosen(sel *facet.Selection) map[string][]string {
	out := map[string][]string{facet.Kind: sel.Kinds, facet.Status: sel.Statuses, facet.Tier: sel.Tiers, facet.Trust: sel.Trusts, facet.Scope: sel.Scopes,
		facet.Tag: sel.Tags, facet.Source: sel.Sources, facet.SourceType: sel.SourceTypes, facet.Session: sel.Sessions,
		facet.Project: sel.Projects, facet.Agent: sel.Agents, facet.File: sel.Files}
	for _, e := range sel.Entities {
		out[facet.Entity] = append(out[facet.Entity], analysis.Entity(e))
	}
	for name, w := range map[string]facet.Want{facet.Constraint: sel.Constraint, facet.Archived: sel.Archived, facet.Expired: sel.Expired} {
		if w != facet.Any {
			out[name] = []string{map[facet.Want]string{facet.Only: "yes", facet.Without: "no"}[w]}
		}
	}
	return out
}

func meets(have, want []string) bool {
	return want == nil || len(have) == 0 && slices.Contains(want, "") || slices.ContainsFunc(have, func(v string) bool { return v != "" && slices.Contains(want, v) })
}

// brute answers a selection by looking at every claim.
func brute(claims []ken.Claim, sel *facet.Selection, now time.Time) facet.Page {
	structural := sel.Structural || slices.ContainsFunc(sel.Kinds, func(k string) bool { return ken.Kind(k).Structural() })
	want := chosen(sel)
	var found []ken.Claim
	count, none := map[string]map[string]int{}, map[string]int{}
	for i := range claims {
		c := &claims[i]
		if c.Kind.Structural() && !structural || !sel.Since.IsZero() && c.CreatedAt.Before(sel.Since) ||
			!sel.Until.IsZero() && !c.CreatedAt.Before(sel.Until) || !sel.ChangedSince.IsZero() && c.UpdatedAt.Before(sel.ChangedSince) {
			continue
		}
		have := has(c, now)
		var missed []string
		for _, name := range facet.Names() {
			if !meets(have[name], want[name]) {
				missed = append(missed, name)
			}
		}
		if len(missed) == 0 {
			found = append(found, *c)
		}
		for _, name := range facet.Names() {
			if len(missed) > 1 || len(missed) == 1 && missed[0] != name {
				continue
			}
			if len(have[name]) == 0 {
				none[name]++
			}
			for _, v := range have[name] {
				if count[name] == nil {
					count[name] = map[string]int{}
				}
				count[name][v]++
			}
		}
	}
	slices.SortFunc(found, func(a, b ken.Claim) int {
		by := 0
		switch sel.Order {
		case facet.Updated:
			by = cmp.Compare(b.UpdatedAt.UnixMilli(), a.UpdatedAt.UnixMilli())
		case facet.Reinforced:
			by = cmp.Compare(b.Reinforcements, a.Reinforcements)
		case facet.Confidence:
			by = cmp.Compare(b.Confidence, a.Confidence)
		}
		x, y := uuid.MustParse(a.ID), uuid.MustParse(b.ID)
		return cmp.Or(by, cmp.Compare(b.CreatedAt.UnixMilli(), a.CreatedAt.UnixMilli()), bytes.Compare(x[:], y[:]))
	})
	out := facet.Page{IDs: []string{}, Total: len(found)}
	for i := range found {
		out.IDs = append(out.IDs, found[i].ID)
	}
	for _, name := range facet.Names() {
		f := facet.Facet{Name: name, None: none[name]}
		for v, n := range count[name] {
			f.Values = append(f.Values, facet.Value{Value: v, Count: n, Selected: slices.Contains(want[name], v)})
		}
		for _, v := range want[name] {
			switch {
			case v == "" && name != facet.Entity || v == "" && slices.Contains(sel.Entities, ""):
				f.Values = append(f.Values, facet.Value{Count: none[name], Selected: true})
			case v != "" && count[name][v] == 0:
				f.Values = append(f.Values, facet.Value{Value: v, Selected: true})
			}
		}
		slices.SortFunc(f.Values, byCount)
		out.Facets = append(out.Facets, f)
	}
	return out
}

func byCount(a, b facet.Value) int {
	return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value))
}

// spelled makes what an index answers comparable: names of entities by their spelling.
func spelled(list []facet.Facet) []facet.Facet {
	for i := range list {
		if list[i].Name == facet.Entity {
			for j := range list[i].Values {
				v := &list[i].Values[j]
				v.Value = analysis.Entity(v.Value)
			}
			slices.SortFunc(list[i].Values, byCount)
		}
		if len(list[i].Values) == 0 {
			list[i].Values = nil
		}
	}
	return list
}

func randomSelection(rng *rand.Rand) facet.Selection {
	var sel facet.Selection
	some := func(of ...string) []string {
		if rng.IntN(5) > 0 {
			return nil
		}
		rng.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
		return of[:1+rng.IntN(2)]
	}
	sel.Kinds = some("fact", "pattern", "entity", "unheard")
	sel.Statuses = some("observed", "disputed", "superseded", "verified")
	sel.Tiers = some("Guessed", "Assumed", "Inferred", "Verified")
	sel.Trusts = some("external", "agent", "operator")
	sel.Scopes = some("", "repo:a", "agent:b")
	sel.Entities = some("", "the payments SERVICE", "Ledger", "unheard of")
	sel.Tags = some("", "tag1", "tag2", "tag3")
	sel.Sources = some("", "source 1", "source 2")
	sel.SourceTypes = some("harvest", "import")
	sel.Sessions = some("", "s1", "s2", "s3")
	sel.Projects = some("p1", "")
	sel.Agents = some("coder", "user:anna", "agent", "")
	sel.Files = some("dir/f1.go", "dir/f2.go", "")
	want := func() facet.Want { return choose(rng, facet.Any, facet.Any, facet.Any, facet.Only, facet.Without) }
	sel.Constraint, sel.Archived, sel.Expired = want(), want(), want()
	sel.Structural = rng.IntN(4) == 0
	sel.Order = choose(rng, "", facet.Newest, facet.Updated, facet.Reinforced, facet.Confidence)
	if rng.IntN(4) == 0 {
		sel.Since = monday.Add(-time.Duration(rng.IntN(100*24)) * time.Hour)
	}
	if rng.IntN(4) == 0 {
		sel.Until = monday.Add(-time.Duration(rng.IntN(50*24)) * time.Hour)
	}
	if rng.IntN(8) == 0 {
		sel.ChangedSince = monday.Add(-time.Hour)
	}
	return sel
}

// all reads a list page by page.
func all(t testing.TB, x *facet.Index, owner string, sel facet.Selection) facet.Page {
	t.Helper()
	first, err := x.Select(owner, sel)
	if err != nil {
		t.Fatal(err)
	}
	ids := slices.Clone(first.IDs)
	for next := first.Next; next != ""; {
		sel.Before = next
		p, err := x.Select(owner, sel)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.IDs) == 0 || p.Total != first.Total {
			t.Fatalf("a page of %d, total %d, after one that promised more of %d", len(p.IDs), p.Total, first.Total)
		}
		ids, next = append(ids, p.IDs...), p.Next
	}
	return facet.Page{IDs: ids, Total: first.Total, Facets: spelled(first.Facets)}
}

// change makes a random change to a store with the claims ids.
func change(t testing.TB, s *bolt.Store, rng *rand.Rand, ids []string, n int) []string {
	ctx := t.Context()
	one := func() string { return choose(rng, ids...) }
	piece := []ken.Evidence{{Kind: choose(rng, ken.EvidenceTestResult, ken.EvidenceHumanAssertion), ID: choose(rng, "t1", "t2"), FetchedAt: monday}}
	switch op := rng.IntN(16); {
	case len(ids) == 0 || op < 6:
		c := random(rng, n)
		if len(ids) > 0 && rng.IntN(4) == 0 { // derived from another
			c.Evidence = append(c.Evidence, ken.Evidence{Kind: ken.EvidenceDecision, ID: one()})
		}
		id, err := s.WriteClaim(ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		return append(ids, id)
	case op == 6:
		in := make([]store.Incoming, rng.IntN(20))
		for i := range in {
			in[i].Claim = random(rng, n*100+i)
		}
		for _, out := range s.Import(ctx, in) {
			if out.Err != nil {
				t.Fatal(out.Err)
			}
			ids = append(ids, out.ID)
		}
	case op == 7: // a new version under the key
		c := random(rng, n)
		c.Key = choose(rng, "k1", "k2", "k3")
		if had, err := s.ByKey(ctx, c.Key); err == nil {
			c.ID = had.ID
		}
		if id, err := s.WriteClaim(ctx, c); err == nil && !slices.Contains(ids, id) {
			return append(ids, id)
		}
	case op < 10: // refused ones change nothing
		_ = s.Transition(ctx, ken.Transition{ID: one(), To: choose(rng, ken.Statuses()...), Evidence: piece})
	case op < 12:
		_ = s.Supersede(ctx, one(), one())
	case op == 12:
		_ = s.Reinforce(ctx, one(), piece, ken.Actor{})
	case op == 13:
		_ = s.Archive(ctx, one(), "test", ken.Actor{})
	case op == 14:
		_, _ = s.Assign(ctx, ken.Assignment{ID: one(), Entities: []string{"Assigned Thing"}, By: ken.AssignedByOperator})
	case rng.IntN(2) == 0:
		gone, err := s.Forget(ctx, one(), "test", ken.Actor{})
		if err != nil {
			t.Fatal(err)
		}
		return slices.DeleteFunc(ids, func(id string) bool { return slices.Contains(gone, id) })
	}
	return ids
}

func everything(t testing.TB, s facet.Store) (claims []ken.Claim) {
	t.Helper()
	for c, err := range s.Claims(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		claims = append(claims, c)
	}
	return claims
}

// What an index says is what one would count by looking at every claim, whatever was
// written between two catches.
func TestCountsAreThoseOfTheClaims(t *testing.T) {
	for range race.Pick(3, 1) {
		rng := rand.New(rand.NewPCG(seed.Of(t), 0))
		s := open(t, "o")
		x := index(t, facet.Options{Now: at(monday), DecayDays: decay, Top: 1000})
		var ids []string
		for n := range 40 {
			for range rng.IntN(15) {
				ids = change(t, s, rng, ids, n)
			}
			catch(t, x, s)
			claims := everything(t, s)
			for range 5 {
				sel := randomSelection(rng)
				sel.Limit = 1 + rng.IntN(40)
				want, got := brute(claims, &sel, monday), all(t, x, "o", sel)
				if diff := gocmp.Diff(want, got); diff != "" {
					t.Fatalf("after %d claims, %+v (-want +got):\n%s", len(claims), sel, diff)
				}
				list := slices.Clone(ids)
				rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
				list = append(list[:rng.IntN(len(list)+1)], "no id", uuid.NewString())
				among(t, x, claims, list, sel)
			}
		}
	}
}

// among checks the counts for a list of ids.
func among(t *testing.T, x *facet.Index, claims []ken.Claim, list []string, sel facet.Selection) {
	t.Helper()
	var part []ken.Claim
	for _, c := range claims {
		if slices.Contains(list, c.ID) {
			part = append(part, c)
		}
	}
	want := brute(part, &sel, monday)
	if diff := gocmp.Diff(want.Facets, spelled(x.Count("o", list, sel))); diff != "" {
		t.Fatalf("count (-want +got):\n%s", diff)
	}
	got, err := x.Filter("o", append(list, list...), sel)
	if err != nil {
		t.Fatal(err)
	}
	inOrder := slices.DeleteFunc(slices.Clone(list), func(id string) bool { return !slices.Contains(want.IDs, id) })
	if !slices.Equal(got, inOrder) {
		t.Fatalf("filter: %q, want %q", got, inOrder)
	}
}
