package keyword

import "math"

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
