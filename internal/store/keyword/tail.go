package keyword

import (
	"math"
	"sync"

	index "github.com/blevesearch/bleve_index_api"
)

// tail holds the newest documents in memory until there are enough for a batch. The
// engine builds and merges a segment for each batch, so a single document costs a
// hundred times as much as one in a large batch. A search reads engine and tail as one
// index.
//
// A document or removal in the tail hides the engine's document with the same ref.
type tail struct {
	// reached is the index's state when the tail began, and later when it left: the
	// state of the engine once the tail has landed.
	reached state

	mu   sync.RWMutex // guards the rest
	docs []tailDoc    // in the order of Apply; replaced ones stay
	last map[uint32]tailEntry
	has  map[string][]uint32 // term → numbers of docs that have it, ascending
}

type tailDoc struct {
	ref uint32
	*words
}

// tailEntry is the state of a ref in the tail.
type tailEntry struct {
	first int // len(docs) when the ref was first added
	doc   int // the document's number in docs; removed if it was removed
}

const removed = -1

func newTail(reached state) *tail {
	return &tail{reached: reached, last: map[uint32]tailEntry{}, has: map[string][]uint32{}}
}

// size returns the number of documents and removals in the tail.
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
		// A removal also takes a number, so that a running search can tell whether it
		// came before or after.
		t.docs = append(t.docs, tailDoc{ref, &words{}})
	}
	t.last[ref] = e
}

// length returns the length of a ref's document, and whether the tail has the ref; -1
// if it was removed.
func (t *tail) length(ref uint32) (int, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	e, known := t.last[ref]
	if !known || e.doc == removed {
		return -1, known
	}
	return t.docs[e.doc].length, true
}

// mark is the state of a tail at one moment.
type mark struct {
	t *tail
	n int
}

// hides reports whether the tail, as of the mark, had a newer version of the ref than
// the engine or an older tail.
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

// look finds the documents that have any of the terms, counts the documents of each
// term, and returns a mark.
func (t *tail) look(terms []string) (found []match, counts []uint64, at mark) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	counts = make([]uint64, len(terms))
	where := map[uint32]int{} // number in docs → place in found
	for i, term := range terms {
		for _, n := range t.has[term] {
			d := t.docs[n]
			if t.last[d.ref].doc != int(n) {
				continue // replaced
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

// fill adds the tail's documents to a batch.
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

// recent holds the tails' matches for a query, as of one moment.
type recent struct {
	state  state
	found  []match
	counts []uint64 // documents by term
	marks  []mark
}

// recent searches the tails. A replaced document is counted with both its versions
// until the newer one has landed in the engine.
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

// hides reports whether a tail has a newer version of ref.
func (r *recent) hides(ref uint32) bool {
	for _, m := range r.marks {
		if m.hides(ref) {
			return true
		}
	}
	return false
}

// offerRecent scores the matches in the tails, with the same formula as in the engine.
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
