package console

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/console/diff"
)

// The time of a turn is not counted twice: stages follow one another, and the legs
// are within the search.
func TestTimesOfATurn(t *testing.T) {
	r := &ken.Receipt{MS: map[string]float64{"guard": 1, "intent": 2, "retrieve": 10, "structure": 3, "keyword": 5, "vector": 7, "budget": 4, "total": 20, "assemble": 19}}
	stages, sum := stagesOf(r)
	got := map[string][2]float64{}
	for _, s := range stages {
		got[s.Label] = [2]float64{s.Start, s.MS}
	}
	want := map[string][2]float64{"guard": {0, 1}, "intent": {1, 2}, "retrieve": {3, 10}, "· structure": {3, 3}, "· keyword": {6, 5}, "· vector": {6, 7}, "budget": {13, 4}}
	if d := cmp.Diff(want, got); d != "" || sum != 17 {
		t.Errorf("together %v (-want +got):\n%s", sum, d)
	}
	if s := turnTimeOf(r); s.Around != 3 || s.Earlier != 0 {
		t.Errorf("around %v, earlier %v", s.Around, s.Earlier)
	}
	r.Reused = true
	if s := turnTimeOf(r); s.Around >= 0 || s.Earlier != 19 {
		t.Errorf("of an earlier request: around %v, earlier %v", s.Around, s.Earlier)
	}
	if s := turnTimeOf(&ken.Receipt{MS: map[string]float64{"total": 1}}); s.Drawing != nil || s.Total != 1 {
		t.Errorf("a turn without stages has %+v", s)
	}
}

// The picture has the hits of the legs in their final order, with the ranks of cut
// candidates as far as the receipt has them, and without memory.
func TestFusedList(t *testing.T) {
	legs := func(keyword, vector int) map[string]ken.LegScore {
		out := map[string]ken.LegScore{}
		for leg, rank := range map[string]int{"keyword": keyword, "vector": vector} {
			if rank > 0 {
				out[leg] = ken.LegScore{Rank: rank}
			}
		}
		return out
	}
	r := &ken.Receipt{Items: []ken.Item{{ID: "second", Fused: 0.4, Legs: legs(3, 1)}, {ID: "pinned", Memory: true, Fused: 9, Legs: map[string]ken.LegScore{"pinned": {Rank: 1}}},
		{ID: "first", Fused: 0.5, Legs: legs(1, 0)}, {ID: "checkpoint"}}, Cut: []ken.Cut{{ID: "pool", Reason: ken.CutPool}, {ID: "status", Reason: ken.CutStatus}}}
	ids := func() (out []string) {
		for _, x := range fusedList(r) {
			out = append(out, x.id)
		}
		return out
	}
	if d := cmp.Diff([]string{"first", "second"}, ids()); d != "" {
		t.Errorf("without a learned order (-want +got):\n%s", d)
	}
	r.Ranking = &ken.Ranking{Candidates: []ken.Features{{ID: "second", Rank: 1, Keyword: 3, Vector: 1}, {ID: "pool", Rank: 2, Keyword: 2}, {ID: "first", Rank: 3}, {ID: "pinned", Rank: 4}}}
	if d := cmp.Diff([]string{"second", "pool", "first"}, ids()); d != "" {
		t.Errorf("with one (-want +got):\n%s", d)
	}
	pool := fusedList(r)[1]
	if pool.block || pool.cut != ken.CutPool || pool.ranks["keyword"] != 2 {
		t.Errorf("what was cut: %+v", pool)
	}
	for i := range 500 {
		r.Ranking.Candidates = append(r.Ranking.Candidates, ken.Features{ID: strings.Repeat("x", i+1), Rank: i + 10})
	}
	if n := len(fusedList(r)); n != maxRanked {
		t.Errorf("%d are drawn", n)
	}
	if drawFusion(fusedList(&ken.Receipt{}), nil) != nil {
		t.Error("there is a picture of nothing")
	}
}

func TestPartsOf(t *testing.T) {
	const block = guardrail.FrameOpen + "\nReference data.\n\n[k:aaaaaa] Inferred | 2026-01-01 | ana\none\n\n[k:bb] Guessed | undated\ntwo [k:x] lines\nof it\n" + guardrail.FrameClose
	want := map[string]string{"a": "Inferred | 2026-01-01 | ana\none", "b": "Guessed | undated\ntwo [k:x] lines\nof it"}
	if d := cmp.Diff(want, partsOf(block, []string{"a", "b"})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for _, ids := range [][]string{nil, {"a"}, {"a", "b", "c"}} {
		if got := partsOf(block, ids); got != nil {
			t.Errorf("%q of items %q", got, ids)
		}
	}
}

func TestCompareBlocks(t *testing.T) {
	item := func(id string, place int) itemView {
		it := itemView{Place: place, Label: "label of " + id}
		it.ID = id
		return it
	}
	before := blockSide{&ken.Receipt{Cut: []ken.Cut{{ID: "new", Reason: ken.CutDuplicate}}},
		[]itemView{item("same", 1), item("changed", 2), item("gone", 3), item("forgotten", 4), item("wordless", 5)},
		map[string]string{"same": "as it was", "changed": "port 8071", "gone": "bye"}}
	after := blockSide{&ken.Receipt{Cut: []ken.Cut{{ID: "gone", Reason: ken.CutBudget}}},
		[]itemView{item("new", 1), item("changed", 2), item("same", 3), item("wordless", 4)},
		map[string]string{"same": "as it was", "changed": "port 8072", "new": "hello", "wordless": "words"}}
	got := compareBlocks(before, after, func(it *itemView) string {
		if it.ID == "forgotten" {
			return "forgotten since"
		}
		return ""
	})
	want := blockComparison{Same: 1, Changed: 1, Gone: 2, New: 1,
		Alike: []comparedItem{{Op: itemSame, ID: "same", Label: "label of same", Was: 1, Is: 3}, {Op: itemBoth, ID: "wordless", Label: "label of wordless", Was: 5, Is: 4}},
		Different: []comparedItem{
			{Op: itemChanged, Tone: "warning", ID: "changed", Label: "label of changed", Was: 2, Is: 2, Pieces: []diff.Piece{{Op: diff.Same, Text: "port "}, {Op: diff.Gone, Text: "8071"}, {Op: diff.New, Text: "8072"}}},
			{Op: itemGone, Tone: "danger", ID: "gone", Label: "label of gone", Was: 3, Text: "bye", Why: "did not fit into the block (budget)"},
			{Op: itemGone, Tone: "danger", ID: "forgotten", Label: "label of forgotten", Was: 4, Why: "forgotten since"},
			{Op: itemNew, Tone: "success", ID: "new", Label: "label of new", Is: 1, Text: "hello", Why: "the context held it already (duplicate)"}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestLabels(t *testing.T) {
	for _, tt := range []struct{ heading, text, want string }{
		{"", "", ""}, {"A heading", "text", "A heading"}, {"", " two\n lines ", "two lines"}, {"", strings.Repeat("é", 500), strings.Repeat("é", 119) + "…"},
	} {
		if got := shortLabel(tt.heading, tt.text); got != tt.want {
			t.Errorf("%q, %q: %q", tt.heading, tt.text, got)
		}
	}
	for _, tt := range []struct{ said, want string }{{" 0198 ", "0198"}, {"http://h/console/claims/0198#c-1", "0198"}, {"/console/claims/0198?next=/console/", "0198"}, {"", ""}} {
		if got := claimNamed(tt.said); got != tt.want {
			t.Errorf("%q: %q", tt.said, got)
		}
	}
}

// Every reason to cut has its words.
func TestCutWords(t *testing.T) {
	for _, r := range []ken.CutReason{ken.CutScope, ken.CutStatus, ken.CutTier, ken.CutTrust, ken.CutExpired, ken.CutFloor, ken.CutDuplicate, ken.CutBudget, ken.CutPool, ken.CutLate} {
		if !slices.ContainsFunc(cutLabels, func(w cutLabel) bool { return w.reason == r && w.says != "" }) {
			t.Errorf("%s has no words", r)
		}
	}
}
