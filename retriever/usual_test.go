package retriever_test

import (
	"math"
	"testing"

	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
)

// With an embedder that has cosines of half the size, the hits, their order and
// the floor are the same, once its usual cosine is known.
func TestUsualMakesEmbeddersAlike(t *testing.T) {
	legs := func(scale float64) []retriever.Source {
		return []retriever.Source{
			says(retriever.SourceKeyword, store.Hit{Ref: 1, Score: 9, Share: 0.4}, store.Hit{Ref: 2, Score: 4, Share: 0.2}),
			says(retriever.SourceVector, store.Hit{Ref: 2, Share: 0.6 * scale}, store.Hit{Ref: 3, Share: 0.5 * scale}, store.Hit{Ref: 4, Share: 0.1 * scale}),
		}
	}
	want := retrieve(t, records(5), retriever.Options{Sources: legs(1)})
	if len(want.Candidates) < 2 || len(want.Cut) == 0 {
		t.Fatalf("the floor should let some through and cut some: %+v", want)
	}
	got := retrieve(t, records(5), retriever.Options{Sources: legs(0.5), Usual: 0.45 / 2})
	equal(t, "kept", ids(got), ids(want))
	equal(t, "cut", cuts(got), cuts(want))
	for i := range want.Candidates {
		if a, b := got.Candidates[i].Fused, want.Candidates[i].Fused; math.Abs(a-b) > 1e-9 {
			t.Errorf("%s: score %v, want %v", want.Candidates[i].Row.ID, a, b)
		}
	}
	if math.Abs(got.Evidence-want.Evidence) > 1e-9 {
		t.Errorf("evidence %v, want %v", got.Evidence, want.Evidence)
	}
	if other := retrieve(t, records(5), retriever.Options{Sources: legs(0.5)}); math.Abs(other.Evidence-want.Evidence) < 0.01 {
		t.Error("without it, half the cosines are the same evidence: the test shows nothing")
	}
}
