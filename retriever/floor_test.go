package retriever_test

import (
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
)

// Rival layers always inject their best n: a rank says nothing about whether
// even the best bears on the question.
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

// What is pinned is there whatever the floor says: nobody asked for it by words.
func TestFloorSparesMemory(t *testing.T) {
	got := retrieve(t, records(2), retriever.Options{Floor: 1, Sources: []retriever.Source{says(retriever.SourcePinned, store.Hit{Ref: 1})}})
	if len(got.Candidates) != 1 || !got.Candidates[0].Memory {
		t.Errorf("%+v", got)
	}
}
