package retriever_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
)

// backwards is the order from the end.
func backwards(c []ken.Features) []int {
	order := make([]int, len(c))
	for i := range order {
		order[i] = len(c) - 1 - i
	}
	return order
}

// ruled returns records; some of them are constraints.
type ruled struct {
	shelf
	rules []store.Ref
}

func (r ruled) Row(ref store.Ref) (store.Row, bool) {
	row, ok := r.shelf.Row(ref)
	row.Constraint = slices.Contains(r.rules, ref)
	return row, ok
}

// plain is a turn's options.
func plain(l *retriever.Learned) retriever.Options {
	return retriever.Options{Order: retriever.OrderRRF, Floor: -1, TopK: 4, Learned: l, Sources: []retriever.Source{says(retriever.SourceKeyword, refs(0, 1, 2, 3, 4, 5, 6, 7)...)}}
}

// The learned order is the turn's, and the receipt has what it was made of.
func TestTheLearnedOrderDecides(t *testing.T) {
	p := records(8)
	was := retrieve(t, p, plain(nil))
	got := retrieve(t, p, plain(&retriever.Learned{Order: backwards, Earlier: func(c []ken.Features, _ time.Time) { c[0].Used = 7 }}))
	all := ids(retrieve(t, p, func() retriever.Options { o := plain(nil); o.TopK = 8; return o }()))
	slices.Reverse(all)
	if !slices.Equal(ids(got), all[:4]) || was.Ranking != nil || len(got.Degraded) != 0 {
		t.Errorf("%v, want %v; %+v, %v", ids(got), all[:4], was.Ranking, got.Degraded)
	}
	r := got.Ranking
	if r == nil || !r.Learned || r.Cut != 4 || len(r.Candidates) != 8 || r.Candidates[0].Keyword != 1 || r.Candidates[0].Used != 7 || r.Candidates[7].Rank != 8 || r.Candidates[0].Distance != -1 {
		t.Errorf("%+v", r)
	}
	if len(cuts(got)) != 4 {
		t.Errorf("cut: %v", cuts(got))
	}
}

// A scorer never sees a constraint, and does not change its place. The same holds
// when a turn explores.
func TestNoScorerReachesAConstraint(t *testing.T) {
	for _, rules := range [][]store.Ref{{0}, {3}, {0, 1, 2, 3}, {1, 4}, {2, 3, 4, 5, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7}} {
		p := ruled{records(8), rules}
		o := plain(nil)
		o.TopK = 8
		before := ids(retrieve(t, p, o))
		at := map[string]int{}
		for _, ref := range rules {
			row, _ := p.Row(ref)
			at[row.ID] = slices.Index(before, row.ID)
		}
		for _, topK := range []int{3, 8} {
			for name, s := range map[string]func([]ken.Features) []int{"backwards": backwards,
				"forged": func(c []ken.Features) []int {
					for i := range c {
						c[i].ID, c[i].Constraint = "forged", true
					}
					return backwards(c)
				}} {
				seen := 0
				o := plain(&retriever.Learned{Order: func(c []ken.Features) []int {
					for _, f := range c {
						if _, is := at[f.ID]; is || f.Constraint {
							t.Errorf("it was shown %s", f.ID)
						}
					}
					seen = len(c)
					return s(c)
				}, Explore: func(string) (bool, float64) { return true, 0.05 }})
				o.TopK = topK
				got := retrieve(t, p, o)
				for id, place := range at {
					if now := slices.Index(ids(got), id); place < topK && now != place || place >= topK && now >= 0 {
						t.Errorf("%s, rules %v, top %d: %s moved from %d to %d", name, rules, topK, id, place, now)
					}
				}
				if movable := 8 - len(rules); movable > 1 && seen != movable {
					t.Errorf("%d seen of %d", seen, movable)
				}
			}
		}
	}
}

// Exploration swaps the two at the cut and nothing else, and says so whether it did or
// not.
func TestExplorationSwapsTheTwoAtTheCut(t *testing.T) {
	p := records(8)
	want := ids(retrieve(t, p, plain(nil)))
	o := plain(&retriever.Learned{Explore: func(turn string) (bool, float64) { return turn == "swap", 0.05 }})
	ask := func(id string) retriever.Result {
		return retriever.New(p, o).Retrieve(t.Context(), retriever.Turn{ID: id, Signals: ken.Signals{Asks: true}, Filter: ken.Filter{Unscoped: true}})
	}
	got := ask("stay")
	if x := got.Explored; !slices.Equal(ids(got), want) || x == nil || x.Swapped || x.Out != want[3] || x.In == "" || x.In == x.Out {
		t.Errorf("%v, %+v", ids(got), x)
	}
	next := got.Explored.In
	got = ask("swap")
	if x := got.Explored; fmt.Sprint(ids(got)) != fmt.Sprint(append(want[:3:3], next)) || !x.Swapped || x.In != next || x.Propensity != 0.05 {
		t.Errorf("%v, %+v", ids(got), x)
	}
	o.TopK = 8 // nothing is left out
	if got := ask("swap"); got.Explored != nil || got.Ranking == nil {
		t.Errorf("%+v", got.Explored)
	}
}
