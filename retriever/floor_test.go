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
	keyword := says(retriever.LegKeyword, store.Hit{Ref: 1, Score: 9, Share: 0.5}, store.Hit{Ref: 2, Score: 8, Share: 0.17},
		store.Hit{Ref: 3, Score: 7, Share: 0.05})
	vector := says(retriever.LegVector, store.Hit{Ref: 3, Score: 0.9, Share: 0.45}, store.Hit{Ref: 4, Score: 0.8, Share: 0.44})
	for name, tt := range map[string]struct {
		floor retriever.Floor
		kept  []string
	}{
		"default: share or cosine suffices": {retriever.Floor{}, []string{"1", "3"}},
		"only share set":                    {retriever.Floor{Share: 0.6}, []string{"3"}},
		"only cosine set":                   {retriever.Floor{Cosine: 0.9}, []string{"1"}},
		"cosine never suffices":             {retriever.Floor{Share: 0.17, Cosine: -1}, []string{"1", "2"}},
		"share dropped nothing":             {retriever.Floor{Share: -1}, []string{"1", "2", "3", "4"}},
		"both switched off":                 {retriever.Floor{Share: -1, Cosine: -1}, []string{"1", "2", "3", "4"}},
		"nothing is good enough":            {retriever.Floor{Share: 0.9, Cosine: 0.9}, nil},
	} {
		for _, order := range []retriever.Order{retriever.OrderEvidence, retriever.OrderRRF} {
			t.Run(name+", "+string(order), func(t *testing.T) {
				got := retrieve(t, records(5), retriever.Options{Legs: []retriever.Leg{keyword, vector}, Floor: tt.floor, Order: order})
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
				equal(t, "kept and cut", len(got.Candidates)+len(got.Cut), 4)
			})
		}
	}
}

// What is pinned is there whatever the floor says: nobody asked for it by words.
func TestFloorSparesMemory(t *testing.T) {
	got := retrieve(t, records(2), retriever.Options{Floor: retriever.Floor{Share: 1, Cosine: 1},
		Legs: []retriever.Leg{says(retriever.LegPinned, store.Hit{Ref: 1})}})
	if len(got.Candidates) != 1 || !got.Candidates[0].Memory {
		t.Errorf("%+v", got)
	}
}
