package retriever_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
)

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
