package retriever

import (
	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// sieve lets each record through once, and only what the filter accepts: every
// leg has filtered already, but a record may have changed since, the late leg had
// the filter of another turn, and a leg that forgets a condition must not leak.
type sieve struct {
	p    store.Projections
	f    *ken.Filter
	out  *Result
	told map[store.Ref]bool // refused, or let through
}

// refuse notes a record that is out, unless it is gone altogether.
func (s *sieve) refuse(ref store.Ref, why ken.CutReason) {
	if s.told[ref] {
		return
	}
	s.told[ref] = true
	if row, ok := s.p.Row(ref); ok {
		s.out.Cut = append(s.out.Cut, ken.Cut{ID: row.ID, Reason: why})
	}
}

// admit returns the entries that pass, with their rows, in their order.
func (s *sieve) admit(entries []*entry) []*entry {
	in := entries[:0]
	for _, e := range entries {
		if s.told[e.ref] {
			continue
		}
		s.told[e.ref] = true
		row, ok := s.p.Row(e.ref)
		if !ok { // forgotten meanwhile
			continue
		}
		if why := s.f.Reject(row.Facts); why != "" {
			s.out.Cut = append(s.out.Cut, ken.Cut{ID: row.ID, Reason: why})
			continue
		}
		e.row = row
		in = append(in, e)
	}
	return in
}
