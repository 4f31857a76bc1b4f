package facet

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/kenlayer/ken"
)

// Names of the values of facets that are stored as numbers.
var (
	statuses = func() (out []string) {
		for _, s := range ken.Statuses() {
			out = append(out, string(s))
		}
		return out
	}()
	tiers  = []string{ken.Guessed.String(), ken.Assumed.String(), ken.Inferred.String(), ken.Verified.String()}
	trusts = []string{ken.TrustUnknown.String(), ken.TrustExternal.String(), ken.TrustAgent.String(), ken.TrustOperator.String()}
)

// closed holds the values of the facets with a fixed set of values.
var closed = [facets][]string{fStatus: statuses, fTier: tiers, fTrust: trusts, fConstraint: yesNo, fArchived: yesNo, fExpired: yesNo}

// scan is one query of a table. It is used under the table's read lock, and its
// buffers are reused.
type scan struct {
	t      *table
	now    int64 // unix milliseconds
	decay  int   // days
	wanted [facets][]string

	rows  []uint32 // slots to check
	fails []uint32 // by index of rows: a bit for each facet whose selection the row misses
	hits  []uint32 // slots that miss no selection
	some  []uint32 // slots that miss at most one facet's selection
	bytes []uint8  // by slot: a computed column
	count []uint32 // by code
	want  []bool   // by code
}

var scans = sync.Pool{New: func() any { return new(scan) }}

// run finds the slots that a selection matches, among given or among all if given
// is nil. The caller must call release on the scan.
func (x *Index) run(t *table, sel *Selection, given []uint32) *scan {
	s := scans.Get().(*scan)
	s.t, s.now, s.decay, s.wanted = t, x.o.Now().UnixMilli(), x.o.DecayDays, sel.wanted()
	s.base(sel, given)
	s.fails = append(s.fails[:0], make([]uint32, len(s.rows))...)
	for f, values := range s.wanted {
		if values != nil {
			s.test(f, values)
		}
	}
	s.hits = s.passing(s.hits, 0)
	return s
}

func (s *scan) release() {
	s.t, s.wanted = nil, [facets][]string{}
	scans.Put(s)
}

// base lists the rows that meet the conditions of fields that are not facets.
func (s *scan) base(sel *Selection, given []uint32) {
	t, out := s.t, uint8(flagGone)
	if !sel.structural() {
		out |= flagStructural
	}
	since, until, changed := bound(sel.Since, math.MinInt64), bound(sel.Until, math.MaxInt64), bound(sel.ChangedSince, math.MinInt64)
	s.rows = s.rows[:0]
	admit := func(slot uint32) {
		if t.flags[slot]&out == 0 && t.created[slot] >= since && t.created[slot] < until && t.updated[slot] >= changed {
			s.rows = append(s.rows, slot)
		}
	}
	if given != nil {
		for _, slot := range given {
			admit(slot)
		}
		return
	}
	for slot := range t.flags {
		admit(uint32(slot))
	}
}

func bound(t time.Time, none int64) int64 {
	if t.IsZero() {
		return none
	}
	return t.UnixMilli()
}

// test marks the rows that miss the selection of a facet.
func (s *scan) test(f int, values []string) {
	bit := uint32(1) << f
	switch t := s.t; {
	case closed[f] != nil:
		var want [256]bool
		for _, v := range values {
			if i := slices.Index(closed[f], v); i >= 0 {
				want[i] = true
			}
		}
		col := s.column(f)
		for i, slot := range s.rows {
			if !want[col[slot]] {
				s.fails[i] |= bit
			}
		}
	case t.words[f] != nil:
		col := t.words[f]
		want := s.codes(&col.dictionary, values)
		for i, slot := range s.rows {
			if !want[col.of[slot]] {
				s.fails[i] |= bit
			}
		}
	default:
		col := t.lists[f]
		want := s.codes(&col.dictionary, values)
		for i, slot := range s.rows {
			if col.n[slot] == 0 && want[0] {
				continue
			}
			if !slices.ContainsFunc(col.values(slot), func(code uint32) bool { return want[code] }) {
				s.fails[i] |= bit
			}
		}
	}
}

// codes returns for each code whether it is among the values.
func (s *scan) codes(d *dictionary, values []string) []bool {
	s.want = append(s.want[:0], make([]bool, len(d.names))...)
	for _, v := range values {
		if code, ok := d.find(v); ok {
			s.want[code] = true
		}
	}
	return s.want
}

// passing appends to list[:0] the rows that fail at most the facets in the bit set
// may.
func (s *scan) passing(list []uint32, may uint32) []uint32 {
	list = list[:0]
	for i, slot := range s.rows {
		if s.fails[i]&^may == 0 {
			list = append(list, slot)
		}
	}
	return list
}

// column returns the column of a closed facet, by slot. It is valid until the next
// call.
func (s *scan) column(f int) []uint8 {
	t := s.t
	switch f {
	case fStatus:
		return t.status
	case fTrust:
		return t.trust
	case fConstraint:
		return t.constraint
	case fArchived:
		return t.archived
	}
	if f == fTier && s.decay <= 0 {
		return t.tier
	}
	s.bytes = slices.Grow(s.bytes[:0], len(t.flags))[:len(t.flags)]
	if f == fTier { // the same rule as ken.Support.At
		oldest := s.now - int64(s.decay)*24*time.Hour.Milliseconds()
		for slot, tier := range t.tier {
			if tier == uint8(ken.Verified) && t.newest[slot] < oldest {
				tier = uint8(ken.Inferred)
			}
			s.bytes[slot] = tier
		}
		return s.bytes
	}
	for slot, at := range t.expires {
		s.bytes[slot] = flag(at != 0 && at <= s.now, 1)
	}
	return s.bytes
}
