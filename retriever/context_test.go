package retriever_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
)

// indexed returns a shelf with a keyword index that finds these hits for every question.
type indexed struct {
	shelf
	hits   []store.Hit
	values []float32
}

func (x indexed) Keyword(_ context.Context, _ string, _ *ken.Filter, limit int) (store.Result, error) {
	return store.Result{Hits: x.hits[:min(limit, len(x.hits))], Values: x.values}, nil
}

func inContext(t *testing.T, x indexed, weight float64) map[string]ken.LegScore {
	t.Helper()
	w := retriever.Weights{Context: weight}
	got := retriever.New(x, retriever.Options{Sources: []retriever.Source{retriever.Keyword(x)}, Weights: &w, Floor: -1}).
		Retrieve(t.Context(), retriever.Turn{Signals: ken.Signals{Keywords: []string{"adopt", "dog"}}})
	scores := map[string]ken.LegScore{}
	for _, c := range got.Candidates {
		scores[c.Row.ID] = c.Sources[retriever.SourceKeyword]
	}
	return scores
}

// conversation has four turns. The second asks with both words of the query,
// the third answers with none of them, and the fourth has one.
func conversation() indexed {
	s := records(6)
	s.stream = []store.Ref{0, 1, 2, 3}
	s.forms = map[store.Ref]analysis.Form{0: {Words: 5}, 1: {Words: 5, Traits: analysis.Asks}, 2: {Words: 5}, 3: {Words: 5}}
	return indexed{s, []store.Hit{
		{Ref: 1, Score: 5, Share: 1, Parts: []float32{3, 2}},
		{Ref: 3, Score: 2, Share: 0.4, Parts: []float32{0, 2}},
		{Ref: 5, Score: 2, Share: 0.4, Parts: []float32{0, 2}}, // of no session
	}, []float32{0.6, 0.4}}
}

// A layer that ranks each turn by its own words alone can't find an answer that
// repeats none of the question's.
func TestAnswersAreFoundBesideTheirQuestion(t *testing.T) {
	got := inContext(t, conversation(), 0.5)
	for id, want := range map[string]ken.LegScore{
		"1": {Rank: 1, Score: 5},              // its own words count in full
		"2": {Rank: 2, Score: 0.5 * 1.5 * 5},  // right behind a question
		"3": {Rank: 3, Score: 0.5*0.75*3 + 2}, // two turns behind; of its own word, its own counts
		"0": {Rank: 4, Score: 0.5 * 0.85 * 5}, // before it
		"5": {Rank: 5, Score: 2},              // isolated
	} {
		if g := got[id]; g.Rank != want.Rank || g.Score < want.Score-1e-6 || g.Score > want.Score+1e-6 {
			t.Errorf("%s: %+v, want %+v", id, g, want)
		}
	}
	if got := inContext(t, conversation(), 0); len(got) != 3 {
		t.Errorf("switched off, it finds %v", got)
	}
}

func TestLongRecordsHaveTheirContextInThemselves(t *testing.T) {
	x := conversation()
	x.forms[2] = analysis.Form{Words: 1500}
	if got := inContext(t, x, 0.5)["2"].Score; got > 0.5*1.5*5/9 {
		t.Errorf("a long neighbour scores %v", got)
	}
}

// Neighbours pass the filter like all other records.
func TestContextDoesNotLeak(t *testing.T) {
	x := conversation()
	row := x.rows[2]
	row.Facts.Status = ken.StatusDisputed
	x.rows[2] = row
	delete(x.rows, 0)
	got := inContext(t, x, 0.5)
	if _, leaked := got["2"]; leaked || len(got) != 3 {
		t.Errorf("%v", got)
	}
}

func TestManner(t *testing.T) {
	s := records(4)
	weights := retriever.Weights{Speaker: 0.1, When: 0.2, Self: 0.3, Instruction: 0.4, Question: 0.05}
	for name, tt := range map[string]struct {
		signals ken.Signals
		form    analysis.Form
		want    float64
	}{
		"nothing":           {ken.Signals{Question: "what is it"}, analysis.Form{Words: 9}, 0},
		"speaker":           {ken.Signals{Keywords: []string{"caroline"}}, analysis.Form{Speaker: analysis.Name("Caroline")}, 0.1},
		"another speaker":   {ken.Signals{Keywords: []string{"caroline"}}, analysis.Form{Speaker: analysis.Name("Mel")}, 0},
		"when":              {ken.Signals{Question: "When did she go?"}, analysis.Form{Traits: analysis.Dated}, 0.2},
		"a date, not asked": {ken.Signals{Question: "Where did she go?"}, analysis.Form{Traits: analysis.Dated}, 0},
		"self":              {ken.Signals{Question: "What do I like?"}, analysis.Form{Traits: analysis.FirstPerson | analysis.FirstPersonOften}, 0.3},
		"of others":         {ken.Signals{Question: "What does she like?"}, analysis.Form{Traits: analysis.FirstPerson}, 0},
		"instruction":       {ken.Signals{}, analysis.Form{Traits: analysis.Instructs}, 0.4},
		"short question":    {ken.Signals{}, analysis.Form{Words: 8, Traits: analysis.Asks}, -0.05},
		"long question":     {ken.Signals{}, analysis.Form{Words: 80, Traits: analysis.Asks}, 0},
	} {
		s.forms = map[store.Ref]analysis.Form{1: tt.form}
		got := retriever.New(s, retriever.Options{Sources: []retriever.Source{says(retriever.SourceKeyword, refs(1)...)}, Weights: &weights}).
			Retrieve(t.Context(), retriever.Turn{Signals: tt.signals})
		c := got.Candidates[0]
		if m := c.Signals["manner"]; m < tt.want-1e-9 || m > tt.want+1e-9 {
			t.Errorf("%s: %v, want %v", name, m, tt.want)
		}
		if want := 1 + tt.want; c.Fused < want-1e-9 || c.Fused > want+1e-9 {
			t.Errorf("%s: score %v, want %v", name, c.Fused, want)
		}
	}
}

// alike returns a shelf in which every record is equally similar to the question.
type alike struct{ shelf }

func (alike) Cosines(_ []float32, refs []store.Ref) []float64 {
	return slices.Repeat([]float64{0.4}, len(refs))
}

// A fact or a function has no neighbours that add to its likeness. It must not count for less
// than what was said in a conversation, in its middle or at its end.
func TestLikenessCountsTheSameForWhatStandsAlone(t *testing.T) {
	s := records(7)
	s.stream = []store.Ref{0, 1, 2, 3, 4}
	got := likenesses(t, s, 0, 1, 2, 6)
	for id, likeness := range got {
		if math.Abs(likeness-got["1"]) > 1e-9 || likeness <= 0 {
			t.Errorf("record %s has a likeness of %v, record 1 of %v", id, likeness, got["1"])
		}
	}
}

// If no record has neighbours, their words are not counted, and likeness has more weight.
func TestLikenessCountsForMoreWhereAllStandAlone(t *testing.T) {
	s := records(7)
	s.stream = []store.Ref{0, 1, 2, 3, 4}
	if isolated, together := likenesses(t, s, 5, 6)["5"], likenesses(t, s, 0, 1)["1"]; isolated < 1.5*together || isolated > 2*together {
		t.Errorf("likeness %v where all stand alone, %v in a conversation", isolated, together)
	}
}

// likenesses returns what likeness is worth to records that are found by it alone, by id.
func likenesses(t *testing.T, s shelf, found ...store.Ref) map[string]float64 {
	t.Helper()
	hits := refs(found...)
	vector := leg{retriever.SourceVector, func(context.Context, *retriever.Query) (store.Result, error) {
		return store.Result{Hits: hits, Query: []float32{1}}, nil
	}}
	got := retriever.New(alike{s}, retriever.Options{Sources: []retriever.Source{vector}, Weights: &retriever.Weights{Context: 0.5, Cosine: 1}, Floor: -1}).
		Retrieve(t.Context(), retriever.Turn{})
	if len(got.Candidates) != len(found) {
		t.Fatalf("%d candidates", len(got.Candidates))
	}
	out := map[string]float64{}
	for _, c := range got.Candidates {
		out[c.Row.ID] = c.Signals["likeness"]
	}
	return out
}
