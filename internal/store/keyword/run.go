package keyword

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	index "github.com/blevesearch/bleve_index_api"

	"github.com/kenlayer/ken/internal/topk"
	"github.com/kenlayer/ken/store"
)

// checkEvery is the number of documents that are scored between two checks of the
// context.
const checkEvery = 1024

// run walks the lists in parallel, document by document, and keeps the best.
//
// It implements MaxScore: once Limit documents are known, the most common terms
// together can't lift a document above the worst of them. So documents that have only
// those terms are skipped, and their lists are read only for documents that other terms
// selected. The result is the same as scoring everything, except for documents that
// have only common terms. Parts are always added in the same order, so that scores are
// reproducible.
func (p *plan) run(ctx context.Context, r index.IndexReader, q Query) (Result, error) {
	for _, l := range p.lists {
		if err := l.next(); err != nil {
			return Result{}, err
		}
	}
	most := uint64(0) // hits
	for _, l := range p.lists {
		most += l.count
	}
	p.kept = make([]float32, 0, int(min(most, uint64(q.Limit), 256))*len(p.lists))
	hits, refused := topk.New[scored](q.Limit), topk.New[scored](q.Limit)
	p.offerRecent(q, hits, refused)
	seekTo := make(index.IndexInternalID, 8)
	essential := p.essential(floor(hits)) // the first list that can select a document
	for looked := 0; ; looked++ {
		if looked%checkEvery == 0 && ctx.Err() != nil {
			return Result{}, ctx.Err()
		}
		doc := uint64(done)
		for _, l := range p.lists[essential:] {
			doc = min(doc, l.at)
		}
		if doc == done {
			break
		}
		found, reaches, err := p.score(doc, essential, floor(hits), seekTo)
		if err != nil {
			return Result{}, err
		}
		if !reaches {
			continue
		}
		if found.ref, err = p.held.refOf(r, doc, seekTo); err != nil {
			return Result{}, err
		}
		if p.recent.hides(found.ref) {
			continue
		}
		if q.Accept != nil && !q.Accept(found.ref) {
			refused.Offer(found)
			continue
		}
		if p.offer(hits, found) {
			essential = p.essential(floor(hits))
		}
	}
	p.keep()
	return p.result(hits, refused), nil
}

// offer adds a document to hits if it is among the best so far. Its parts, which are in
// p.parts, are stored in a new slot, or in the slot of the document that it replaces.
func (p *plan) offer(hits *top, s scored) bool {
	n := len(p.lists)
	if !hits.Full() {
		s.slot = uint32(len(p.kept) / n)
		p.kept = append(p.kept, p.parts...)
		return hits.Offer(s)
	}
	worst := hits.Worst()
	if !s.Better(worst) {
		return false
	}
	s.slot = worst.slot
	copy(p.kept[int(s.slot)*n:], p.parts)
	return hits.Offer(s)
}

// essential returns how many of the most common terms select no document, either by
// choice or because they can't reach floor together.
func (p *plan) essential(floor float64) int {
	n := p.common
	for n < len(p.lists) && p.ends[n] < floor {
		n++
	}
	return n
}

// score adds up the score of doc over all lists, and moves the essential lists past it.
// It returns early with reaches false when doc can't reach floor.
func (p *plan) score(doc uint64, essential int, floor float64, seekTo index.IndexInternalID) (s scored, reaches bool, err error) {
	norm := 0.0 // the same in all lists
	clear(p.parts)
	add := func(i int, worth float64) {
		s.score += worth
		s.has |= 1 << i
		p.parts[i] = float32(worth)
	}
	for i := len(p.lists) - 1; i >= essential; i-- {
		if l := p.lists[i]; l.at == doc {
			norm = l.here.Norm
			add(i, p.worth(l, float64(l.here.Freq), norm))
			if err := l.next(); err != nil {
				return s, false, err
			}
		}
	}
	for i := essential - 1; i >= 0; i-- {
		if s.score+p.ends[i] < floor {
			return s, false, nil
		}
		l := p.lists[i]
		if l.at < doc {
			if err := l.seek(doc, seekTo); err != nil {
				return s, false, err
			}
		}
		if l.at == doc {
			add(i, p.worth(l, float64(max(l.here.Freq, 1)), norm)) // Freq is 0 in a skimmed list
		}
	}
	return s, s.score >= floor, nil
}

// shareTerms is how many terms, the most valuable ones, make up a Share of 1: a long
// message contains more terms than any document has.
const shareTerms = 8

// values returns each list's contribution to Share, with its term.
func (p *plan) values() (values []float32, terms []string) {
	whole := 0.0
	for _, l := range p.lists[max(0, len(p.lists)-shareTerms):] { // the rarest are last
		whole += l.value
	}
	for _, l := range p.lists {
		values, terms = append(values, float32(l.value/whole)), append(terms, l.term)
	}
	return values, terms
}

// share returns the sum of the contributions of the terms in has, at most 1.
func (p *plan) share(has uint64) float64 {
	part := 0.0
	for i, v := range p.res.Values {
		if has&(1<<i) != 0 {
			part += float64(v)
		}
	}
	return min(1, part)
}

func (p *plan) result(hits, refused *top) Result {
	res := p.res
	found := hits.Sorted()
	res.Hits = slices.Grow(res.Hits, len(found))
	n := len(p.lists)
	for _, s := range found {
		at := int(s.slot) * n
		res.Hits = append(res.Hits, store.Hit{Ref: s.ref, Score: s.score, Share: p.share(s.has), Parts: p.kept[at : at+n : at+n]})
	}
	full := hits.Full()
	for _, s := range refused.Sorted() {
		if !full || s.Better(found[len(found)-1]) {
			res.Rejected = append(res.Rejected, s.ref)
		}
	}
	return res
}

// refOf returns the ref of a document of the snapshot.
func refOf(r index.IndexReader, id index.IndexInternalID) (uint32, error) {
	name, err := r.ExternalID(id)
	if err != nil {
		return 0, err
	}
	if len(name) != 4 {
		return 0, fmt.Errorf("a document is called %q", name)
	}
	return binary.BigEndian.Uint32([]byte(name)), nil
}

// scored is a document that may become a hit.
type scored struct {
	ref   uint32
	score float64
	has   uint64 // a bit for each of the plan's lists that contain the document
	slot  uint32 // where its parts are in plan.kept; unused for documents that are only counted
}

// Better orders by score, then by ref.
func (a scored) Better(b scored) bool {
	return a.score > b.score || a.score == b.score && a.ref < b.ref
}

// top keeps the best documents.
type top = topk.Heap[scored]

// floor returns the score below which a document is rejected; 0 until t is full.
func floor(t *top) float64 {
	if !t.Full() {
		return 0
	}
	return t.Worst().score
}
