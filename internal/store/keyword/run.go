package keyword

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	index "github.com/blevesearch/bleve_index_api"

	"github.com/kenlayer/ken/internal/topk"
)

// checkEvery is how many documents are scored between two looks at the context.
const checkEvery = 1024

// run walks the lists side by side, document by document, and keeps the best.
//
// It is MaxScore: once Limit documents are known, the most common terms
// together can't lift a document over the worst of them, so documents that have
// only those are not looked at, and their lists are read only for documents
// that the other terms brought up. The result is the same as scoring
// everything, but for documents that have only common terms; parts are always
// added in the same order, so scores are too.
func (p *plan) run(ctx context.Context, r index.IndexReader, q Query) (Result, error) {
	for _, l := range p.lists {
		if err := l.next(); err != nil {
			return Result{}, err
		}
	}
	hits, refused := topk.New[scored](q.Limit), topk.New[scored](q.Limit)
	p.offerRecent(q, hits, refused)
	seekTo := make(index.IndexInternalID, 8)
	essential := p.essential(floor(hits)) // the first list that can bring up a document
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

// offer takes a document if it is among the best so far, with its parts, which are in
// p.parts: at a place of their own, or that of the worst, which it replaces.
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

// essential is the number of lists, the most common terms, that bring up no
// document: they must not, or can't lift one to floor together.
func (p *plan) essential(floor float64) int {
	n := p.common
	for n < len(p.lists) && p.ends[n] < floor {
		n++
	}
	return n
}

// score adds up what doc gets from every list, and moves the essential ones
// past it. It gives up, with reaches false, when doc can't score floor.
func (p *plan) score(doc uint64, essential int, floor float64, seekTo index.IndexInternalID) (s scored, reaches bool, err error) {
	norm := 0.0 // one document has one
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
			add(i, p.worth(l, float64(max(l.here.Freq, 1)), norm)) // 0 in a list that is skimmed
		}
	}
	return s, s.score >= floor, nil
}

// shareTerms is how many terms, the most valuable ones, make up the whole that
// Share is a part of: a long message asks for more than any one document has.
const shareTerms = 8

// values is what each list is of the query's value, with its term.
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

// share is the part of the query's value that the terms of has make up.
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
		res.Hits = append(res.Hits, Hit{Ref: s.ref, Score: s.score, Share: p.share(s.has), Parts: p.kept[at : at+n : at+n]})
	}
	full := hits.Full()
	for _, s := range refused.Sorted() {
		if !full || s.Better(found[len(found)-1]) {
			res.Rejected = append(res.Rejected, s.ref)
		}
	}
	return res
}

// refOf is the ref of a document of the snapshot.
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
	has   uint64 // a bit for each of the plan's lists that the document is in
	slot  uint32 // where plan.kept has what each list adds; not of one that is only counted
}

// Better orders by score, then by ref.
func (a scored) Better(b scored) bool {
	return a.score > b.score || a.score == b.score && a.ref < b.ref
}

// top keeps the best documents.
type top = topk.Heap[scored]

// floor is the score below which a document is refused; 0 while there is room.
func floor(t *top) float64 {
	if !t.Full() {
		return 0
	}
	return t.Worst().score
}
