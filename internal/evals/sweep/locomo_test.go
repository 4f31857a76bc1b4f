package sweep

import (
	"testing"

	"github.com/kenlayer/ken/internal/evaldata"
	"github.com/kenlayer/ken/internal/evals/dataset"
	"github.com/kenlayer/ken/internal/race"
)

// Three real conversations end to end. The bounds are wide: they catch a path
// that measures something else, not a change of ranking.
func TestLoCoMo(t *testing.T) {
	race.SkipLong(t)
	set, err := dataset.Open(t.Context(), evaldata.Dir(t, "locomo-dev"), dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := set.Add(dataset.SmallTalk()...); err != nil {
		t.Fatal(err)
	}
	model := evaldata.Dir(t, "model2vec-tiny")
	o := Options{Data: set, Modes: []Mode{ModeKeyword, ModeVector, ModeHybrid}, Seed: 1, Temp: t.TempDir(), Root: t.TempDir(),
		Set: []Setting{{"knowledge.embed_provider", "static"}, {"knowledge.embed_path", model}}}
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Corpus != 1729 || r.Owners != 3 || r.Queries != 696 || r.N != len(set.Queries) || r.Refused != 0 || len(r.Notes) > 0 {
		t.Errorf("%d records, %d owners, %d questions of %d, %d refused, notes %q", r.Corpus, r.Owners, r.Queries, r.N, r.Refused, r.Notes)
	}
	for _, tt := range []struct {
		mode, measure string
		low, high     float64
	}{
		{"keyword", "recall@10", .6, .9},
		{"keyword", "hit@5", .55, .9},
		{"keyword", "block_recall", .6, .9},
		{"keyword", "abstain", .3, 1},
		{"keyword", "silenced", 0, .1},
		{"vector", "recall@10", .05, .3}, // a very coarse model
		{"hybrid", "recall@10", .55, .9},
	} {
		s := r.Modes[tt.mode]
		ci := s.CI[tt.measure]
		if v := s.Values[tt.measure]; v < tt.low || v > tt.high || ci[0] > v || ci[1] < v || ci[1]-ci[0] > .35 {
			t.Errorf("%s %s is %.3f %.3f, want %.2f to %.2f", tt.mode, tt.measure, v, ci, tt.low, tt.high)
		}
	}
	if c := r.ByCategory["2"].Modes["keyword"]; r.ByCategory["2"].N != 119 || c.Values["recall@10"] < .5 {
		t.Errorf("temporal questions: %d, %v", r.ByCategory["2"].N, c.Values)
	}
	if c := r.ByCategory[dataset.CategorySmallTalk]; c.N != len(dataset.SmallTalk()) {
		t.Errorf("small talk: %d", c.N)
	}
}
