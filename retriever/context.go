package retriever

import (
	"cmp"
	"math"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/store"
)

// How a word of the question counts for a record if only a neighbour in the same session or file
// has it. For example, in "When did you adopt him?" – "Last May, he was so small!" neither message
// alone says enough. The values were chosen on three long conversations, where they raise recall@10
// from 0.66 to 0.79. Small changes of them make little difference.
const (
	contextReach    = 3    // neighbours on each side
	contextDecay    = 0.75 // factor for each further neighbour
	contextAfter    = 0.85 // factor for neighbours after the record, relative to those before
	contextQuestion = 1.5  // factor for a question, as context of the answer right after it
	contextWords    = 150  // a longer record needs less context: its weight falls as 1/words
)

// inContext rescores a keyword source's hits by their neighbours, and adds neighbours as hits. For
// each term, a record gets the highest of its own value and the damped values of its neighbours.
// Only hits count as neighbours. It returns the best limit hits.
func inContext(p store.Projections, res store.Result, weight float64, limit int) store.Result {
	own := len(res.Hits)
	hits := slices.Clone(res.Hits)
	var at map[store.Ref]int // positions in hits; nil until a hit has a neighbour
	lend := func(from int, to store.Ref, weight float64) {
		if at == nil {
			at = make(map[store.Ref]int, 2*own)
			parts := make([]float32, 0, own*len(res.Values)) // for all hits, because there are a hundred in every turn
			for i := range hits {                            // the code below writes into them
				at[hits[i].Ref] = i
				begin := len(parts)
				parts = append(parts, hits[i].Parts...)
				hits[i].Parts = parts[begin:len(parts):len(parts)]
			}
		}
		form := p.Form(to)
		weight *= math.Min(1, contextWords/math.Max(1, float64(form.Words)))
		i, known := at[to]
		if !known {
			i = len(hits)
			at[to] = i
			hits = append(hits, store.Hit{Ref: to, Parts: make([]float32, len(res.Values))})
		}
		for t, part := range res.Hits[from].Parts {
			if lent := float32(weight) * part; lent > hits[i].Parts[t] {
				if hits[i].Parts[t] == 0 {
					hits[i].Share += weight * float64(res.Values[t])
				}
				hits[i].Parts[t] = lent
			}
		}
	}
	for n, h := range res.Hits[:own] {
		if len(h.Parts) != len(res.Values) {
			return res // the source does not report the value of each term
		}
		traits := p.Form(h.Ref).Traits
		if traits.Origin() != analysis.OriginNone {
			continue // a declaration or a section needs no context
		}
		before, after := p.Around(h.Ref, contextReach)
		asks := traits&analysis.Asks != 0
		w := weight
		for i, ref := range after { // seen from them, h comes before
			if i == 0 && asks {
				lend(n, ref, w*contextQuestion)
			} else {
				lend(n, ref, w)
			}
			w *= contextDecay
		}
		w = weight * contextAfter
		for _, ref := range before {
			lend(n, ref, w)
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

// compare sets the cosine of every entry, also of those that were found only by their words, and
// what the cosines of its neighbours add. It returns the part of the pool that has no neighbours,
// 0..1.
func (r *Retriever) compare(pool []*entry, answers []answer) (isolated float64) {
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
			isolated = r.compareNear(pool, a.res.Query)
		}
	}
	return isolated
}

// Weight of the neighbours' cosines, relative to the record's own.
const (
	nearReach  = 2
	nearWeight = 1.4 // factor on Weights.Context
)

// compareNear adds to each entry the cosines of the records around it, damped like their words: see
// inContext. At the ends of a session, and for records without neighbours, the entry's own cosine
// takes the place of the missing ones, as the best estimate. Without that, likeness would count a
// third as much for single facts and functions as for messages of a conversation.
//
// It returns the part of the pool that has no neighbours, 0..1.
func (r *Retriever) compareNear(pool []*entry, query []float32) (isolated float64) {
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
		e.rank.isolated = w * e.rank.cosine * (absent(before) + contextAfter*absent(after))
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

// nearDecay holds the weights of the neighbours on one side, the nearest first.
var nearDecay = [nearReach]float64{1, contextDecay}

// absent returns the total weight of the neighbours that are missing on one side.
func absent(neighbours []store.Ref) (sum float64) {
	for _, w := range nearDecay[len(neighbours):] {
		sum += w
	}
	return sum
}

// likeness converts a centred cosine to the scale of the built-in embedder. Other embedders'
// cosines are usually larger or smaller; with the conversion, weights and floor mean the same for
// all of them. The result may exceed 1.
func (r *Retriever) likeness(cosine float64) float64 { return unit(cosine) * usualCosine / r.o.Usual }

// How much cosines count in one turn.
const (
	trustAlways  = 0.1  // the minimum: the best record has every word of the question
	trustMissing = 0.75 // added if it has none of them; doubled if no record has neighbours with the missing words
	usualCosine  = 0.45 // the usual cosine of a turn's best record; the built-in embedder's median is 0.40 to 0.59
)

// trustInCosines returns how much a cosine of 1 counts relative to a keyword score of 1. Embeddings
// help where the records use other words than the question: the fewer of its words they have, the
// more cosines count. They also count more if the best cosine is unusually high. Chosen on the
// development sets, for which no fixed weight works as well: docs/decisions/0009 and 0034. isolated is
// the part of the pool that has no neighbours.
func trustInCosines(pool []*entry, isolated float64) float64 {
	share, cosine := 0.0, 0.0
	for _, e := range pool {
		share = math.Max(share, e.rank.share)
		cosine = math.Max(cosine, e.rank.cosine)
	}
	out := cosine / usualCosine // how unusual the best cosine is
	return (trustAlways + trustMissing*(1+isolated)*(1-share)) * out * out
}

// Floor for playbooks, on the scale of evidence. Chosen on the collection in testdata, for turns
// with and without vectors: see TestPlaybooksFitTheirTurns. It is lower than a turn's floor,
// because a playbook is about one subject, which it states in a few words, and competes with only a
// few others.
const (
	playbookFloor  = 0.1
	playbookShare  = 0.1  // minimum part of the question's words that it is about
	playbookWords  = 1.5  // minimum number of the question's words that it is about, unless
	playbookLike   = 0.38 // its likeness to the question is at least this
	playbookNext   = 0.6  // minimum evidence of a second playbook, as a part of the first one's
	playbookCosine = 0.2  // assumed likeness of a playbook if it is unknown
)

// playbookMatch is a playbook that may fit the turn.
type playbookMatch struct {
	ref    store.Ref
	share  float64 // part of the question's words that it is about
	words  float64 // number of these words
	cosine float64 // likeness to the question
	score  float64 // evidence computed from share and cosine
}

// playbookMatches says which of a turn's playbooks fit.
type playbookMatches struct {
	fits     []playbookMatch             // best first
	near     []store.Ref                 // about a part of the question, but not fitting
	excluded map[store.Ref]ken.CutReason // all that don't fit, with the reason
}

// match selects the playbooks that fit the turn. The keyword source provides the weight of each
// word of the question, because it knows how rare the word is in the whole store. The vector source
// provides the likeness of a playbook to the question.
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
		case r.o.Floor >= 0: // without a floor, other sources may still find it
			m.excluded[h.Ref] = ken.CutFloor
		}
	}
	r.setLikeness(list, found)
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

func (p *playbookMatch) signals() map[string]float64 {
	return map[string]float64{"share": p.share, "cosine": p.cosine, "words": p.words}
}

// termValues returns the weight of each of the playbook source's terms in the question, in the
// source's order.
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

// setLikeness sets each playbook's likeness to the question, and the evidence from its likeness and
// words. If the likeness is unknown, playbookCosine is assumed.
func (r *Retriever) setLikeness(list []playbookMatch, found []answer) {
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
			if c != 0 { // 0 means that it has no vector yet
				list[i].cosine = r.likeness(c)
			}
		}
	}
	for i := range list {
		list[i].score = evidence(list[i].share, list[i].cosine)
	}
}
