package retriever

import (
	"cmp"
	"math"
	"slices"

	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/store"
)

// How a word of the question counts for a record that has it only near by, in
// the session or file that it comes from. "When did you adopt him?" – "Last
// May, he was so small!": neither turn says enough alone. The figures were
// chosen on three long conversations, where recall@10 rises from 0.66 to 0.79,
// and move little around their place.
const (
	contextReach    = 3    // records to each side
	contextDecay    = 0.75 // of the weight, with each further record
	contextAfter    = 0.85 // what comes after counts so much of what comes before
	contextQuestion = 1.5  // a question counts so much more for the answer right after it
	contextWords    = 150  // a record of more words has its context in itself: it counts less, as 1/words
)

// inContext rescores a keyword leg's hits by what their neighbours say, and adds
// the neighbours: a term is worth to a record the most of what it is worth there
// and, damped, near by. It takes the hits for all that is known; a neighbour
// that is none of them says nothing. The best limit are returned.
func inContext(p store.Projections, res store.Result, weight float64, limit int) store.Result {
	at := make(map[store.Ref]int, 2*len(res.Hits))
	for i, h := range res.Hits {
		at[h.Ref] = i
	}
	own := len(res.Hits)
	hits := slices.Clone(res.Hits)
	parts := make([]float32, 0, own*len(res.Values)) // of all hits: there are a hundred in every turn
	for i := range hits {                            // what follows writes into them
		from := len(parts)
		parts = append(parts, hits[i].Parts...)
		hits[i].Parts = parts[from:len(parts):len(parts)]
	}
	lend := func(from, to store.Ref, weight float64) {
		form := p.Form(to)
		weight *= math.Min(1, contextWords/math.Max(1, float64(form.Words)))
		i, known := at[to]
		if !known {
			i = len(hits)
			at[to] = i
			hits = append(hits, store.Hit{Ref: to, Parts: make([]float32, len(res.Values))})
		}
		for t, part := range res.Hits[at[from]].Parts {
			if lent := float32(weight) * part; lent > hits[i].Parts[t] {
				if hits[i].Parts[t] == 0 {
					hits[i].Share += weight * float64(res.Values[t])
				}
				hits[i].Parts[t] = lent
			}
		}
	}
	for _, h := range res.Hits[:own] {
		if len(h.Parts) != len(res.Values) {
			return res // a leg that does not say what each term adds
		}
		before, after := p.Around(h.Ref, contextReach)
		asks := p.Form(h.Ref).Traits&analysis.Asks != 0
		w := weight
		for i, ref := range after { // for them, h comes before
			if i == 0 && asks {
				lend(h.Ref, ref, w*contextQuestion)
			} else {
				lend(h.Ref, ref, w)
			}
			w *= contextDecay
		}
		w = weight * contextAfter
		for _, ref := range before {
			lend(h.Ref, ref, w)
			w *= contextDecay
		}
	}
	for i := range hits {
		h := &hits[i]
		h.Score = 0
		for _, part := range h.Parts {
			h.Score += float64(part)
		}
		h.Share = math.Min(1, h.Share)
	}
	slices.SortFunc(hits, func(a, b store.Hit) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Ref, b.Ref)) })
	res.Hits = hits[:min(len(hits), limit)]
	return res
}
