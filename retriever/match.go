package retriever

import (
	"cmp"
	"math"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

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

// method is a playbook that may fit the turn.
type method struct {
	ref    store.Ref
	share  float64 // of the question's words that it is about
	words  float64 // how many of them
	cosine float64 // likeness to the question
	score  float64 // the evidence of both
}

// matched is what became of the playbooks of a turn.
type matched struct {
	fits   []method                    // best first
	near   []store.Ref                 // that are about some of it, and don't fit
	barred map[store.Ref]ken.CutReason // all that don't
}

// match says which playbooks fit the turn. How much each of the question's words
// counts is the keyword leg's to say, which knows how rare it is in all that is
// known; how like the question the playbook is, the vector leg's.
func (r *Retriever) match(playbooks, found []answer) (m matched) {
	if len(playbooks) == 0 || len(playbooks[0].res.Hits) == 0 {
		return m
	}
	hits, value := playbooks[0].res.Hits, termValues(playbooks[0], found)
	m.barred = make(map[store.Ref]ken.CutReason, len(hits))
	var list []method
	for _, h := range hits {
		p := method{ref: h.Ref}
		for i, part := range h.Parts[:min(len(h.Parts), len(value))] {
			p.share += value[i] * float64(part)
			p.words += float64(part)
		}
		p.share = math.Min(1, finite(p.share))
		switch {
		case r.o.Floor < 0 && p.share > 0, r.o.Floor >= 0 && p.share >= playbookShare:
			list = append(list, p)
		case r.o.Floor >= 0: // else whatever else finds it may have it
			m.barred[h.Ref] = ken.CutFloor
		}
	}
	r.liken(list, found)
	slices.SortFunc(list, func(a, b method) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.ref, b.ref)) })
	for _, p := range list {
		fit := r.o.Floor < 0 || p.fits() && p.score >= playbookNext*list[0].score
		if fit && len(m.fits) < r.o.limit(LegPlaybooks) {
			m.fits = append(m.fits, p)
			continue
		}
		if m.barred[p.ref] = ken.CutPool; !fit {
			m.barred[p.ref] = ken.CutFloor
		}
		m.near = append(m.near, p.ref)
	}
	return m
}

// fits reports whether the playbook is above its floor.
func (p *method) fits() bool {
	return p.score >= playbookFloor && (p.words >= playbookWords || p.cosine >= playbookLike)
}

// signals are what the receipt says of it.
func (p *method) signals() map[string]float64 {
	return map[string]float64{"share": p.share, "cosine": p.cosine, "words": p.words}
}

// termValues is what each of the leg's terms is of the question, in their order.
func termValues(playbooks answer, found []answer) []float64 {
	out := make([]float64, len(playbooks.res.Terms))
	for _, a := range found {
		if a.name != LegKeyword || len(a.res.Terms) == 0 {
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
func (r *Retriever) liken(list []method, found []answer) {
	for i := range list {
		list[i].cosine = playbookCosine
	}
	for _, a := range found {
		if a.name != LegVector || a.res.Query == nil {
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
