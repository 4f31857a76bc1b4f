package facet

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/topk"
)

// Names of the values of facets that are numbers already.
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

// closed are the facets whose values are known beforehand.
var closed = [facets][]string{fStatus: statuses, fTier: tiers, fTrust: trusts, fConstraint: yesNo, fArchived: yesNo, fExpired: yesNo}

// scan is one question to a table. It is used under the table's read lock, and its
// buffers serve the next one.
type scan struct {
	t      *table
	now    int64 // unix milliseconds
	decay  int   // days
	wanted [facets][]string

	rows  []uint32 // the slots that are looked at
	fails []uint32 // by index of rows: a bit for each facet whose selection it misses
	hits  []uint32 // the slots that miss none
	some  []uint32 // likewise, one facet's selection left out
	bytes []uint8  // by slot: a column that is computed
	count []uint32 // by code
	want  []bool   // by code
}

var scans = sync.Pool{New: func() any { return new(scan) }}

// run finds the slots that a selection means: of those given, or of all when given
// is nil. The scan must be let go afterwards.
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

func (s *scan) letGo() {
	s.t, s.wanted = nil, [facets][]string{}
	scans.Put(s)
}

// base lists the rows that meet the conditions that are no facet.
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

// codes says of each code whether it is among the values.
func (s *scan) codes(d *dictionary, values []string) []bool {
	s.want = append(s.want[:0], make([]bool, len(d.names))...)
	for _, v := range values {
		if code, ok := d.find(v); ok {
			s.want[code] = true
		}
	}
	return s.want
}

// passing appends to list[:0] the rows that fail nothing but what may be failed.
func (s *scan) passing(list []uint32, may uint32) []uint32 {
	list = list[:0]
	for i, slot := range s.rows {
		if s.fails[i]&^may == 0 {
			list = append(list, slot)
		}
	}
	return list
}

// column is a closed facet's, by slot. It holds until the next one is asked for.
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
	if f == fTier { // as ken.Support.At has it
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

// Page is a part of a list of claims, and what all of the list have in common.
type Page struct {
	IDs    []string
	Total  int     // claims that are selected, on this page or not
	Next   string  // what Selection.Before has to be for those that follow; "" when there are none
	Facets []Facet // one for each of Names, in that order
}

// Select returns the ids of the claims that a selection means, and counts their
// facets. The result is the caller's. Errors: ErrInvalid for an order or a cursor
// that is none; ErrUnavailable for an owner whose claims were not read yet, see
// Catch.
func (x *Index) Select(owner string, sel Selection) (Page, error) {
	rank, err := sel.rank()
	if err != nil {
		return Page{}, err
	}
	var after *place
	if sel.Before != "" {
		if after, err = parseCursor(sel.Before, rank); err != nil {
			return Page{}, err
		}
	}
	var out Page
	err = x.read(owner, func(t *table) {
		s := x.run(t, &sel, nil)
		defer s.letGo()
		out.Total, out.Facets = len(s.hits), s.facets(x.o.Top)
		places := s.best(rank, after, sel.limit()+1)
		if len(places) > sel.limit() {
			places = places[:sel.limit()]
			out.Next = places[len(places)-1].cursor(rank)
		}
		out.IDs = make([]string, len(places))
		for i := range places {
			out.IDs[i] = places[i].id.String()
		}
	})
	return out, err
}

// rank is the order's number, for cursors.
func (s *Selection) rank() (uint8, error) {
	i := slices.Index(Orders(), cmp.Or(s.Order, Newest))
	if i < 0 {
		return 0, &ken.Error{Code: ken.CodeInvalid, Field: "order", Msg: "unknown order", Try: "Use newest, updated, reinforced or confidence."}
	}
	return uint8(i), nil
}

// place is where a claim stands in an order.
type place struct {
	key     int64 // of the order, the highest first
	created int64
	id      uuid.UUID
}

// Better reports whether a comes first.
func (a place) Better(b place) bool {
	if a.key != b.key {
		return a.key > b.key
	}
	if a.created != b.created {
		return a.created > b.created
	}
	return bytes.Compare(a.id[:], b.id[:]) < 0
}

// best returns the first n of the hits that stand behind a place.
func (s *scan) best(rank uint8, after *place, n int) []place {
	top := topk.New[place](n)
	for _, slot := range s.hits {
		p := place{s.t.key(rank, slot), s.t.created[slot], s.t.ids[slot]}
		if top.Full() && p.key < top.Worst().key || after != nil && !after.Better(p) {
			continue
		}
		top.Offer(p)
	}
	return top.Sorted()
}

// key is what an order sorts a claim by; rank is its place in Orders.
func (t *table) key(rank uint8, slot uint32) int64 {
	switch rank {
	case 1:
		return t.updated[slot]
	case 2:
		return int64(t.seen[slot])
	case 3: // never negative, so that its bits are in its order
		return int64(math.Float32bits(t.confidence[slot]))
	}
	return t.created[slot]
}

// A cursor is the order's number and the place of the last claim of a page.
const cursorSize = 1 + 8 + 8 + 16

func (a place) cursor(rank uint8) string {
	b := append(make([]byte, 0, cursorSize), rank)
	b = binary.BigEndian.AppendUint64(b, uint64(a.key))
	b = binary.BigEndian.AppendUint64(b, uint64(a.created))
	return base64.RawURLEncoding.EncodeToString(append(b, a.id[:]...))
}

func parseCursor(text string, rank uint8) (*place, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) != cursorSize || b[0] != rank {
		return nil, &ken.Error{Code: ken.CodeInvalid, Field: "before", Msg: "not the cursor of a list in this order",
			Try: "Give what the last page returned, with the order that it was in, or leave it out to begin anew."}
	}
	p := &place{key: int64(binary.BigEndian.Uint64(b[1:])), created: int64(binary.BigEndian.Uint64(b[9:]))}
	copy(p.id[:], b[17:])
	return p, nil
}
