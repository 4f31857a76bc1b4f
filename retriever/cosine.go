package retriever

import (
	"math"

	"github.com/kenlayer/ken/store"
)

// compare computes the cosine of every entry, so that none is behind for having
// been found by its words alone, and what its neighbours' cosines add.
func (r *Retriever) compare(pool []*entry, answers []answer) {
	for _, a := range answers {
		if a.name != LegVector || a.res.Query == nil {
			continue
		}
		refs := make([]store.Ref, len(pool))
		for i, e := range pool {
			refs[i] = e.ref
		}
		for i, c := range r.p.Cosines(a.res.Query, refs) {
			pool[i].rank.cosine = r.likeness(c)
		}
		if r.o.Weights.Context > 0 {
			r.compareNear(pool, a.res.Query)
		}
	}
}

// Likeness of the neighbours, against that of the record itself.
const (
	nearReach  = 2
	nearWeight = 1.4 // of Weights.Context
)

// compareNear adds to each entry the cosines of the records around it, damped
// like their words: see inContext.
func (r *Retriever) compareNear(pool []*entry, query []float32) {
	var refs []store.Ref
	var weights []float64
	ends := make([]int, len(pool))
	for i, e := range pool {
		before, after := r.p.Around(e.ref, nearReach)
		w := nearWeight * r.o.Weights.Context * math.Min(1, contextWords/math.Max(1, float64(r.p.Form(e.ref).Words)))
		for k, ref := range before {
			refs, weights = append(refs, ref), append(weights, w*math.Pow(contextDecay, float64(k)))
		}
		for k, ref := range after {
			refs, weights = append(refs, ref), append(weights, w*contextAfter*math.Pow(contextDecay, float64(k)))
		}
		ends[i] = len(refs)
	}
	from := 0
	cosines := r.p.Cosines(query, refs)
	for i, e := range pool {
		for k := from; k < ends[i]; k++ {
			e.rank.near += weights[k] * r.likeness(cosines[k])
		}
		from = ends[i]
	}
}

// likeness is a centred cosine as the built-in embedder would have it: other
// embedders' are usually larger or smaller, and weights and floor mean the same
// for all of them. It may exceed 1.
func (r *Retriever) likeness(cosine float64) float64 { return unit(cosine) * usualCosine / r.o.Usual }

// How far cosines are to be trusted in one turn.
const (
	trustAlways  = 0.1  // where the best record has every word of the question
	trustMissing = 0.75 // more, where it has none of them
	usualCosine  = 0.45 // of the turn's most like record; the built-in embedder's median is 0.40 to 0.59
)

// trustInCosines is what a cosine of 1 is worth beside a keyword score of 1. Words
// that nobody uses are what embeddings are for: the less of the question the
// records have word for word, the more their likeness counts; and a record that
// stands out by its likeness has found something. Chosen on the development
// sets, none of which one fixed weight serves as well: docs/decisions/0009.
func trustInCosines(pool []*entry) float64 {
	share, cosine := 0.0, 0.0
	for _, e := range pool {
		share = math.Max(share, e.rank.share)
		cosine = math.Max(cosine, e.rank.cosine)
	}
	out := cosine / usualCosine // how far it stands out
	return (trustAlways + trustMissing*(1-share)) * out * out
}
