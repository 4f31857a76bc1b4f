package keyword

import (
	"math"
	"sync"

	index "github.com/blevesearch/bleve_index_api"
)

// tail holds the newest documents in memory until they are worth a batch: the
// engine builds and merges a segment a batch, which costs a lone document a
// hundred times what it costs in company. A search reads engine and tail as
// one index.
//
// A document in the tail, or removed in it, hides the engine's of the same ref.
type tail struct {
	// reached is the index's state when the tail began, then when it left: the
	// state that the engine has once the tail landed.
	reached state

	mu   sync.RWMutex // guards the rest
	docs []tailDoc    // in the order of Apply; superseded ones stay
	last map[uint32]tailEntry
	has  map[string][]uint32 // term → numbers of docs that have it, ascending
}

type tailDoc struct {
	ref uint32
	*words
}

// tailEntry is what the tail has of a ref.
type tailEntry struct {
	first int // len(docs) when the tail first heard of the ref
	doc   int // its document's number in docs; removed when there is none
}

const removed = -1

func newTail(reached state) *tail {
	return &tail{reached: reached, last: map[uint32]tailEntry{}, has: map[string][]uint32{}}
}

// size is how many documents and removals the tail holds.
func (t *tail) size() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.last)
}

// add takes a batch: documents by ref, nil for a removal.
func (t *tail) add(batch map[uint32]*words) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for ref, w := range batch {
		t.addOne(ref, w)
	}
}

func (t *tail) addOne(ref uint32, w *words) {
	e, known := t.last[ref]
	if !known {
		e.first = len(t.docs)
	}
	e.doc = removed
	if w != nil {
		e.doc = len(t.docs)
		t.docs = append(t.docs, tailDoc{ref, w})
		for term := range w.freqs {
			t.has[term] = append(t.has[term], uint32(e.doc))
		}
	} else if !known {
		// A removal takes a number too, so that a search under way knows whether
		// it came before or after.
		t.docs = append(t.docs, tailDoc{ref, &words{}})
	}
	t.last[ref] = e
}

// length is the length of a ref's document, and whether the tail decides about
// the ref at all; a removed one has length -1.
func (t *tail) length(ref uint32) (int, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	e, known := t.last[ref]
	if !known || e.doc == removed {
		return -1, known
	}
	return t.docs[e.doc].length, true
}

// mark is a moment in a tail's life.
type mark struct {
	t *tail
	n int
}

// hides reports whether the tail, as it was at the mark, had something newer of
// the ref than what is below it.
func (m mark) hides(ref uint32) bool {
	m.t.mu.RLock()
	defer m.t.mu.RUnlock()
	e, known := m.t.last[ref]
	return known && e.first < m.n
}

// match is a document of a tail that has some of a query's terms.
type match struct {
	ref   uint32
	freqs []int // by term
	words float64
}

// look finds the documents that have any of the terms, counts how many have
// each, and marks the moment.
func (t *tail) look(terms []string) (found []match, counts []uint64, at mark) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	counts = make([]uint64, len(terms))
	where := map[uint32]int{} // number in docs → place in found
	for i, term := range terms {
		for _, n := range t.has[term] {
			d := t.docs[n]
			if t.last[d.ref].doc != int(n) {
				continue // superseded
			}
			counts[i]++
			k, ok := where[n]
			if !ok {
				k = len(found)
				where[n] = k
				found = append(found, match{ref: d.ref, freqs: make([]int, len(terms)), words: float64(d.length)})
			}
			found[k].freqs[i] = d.freqs[term].Frequency()
		}
	}
	return found, counts, mark{t, len(t.docs)}
}

// fill writes the tail into a batch.
func (t *tail) fill(b *index.Batch) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for ref, e := range t.last {
		if e.doc == removed {
			b.Delete(refID(ref))
		} else {
			b.Update(t.docs[e.doc].document(ref))
		}
	}
}

// recent is what the tails say to a query, as of one moment.
type recent struct {
	state  state
	found  []match
	counts []uint64 // documents by term
	marks  []mark
}

// recent looks into the tails. A document that was replaced there is counted
// with both its versions until the newer one lands in the engine.
func (x *Index) recent(terms []string) recent {
	ts := x.tails.Load()
	out := recent{state: *x.applied.Load(), counts: make([]uint64, len(terms))}
	for _, t := range []*tail{ts.filling, ts.leaving} { // newest first
		if t == nil {
			continue
		}
		found, counts, at := t.look(terms)
		for _, m := range found {
			if !out.hides(m.ref) {
				out.found = append(out.found, m)
			}
		}
		for i, n := range counts {
			out.counts[i] += n
		}
		out.marks = append(out.marks, at)
	}
	return out
}

// hides reports whether a tail has something newer of ref.
func (r *recent) hides(ref uint32) bool {
	for _, m := range r.marks {
		if m.hides(ref) {
			return true
		}
	}
	return false
}

// offerRecent scores what the tails found, as it will score in the engine.
func (p *plan) offerRecent(q Query, hits, refused *top) {
	for _, m := range p.recent.found {
		norm := float64(float32(1 / math.Sqrt(m.words)))
		s, broughtUp := scored{ref: m.ref}, false
		clear(p.parts)
		for i := len(p.lists) - 1; i >= 0; i-- {
			l := p.lists[i]
			tf := m.freqs[l.number]
			if tf == 0 {
				continue
			}
			if i < p.common {
				tf = 1
			} else {
				broughtUp = true
			}
			worth := p.worth(l, float64(tf), norm)
			s.score += worth
			s.has |= 1 << i
			p.parts[i] = float32(worth)
		}
		switch {
		case !broughtUp: // it has only common and dropped terms
		case q.Accept != nil && !q.Accept(m.ref):
			refused.Offer(s)
		default:
			p.offer(hits, s)
		}
	}
}
