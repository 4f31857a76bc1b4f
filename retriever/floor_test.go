package retriever_test

import (
	"slices"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
)

// Other products always inject their best n. But a rank does not say whether
// even the best is relevant to the question.
func TestFloor(t *testing.T) {
	keyword := func(share float64) retriever.Source {
		return says(retriever.SourceKeyword, store.Hit{Ref: 1, Score: 9, Share: share}, store.Hit{Ref: 2, Score: 8, Share: share / 10})
	}
	vector := func(cosine float64) retriever.Source {
		return says(retriever.SourceVector, store.Hit{Ref: 1, Share: cosine}, store.Hit{Ref: 3, Share: cosine / 10})
	}
	for name, tt := range map[string]struct {
		legs     []retriever.Source
		floor    float64
		kept     []string
		evidence float64
	}{
		"words and likeness": {[]retriever.Source{keyword(0.6), vector(0.5)}, 0.15, []string{"1"}, 0.8 * 0.5},
		// A common word in a question on a foreign subject.
		"some words, no likeness":    {[]retriever.Source{keyword(0.3), vector(0.2)}, 0.15, nil, 0.5 * 0.2},
		"likeness, no words":         {[]retriever.Source{keyword(0), vector(0.5)}, 0.15, nil, 0.2 * 0.5},
		"all words, no likeness":     {[]retriever.Source{keyword(0.9), vector(0.01)}, 0.15, []string{"1"}, 0.2 * 0.9},
		"an unknown language":        {[]retriever.Source{keyword(0.5), says(retriever.SourceVector)}, 0.15, []string{"1"}, 0.7 * 0.35},
		"great likeness":             {[]retriever.Source{keyword(0), vector(0.9)}, 0.15, []string{"1"}, 0.2 * 0.9},
		"no vector leg":              {[]retriever.Source{keyword(0.6)}, 0.15, []string{"1"}, 0.8 * 0.35},
		"no vector leg, few":         {[]retriever.Source{keyword(0.2)}, 0.15, nil, 0.4 * 0.35},
		"no keyword leg":             {[]retriever.Source{vector(0.5)}, 0.15, []string{"1"}, 0.55 * 0.5},
		"no keyword leg, unlike":     {[]retriever.Source{vector(0.2)}, 0.15, nil, 0.55 * 0.2},
		"a floor of next to nothing": {[]retriever.Source{keyword(0.3), vector(0.1)}, 1e-9, []string{"1", "2"}, 0.2 * 0.3},
		"the default":                {[]retriever.Source{keyword(0.3), vector(0.2)}, 0, nil, 0.5 * 0.2},
		"switched off":               {[]retriever.Source{keyword(0.01), vector(0.01)}, -1, []string{"1", "2", "3"}, 0},
	} {
		for _, order := range []retriever.Order{retriever.OrderEvidence, retriever.OrderRRF} {
			t.Run(name+", "+string(order), func(t *testing.T) {
				got := retrieve(t, records(5), retriever.Options{Sources: tt.legs, Floor: tt.floor, Order: order})
				kept := map[string]bool{}
				for _, id := range ids(got) {
					kept[id] = true
				}
				want := map[string]bool{}
				for _, id := range tt.kept {
					want[id] = true
				}
				equal(t, "kept", kept, want)
				for id, why := range cuts(got) {
					if why != ken.CutFloor {
						t.Errorf("%s was cut for %s", id, why)
					}
				}
				if got.Evidence < tt.evidence-1e-9 || got.Evidence > tt.evidence+1e-9 {
					t.Errorf("evidence %v, want %v", got.Evidence, tt.evidence)
				}
			})
		}
	}
}

// Pinned claims don't need the floor, because they don't depend on the question.
func TestFloorSparesMemory(t *testing.T) {
	got := retrieve(t, records(2), retriever.Options{Floor: 1, Sources: []retriever.Source{says(retriever.SourcePinned, store.Hit{Ref: 1})}})
	if len(got.Candidates) != 1 || !got.Candidates[0].Memory {
		t.Errorf("%+v", got)
	}
}

// A piece of a file counts by the kind of file, unless the question asks for that kind.
func TestCodeComesFirstUnlessAnotherKindIsAskedFor(t *testing.T) {
	s := records(4)
	s.forms = map[store.Ref]analysis.Form{}
	for ref, origin := range map[store.Ref]analysis.Origin{1: analysis.OriginTest, 2: analysis.OriginChangelog, 3: analysis.OriginCode} {
		s.forms[ref] = analysis.Form{}.From(origin)
	}
	first := func(question string, w *retriever.Weights) string {
		got := retriever.New(s, retriever.Options{Sources: []retriever.Source{says(retriever.SourceKeyword, refs(1, 2, 3)...)}, Weights: w}).
			Retrieve(t.Context(), retriever.Turn{Signals: ken.Signals{Question: question}})
		return got.Candidates[0].Row.ID
	}
	off := retriever.DefaultWeights
	off.Origin = 0
	for _, tt := range []struct {
		question string
		weights  *retriever.Weights
		want     string
	}{
		{"how does the breaker recover?", nil, "3"},
		{"how does the test client recover?", nil, "3"},
		{"how is it tested that the breaker recovers?", nil, "1"},
		{"What changed in the breaker?", nil, "2"},
		{"since when does the breaker recover?", nil, "2"},
		{"how does the breaker recover?", &off, "1"},
	} {
		if got := first(tt.question, tt.weights); got != tt.want {
			t.Errorf("%q: first is %s, want %s", tt.question, got, tt.want)
		}
	}
}

// A type has the words of a question that a function answers. It counts less where the question
// asks how something happens, and as much where it asks for types.
func TestFunctionsAnswerHowSomethingHappens(t *testing.T) {
	for _, tt := range []struct {
		declared, code string // the source of each
		questions      map[string]string
	}{
		{"nats.go:1", "nats.go:9", map[string]string{
			"how does a subscription drain?":           "2",
			"What happens when a subscription drains?": "2",
			"what does Subscription do?":               "1",
			"where is the type of a subscription?":     "1",
			"how are the options of a drain named?":    "1",
		}},
		{"index.d.ts:1", "index.js:9", map[string]string{
			"how does a subscription drain?":       "2",
			"what does Subscription do?":           "2",
			"where is the type of a subscription?": "1",
		}},
	} {
		s := records(3)
		s.forms = map[store.Ref]analysis.Form{
			1: analysis.FileForm("repository", tt.declared, "type Subscription struct{}"),
			2: analysis.FileForm("repository", tt.code, "func (s *Subscription) Drain() {}"),
		}
		for question, want := range tt.questions {
			hits := []store.Hit{{Ref: 1, Score: 10, Share: 1}, {Ref: 2, Score: 8, Share: 1}}
			got := retriever.New(s, retriever.Options{Sources: []retriever.Source{says(retriever.SourceKeyword, hits...)}}).
				Retrieve(t.Context(), retriever.Turn{Signals: ken.Signals{Question: question}})
			if first := got.Candidates[0].Row.ID; first != want {
				t.Errorf("%s, %q: first is %s, want %s", tt.declared, question, first, want)
			}
		}
	}
}

// A piece of a file that answers brings no others along, and what else the turn knows brings
// no pieces of files along.
func TestPiecesOfFilesHaveAFloorOfTheirOwn(t *testing.T) {
	s := records(5)
	code := analysis.Form{}.From(analysis.OriginCode)
	s.forms = map[store.Ref]analysis.Form{1: code, 2: code, 3: code} // 4 is a fact
	hits := []store.Hit{{Ref: 1, Score: 9, Share: 1}, {Ref: 2, Score: 3, Share: 0.9}, {Ref: 3, Score: 8, Share: 0.1}, {Ref: 4, Score: 4, Share: 0.5}}
	got := retriever.New(s, retriever.Options{Sources: []retriever.Source{says(retriever.SourceKeyword, hits...)}}).Retrieve(t.Context(), retriever.Turn{})
	var ids []string
	for _, c := range got.Candidates {
		ids = append(ids, c.Row.ID)
	}
	if !slices.Equal(ids, []string{"1", "4"}) {
		t.Errorf("%v; 2 has less than 0.4 of the best score, and 3 too few of the words", ids)
	}
	hits = []store.Hit{{Ref: 4, Score: 9, Share: 1}, {Ref: 1, Score: 8, Share: 0.1}, {Ref: 2, Score: 8, Share: 0.14}}
	got = retriever.New(s, retriever.Options{Sources: []retriever.Source{says(retriever.SourceKeyword, hits...)}}).Retrieve(t.Context(), retriever.Turn{})
	if len(got.Candidates) != 1 || got.Candidates[0].Row.ID != "4" {
		t.Errorf("%d candidates; the pieces have too little evidence, whatever the fact has", len(got.Candidates))
	}
}
