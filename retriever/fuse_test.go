package retriever_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
)

// Reciprocal rank fusion, computed by hand: 1 is second and first, 2 first and
// third, 3 third and absent, 4 absent and second.
func TestFusionAddsReciprocalRanks(t *testing.T) {
	legs := []retriever.Source{says(retriever.SourceKeyword, refs(2, 1, 3)...), says(retriever.SourceVector, refs(1, 4, 2)...)}
	got := retrieve(t, records(5), retriever.Options{Sources: legs, Order: retriever.OrderRRF})
	want := []struct {
		id  string
		sum float64
	}{{"1", 1.0/62 + 1.0/61}, {"2", 1.0/61 + 1.0/63}, {"4", 1.0 / 62}, {"3", 1.0 / 63}}
	for i, w := range want {
		if c := got.Candidates[i]; c.Row.ID != w.id || math.Abs(c.Fused-w.sum) > 1e-15 {
			t.Errorf("place %d: %s with %v, want %s with %v", i+1, c.Row.ID, c.Fused, w.id, w.sum)
		}
	}
	equal(t, "legs of 1", got.Candidates[0].Sources, map[string]ken.LegScore{
		retriever.SourceKeyword: {Rank: 2, Score: 99}, retriever.SourceVector: {Rank: 1, Score: 100}})

	got = retrieve(t, records(5), retriever.Options{Sources: legs, Order: retriever.OrderRRF, K: 1})
	if sum := 1.0/3 + 1.0/2; math.Abs(got.Candidates[0].Fused-sum) > 1e-15 {
		t.Errorf("with k = 1: %v, want %v", got.Candidates[0].Fused, sum)
	}
}

func TestFusionTiesGoByRecord(t *testing.T) {
	legs := []retriever.Source{says(retriever.SourceKeyword, refs(9, 3)...), says(retriever.SourceVector, refs(3, 9)...), says("other", refs(6)...)}
	for _, order := range []retriever.Order{retriever.OrderRRF, retriever.OrderEvidence} {
		equalScores := []retriever.Source{}
		for _, l := range legs {
			res, _ := l.Search(t.Context(), nil)
			for i := range res.Hits {
				res.Hits[i].Score = 1
			}
			equalScores = append(equalScores, says(l.Name(), res.Hits...))
		}
		got := retrieve(t, records(10), retriever.Options{Sources: equalScores, Order: order, Floor: -1})
		equal(t, string(order), ids(got), []string{"3", "9", "6"})
	}
}

// A source that lists a record twice must not vote for it twice.
func TestFusionCountsARecordOncePerLeg(t *testing.T) {
	got := retrieve(t, records(4), retriever.Options{Order: retriever.OrderRRF,
		Sources: []retriever.Source{says(retriever.SourceKeyword, refs(1, 2, 2, 2)...), says(retriever.SourcePinned, refs(3, 3)...)}})
	equal(t, "candidates", ids(got), []string{"3", "1", "2"})
	if c := got.Candidates[2]; math.Abs(c.Fused-1.0/62) > 1e-15 || c.Sources[retriever.SourceKeyword].Rank != 2 {
		t.Errorf("%v at rank %d, want 1/62 at its first rank, 2", c.Fused, c.Sources[retriever.SourceKeyword].Rank)
	}
	equal(t, "retrieved", got.Retrieved, 3)
	equal(t, "memory", got.Memory, 1)
}

func TestPoolIsCutByFusion(t *testing.T) {
	for _, order := range []retriever.Order{retriever.OrderRRF, retriever.OrderEvidence} {
		hits := refs(0, 1, 2, 3, 4)
		hits[4].Score = 1e6 // the ranker would have it first, but fusion forms the pool
		got := retrieve(t, records(5), retriever.Options{Sources: []retriever.Source{says(retriever.SourceKeyword, hits...)}, Pool: 3, Order: order})
		equal(t, "candidates", ids(got), []string{"0", "1", "2"})
		equal(t, "cuts", cuts(got), map[string]ken.CutReason{"3": ken.CutPool, "4": ken.CutPool})
		equal(t, "retrieved", got.Retrieved, 5)
	}
}

func TestTopK(t *testing.T) {
	got := retrieve(t, records(9), retriever.Options{Sources: []retriever.Source{says(retriever.SourceKeyword, refs(0, 1, 2, 3)...),
		says(retriever.SourcePinned, refs(7, 8)...)}, TopK: 2})
	equal(t, "candidates, memory apart", ids(got), []string{"7", "8", "0", "1"})
	equal(t, "cuts", cuts(got), map[string]ken.CutReason{"2": ken.CutPool, "3": ken.CutPool})
}

// The ranker's parts are absolute, named, and explain the score.
func TestRankerPartsAreInTheSignals(t *testing.T) {
	got := retrieve(t, records(4), retriever.Options{Floor: -1, Sources: []retriever.Source{
		says(retriever.SourceKeyword, store.Hit{Ref: 1, Score: 8, Share: 0.5}, store.Hit{Ref: 2, Score: 4, Share: 0.25}),
		says(retriever.SourceVector, store.Hit{Ref: 2, Score: 0.9, Share: 0.8}, store.Hit{Ref: 3, Score: 0.2, Share: -0.4}),
	}})
	want := map[string]map[string]float64{
		"1": {"keyword": 1, "share": 0.5, "cosine": 0, "likeness": 0, "manner": 0},
		"2": {"keyword": 0.5, "share": 0.25, "cosine": 0.8, "likeness": (0.1 + 0.75*0.5) * (0.8 / 0.45) * (0.8 / 0.45) * 0.8, "manner": 0},
		"3": {"keyword": 0, "share": 0, "cosine": 0, "likeness": 0, "manner": 0},
	}
	for _, c := range got.Candidates {
		if d := cmp.Diff(want[c.Row.ID], c.Signals, cmpopts.EquateApprox(0, 1e-9)); d != "" {
			t.Errorf("signals of %s (-want +got):\n%s", c.Row.ID, d)
		}
	}
	if a, b := got.Candidates[0], got.Candidates[1]; a.Fused < b.Fused {
		t.Errorf("not in the order of the score: %v before %v", a.Fused, b.Fused)
	}
}

// The order follows the evidence, not the ranks: a record that two sources put
// last does not overtake a certain hit of one source.
func TestEvidenceOrdersWhereFusionIsBlind(t *testing.T) {
	legs := []retriever.Source{
		says(retriever.SourceKeyword, store.Hit{Ref: 1, Score: 10, Share: 0.9}, store.Hit{Ref: 2, Score: 1, Share: 0.2}),
		says(retriever.SourceVector, store.Hit{Ref: 2, Score: 0.3, Share: 0.1}),
	}
	equal(t, "evidence", ids(retrieve(t, records(3), retriever.Options{Sources: legs})), []string{"1", "2"})
	equal(t, "rrf", ids(retrieve(t, records(3), retriever.Options{Sources: legs, Order: retriever.OrderRRF})), []string{"2", "1"})
	weighted := retriever.Options{Sources: legs, Order: retriever.OrderWeighted, VectorWeight: 0.01}
	equal(t, "weighted", ids(retrieve(t, records(3), weighted)), []string{"1", "2"})
	weighted.VectorWeight = 1
	equal(t, "weighted like rrf", ids(retrieve(t, records(3), weighted)), []string{"2", "1"})
}

// Rules and memory of the own store come before those of others; knowledge by what it is
// worth, the own first where that is the same.
func TestMerge(t *testing.T) {
	list := func(owner string, scores ...float64) (out []retriever.Candidate) {
		for i, s := range scores {
			out = append(out, retriever.Candidate{Row: store.Row{ID: fmt.Sprint(owner, i)}, Fused: s})
		}
		return out
	}
	for name, tt := range map[string]struct {
		mine, theirs retriever.Result
		want, cut    []string
	}{
		"parts": {
			retriever.Result{Candidates: list("a", 0, 0, 0, 2), Rules: 1, Memory: 1, Sessions: 1, Evidence: 1},
			retriever.Result{Candidates: list("b", 0, 0, 3), Rules: 1, Memory: 1, Evidence: 1},
			[]string{"a0", "b0", "a1", "a2", "b1", "b2", "a3"}, nil,
		},
		"equal scores": {
			retriever.Result{Candidates: list("a", 1, .5), Evidence: .5}, retriever.Result{Candidates: list("b", 1, .5), Evidence: .5},
			[]string{"a0", "b0", "a1"}, []string{"b1"},
		},
		"little evidence": {
			retriever.Result{Candidates: list("a", 1, .9), Evidence: .2}, retriever.Result{Candidates: list("b", .8, .7), Evidence: .8},
			[]string{"b0", "b1", "a0"}, []string{"a1"},
		},
		"no floor": {
			retriever.Result{Candidates: list("a", 1)}, retriever.Result{Candidates: list("b", 2)}, []string{"b0", "a0"}, nil,
		},
	} {
		tt.mine.Merge("team", &tt.theirs, len(tt.want)-tt.mine.Rules-tt.mine.Memory-tt.mine.Sessions-tt.theirs.Rules-tt.theirs.Memory)
		var got, cut []string
		for _, c := range tt.mine.Candidates {
			if got = append(got, c.Row.ID); (c.Owner == "team") != (c.Row.ID[0] == 'b') {
				t.Errorf("%s: %s is of %q", name, c.Row.ID, c.Owner)
			}
		}
		for _, c := range tt.mine.Cut {
			if cut = append(cut, c.ID); c.Reason != ken.CutPool {
				t.Errorf("%s: %+v", name, c)
			}
		}
		if diff := cmp.Diff(tt.want, got) + cmp.Diff(tt.cut, cut); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
