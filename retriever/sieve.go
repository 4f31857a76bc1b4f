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
	// spared are records that have another place in the result: they may be let
	// through a second time, and are cut without a word.
	spared map[store.Ref]bool
	barred map[store.Ref]ken.CutReason // pass the filter, and don't fit the turn by their leg's own measure
}

// spare lets the entries, which were admitted, be admitted once more.
func (s *sieve) spare(entries []*entry) {
	s.spared = make(map[store.Ref]bool, len(entries))
	for _, e := range entries {
		s.spared[e.ref] = true
		delete(s.told, e.ref)
	}
}

// again lets rules that were let through be admitted once more.
func (s *sieve) again(ruled map[store.Ref]bool) {
	for ref := range ruled {
		delete(s.told, ref)
	}
}

// capped is the first n of a pool, rules not counted.
func (s *sieve) capped(pool []*entry, n int, ruled map[store.Ref]bool) []*entry {
	in := pool[:0]
	for _, e := range pool {
		switch {
		case ruled[e.ref]:
			in = append(in, e)
		case n > 0:
			n--
			in = append(in, e)
		default:
			s.cut(e, ken.CutPool)
		}
	}
	return in
}

// grade notes what the rules that were found by their words as well are worth as
// answers. They come first whatever that is.
func (s *sieve) grade(pool []*entry, ruled map[store.Ref]bool) {
	if len(ruled) == 0 {
		return
	}
	rules := s.out.Candidates[:s.out.Rules]
	for _, e := range pool {
		if !ruled[e.ref] {
			continue
		}
		for i := range rules {
			if rules[i].Ref == e.ref {
				rules[i].Fused = e.rank.score
			}
		}
	}
}

// cut notes an entry that was admitted and is out.
func (s *sieve) cut(e *entry, why ken.CutReason) {
	if !s.spared[e.ref] {
		s.out.Cut = append(s.out.Cut, ken.Cut{ID: e.row.ID, Reason: why})
	}
}

// refuse notes a record that is out, unless it is gone altogether, or a part of the
// structure that its words were found in: nobody expects that in a block.
func (s *sieve) refuse(ref store.Ref, why ken.CutReason) {
	if s.told[ref] {
		return
	}
	s.told[ref] = true
	if row, ok := s.p.Row(ref); ok && !(why == ken.CutScope && row.Facts.Kind.Structural()) {
		s.out.Cut = append(s.out.Cut, ken.Cut{ID: row.ID, Reason: why})
	}
}

// admit returns the entries that pass, with their rows, in their order.
func (s *sieve) admit(entries []*entry) []*entry {
	in := entries[:0]
	for _, e := range entries {
		if row, ok := s.pass(e.ref); ok {
			e.row = row
			in = append(in, e)
		}
	}
	return in
}

// pass returns the row of a record that passes, and false for one that does not or
// that has passed before.
func (s *sieve) pass(ref store.Ref) (store.Row, bool) {
	if s.told[ref] {
		return store.Row{}, false
	}
	s.told[ref] = true
	row, ok := s.p.Row(ref)
	if !ok { // forgotten meanwhile
		return row, false
	}
	why := s.f.Reject(row.Facts)
	if why == "" {
		why = s.barred[ref]
	}
	if why != "" {
		s.out.Cut = append(s.out.Cut, ken.Cut{ID: row.ID, Reason: why})
	}
	return row, why == ""
}
