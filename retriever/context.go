package retriever

import (
	"cmp"
	"math"
	"slices"

	"github.com/kenlayer/ken"
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

// inContext rescores a keyword source's hits by what their neighbours say, and adds
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
			return res // a source that does not say what each term adds
		}
		traits := p.Form(h.Ref).Traits
		if traits.Origin() != analysis.OriginNone {
			continue // a declaration or a section is about itself
		}
		before, after := p.Around(h.Ref, contextReach)
		asks := traits&analysis.Asks != 0
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

// compare computes the cosine of every entry, so that none is behind for having
// been found by its words alone, and what its neighbours' cosines add. It returns the part of
// the pool that has no neighbours, 0..1.
func (r *Retriever) compare(pool []*entry, answers []answer) (alone float64) {
	for _, a := range answers {
		if a.name != SourceVector || a.res.Query == nil {
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
			alone = r.compareNear(pool, a.res.Query)
		}
	}
	return alone
}

// Likeness of the neighbours, against that of the record itself.
const (
	nearReach  = 2
	nearWeight = 1.4 // of Weights.Context
)

// compareNear adds to each entry the cosines of the records around it, damped
// like their words: see inContext. Where there is no record, at the ends of a session
// and around what stands alone, the entry's own cosine stands in: it is the best guess,
// and without it likeness would count a third as much for single facts and functions
// as for what was said in a conversation.
//
// It returns the part of the pool that has no neighbours, 0..1.
func (r *Retriever) compareNear(pool []*entry, query []float32) (alone float64) {
	single := 0
	var refs []store.Ref
	var weights []float64
	ends := make([]int, len(pool))
	for i, e := range pool {
		var before, after []store.Ref
		if !e.ofFile() {
			before, after = r.p.Around(e.ref, nearReach)
		}
		w := nearWeight * r.o.Weights.Context * math.Min(1, contextWords/math.Max(1, float64(e.rank.form.Words)))
		for k, ref := range before {
			refs, weights = append(refs, ref), append(weights, w*nearDecay[k])
		}
		for k, ref := range after {
			refs, weights = append(refs, ref), append(weights, w*contextAfter*nearDecay[k])
		}
		if ends[i] = len(refs); len(before)+len(after) == 0 {
			single++
		}
		e.rank.alone = w * e.rank.cosine * (absent(before) + contextAfter*absent(after))
	}
	from := 0
	cosines := r.p.Cosines(query, refs)
	for i, e := range pool {
		for k := from; k < ends[i]; k++ {
			e.rank.near += weights[k] * r.likeness(cosines[k])
		}
		from = ends[i]
	}
	return float64(single) / math.Max(1, float64(len(pool)))
}

// nearDecay holds the weights of the neighbours of one side, the nearest first.
var nearDecay = [nearReach]float64{1, contextDecay}

// absent returns what the neighbours count that one side lacks.
func absent(neighbours []store.Ref) (sum float64) {
	for _, w := range nearDecay[len(neighbours):] {
		sum += w
	}
	return sum
}

// likeness is a centred cosine as the built-in embedder would have it: other
// embedders' are usually larger or smaller, and weights and floor mean the same
// for all of them. It may exceed 1.
func (r *Retriever) likeness(cosine float64) float64 { return unit(cosine) * usualCosine / r.o.Usual }

// How far cosines are to be trusted in one turn.
const (
	trustAlways  = 0.1  // where the best record has every word of the question
	trustMissing = 0.75 // more, where it has none of them; twice that, where no record has neighbours to complete its words
	usualCosine  = 0.45 // of the turn's most like record; the built-in embedder's median is 0.40 to 0.59
)

// trustInCosines is what a cosine of 1 is worth beside a keyword score of 1. Words
// that nobody uses are what embeddings are for: the less of the question the
// records have word for word, the more their likeness counts; and a record that
// stands out by its likeness has found something. Chosen on the development
// sets, none of which one fixed weight serves as well: docs/decisions/0009 and 0034.
// alone is the part of the pool that has no neighbours.
func trustInCosines(pool []*entry, alone float64) float64 {
	share, cosine := 0.0, 0.0
	for _, e := range pool {
		share = math.Max(share, e.rank.share)
		cosine = math.Max(cosine, e.rank.cosine)
	}
	out := cosine / usualCosine // how far it stands out
	return (trustAlways + trustMissing*(1+alone)*(1-share)) * out * out
}

// Floor of the playbooks, on the scale of evidence. Chosen on the collection in
// testdata, for turns with and without vectors: see TestPlaybooksFitTheirTurns. It
// is lower than a turn's, because a playbook is about one thing and says so in a
// few words, and what is found here competes with a handful of others only.
const (
	playbookFloor  = 0.1
	playbookShare  = 0.1 // of the question's words that it must be about
	playbookWords  = 1.5 // of the question's words that it must be about, counted, or else
	playbookLike   = 0.3 // so like the question it must be
	playbookNext   = 0.6 // of the best one's evidence, for a second one
	playbookCosine = 0.2 // what a playbook's likeness is taken to be where it is not known
)

// playbookMatch is a playbook that may fit the turn.
type playbookMatch struct {
	ref    store.Ref
	share  float64 // of the question's words that it is about
	words  float64 // how many of them
	cosine float64 // likeness to the question
	score  float64 // the evidence of both
}

// playbookMatches is what became of the playbooks of a turn.
type playbookMatches struct {
	fits     []playbookMatch             // best first
	near     []store.Ref                 // that are about some of it, and don't fit
	excluded map[store.Ref]ken.CutReason // all that don't
}

// match says which playbooks fit the turn. How much each of the question's words
// counts is the keyword source's to say, which knows how rare it is in all that is
// known; how like the question the playbook is, the vector source's.
func (r *Retriever) match(playbooks, found []answer) (m playbookMatches) {
	if len(playbooks) == 0 || len(playbooks[0].res.Hits) == 0 {
		return m
	}
	hits, value := playbooks[0].res.Hits, termValues(playbooks[0], found)
	m.excluded = make(map[store.Ref]ken.CutReason, len(hits))
	var list []playbookMatch
	for _, h := range hits {
		p := playbookMatch{ref: h.Ref}
		for i, part := range h.Parts[:min(len(h.Parts), len(value))] {
			p.share += value[i] * float64(part)
			p.words += float64(part)
		}
		p.share = math.Min(1, finite(p.share))
		switch {
		case r.o.Floor < 0 && p.share > 0, r.o.Floor >= 0 && p.share >= playbookShare:
			list = append(list, p)
		case r.o.Floor >= 0: // else whatever else finds it may have it
			m.excluded[h.Ref] = ken.CutFloor
		}
	}
	r.liken(list, found)
	slices.SortFunc(list, func(a, b playbookMatch) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.ref, b.ref)) })
	for _, p := range list {
		fit := r.o.Floor < 0 || p.fits() && p.score >= playbookNext*list[0].score
		if fit && len(m.fits) < r.o.limit(SourcePlaybooks) {
			m.fits = append(m.fits, p)
			continue
		}
		if m.excluded[p.ref] = ken.CutPool; !fit {
			m.excluded[p.ref] = ken.CutFloor
		}
		m.near = append(m.near, p.ref)
	}
	return m
}

// fits reports whether the playbook is above its floor.
func (p *playbookMatch) fits() bool {
	return p.score >= playbookFloor && (p.words >= playbookWords || p.cosine >= playbookLike)
}

// signals are what the receipt says of it.
func (p *playbookMatch) signals() map[string]float64 {
	return map[string]float64{"share": p.share, "cosine": p.cosine, "words": p.words}
}

// termValues is what each of the source's terms is of the question, in their order.
func termValues(playbooks answer, found []answer) []float64 {
	out := make([]float64, len(playbooks.res.Terms))
	for _, a := range found {
		if a.name != SourceKeyword || len(a.res.Terms) == 0 {
			continue
		}
		known := make(map[string]float64, len(a.res.Terms))
		for i, t := range a.res.Terms[:min(len(a.res.Terms), len(a.res.Values))] {
			known[t] = float64(a.res.Values[i])
		}
		for i, t := range playbooks.res.Terms {
			out[i] = known[t]
		}
		return out
	}
	for i := range out[:min(len(out), len(playbooks.res.Values))] {
		out[i] = float64(playbooks.res.Values[i])
	}
	return out
}

// liken computes the likeness of each playbook to the question, and what that and
// its words are evidence of. Where no likeness is to be had, words alone must do.
func (r *Retriever) liken(list []playbookMatch, found []answer) {
	for i := range list {
		list[i].cosine = playbookCosine
	}
	for _, a := range found {
		if a.name != SourceVector || a.res.Query == nil {
			continue
		}
		refs := make([]store.Ref, len(list))
		for i := range list {
			refs[i] = list[i].ref
		}
		for i, c := range r.p.Cosines(a.res.Query, refs) {
			if c != 0 { // else it has no vector yet
				list[i].cosine = r.likeness(c)
			}
		}
	}
	for i := range list {
		list[i].score = evidence(list[i].share, list[i].cosine)
	}
}
