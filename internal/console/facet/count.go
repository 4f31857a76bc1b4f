package facet

import (
	"cmp"
	"slices"

	"github.com/google/uuid"

	"github.com/kenlayer/ken/internal/topk"
)

// DefaultTop is the default of Options.Top.
const DefaultTop = 12

// Facet holds the values of one property of claims, the most frequent first; values
// with the same count are sorted by bytes.
type Facet struct {
	Name   string
	Values []Value // at most Options.Top values, plus the selected ones
	More   int     // number of values not listed
	None   int     // claims without a value, which the value "" selects
}

// Value is one value of a facet and how many of the claims have it.
type Value struct {
	Value    string // as written; "" only if that is selected: see Facet.None
	Count    int
	Selected bool
}

func (s *scan) facets(top int) []Facet {
	out := make([]Facet, facets)
	for f := range out {
		out[f] = s.facet(f, top)
	}
	return out
}

func (s *scan) facet(f, top int) Facet {
	out := Facet{Name: names[f]}
	values, first := s.tally(f)
	if first > 0 {
		out.None = int(s.count[0])
	}
	s.list(f, &out, values, first, top)
	return out
}

// tally counts the values of a facet by code, ignoring the facet's own selection. It
// returns their names by code, and the first valid code: dictionaries use 0 for none.
func (s *scan) tally(f int) (values []string, first int) {
	rows := s.hits
	if s.wanted[f] != nil {
		s.some = s.passing(s.some, 1<<f)
		rows = s.some
	}
	switch t := s.t; {
	case closed[f] != nil:
		col, count := s.column(f), s.counts(256)
		var second [256]uint32 // with few values, a second set of counters avoids stalls on the same counter
		for len(rows) > 1 {
			count[col[rows[0]]]++
			second[col[rows[1]]]++
			rows = rows[2:]
		}
		for _, slot := range rows {
			count[col[slot]]++
		}
		for code, n := range second {
			count[code] += n
		}
		return closed[f], 0
	case t.words[f] != nil:
		col := t.words[f]
		count := s.counts(len(col.names))
		for _, slot := range rows {
			count[col.of[slot]]++
		}
		return col.names, 1
	default:
		col := t.lists[f]
		count := s.counts(len(col.names))
		for _, slot := range rows {
			values := col.values(slot)
			if len(values) == 0 {
				count[0]++
			}
			for _, code := range values {
				count[code]++
			}
		}
		return col.names, 1
	}
}

func (s *scan) counts(n int) []uint32 {
	s.count = slices.Grow(s.count[:0], n)[:n]
	clear(s.count)
	return s.count
}

type counted struct {
	name string
	code uint32
	n    uint32
}

// Better orders by count, then by name.
func (a counted) Better(b counted) bool { return a.n > b.n || a.n == b.n && a.name < b.name }

// list sets the facet's most frequent values, and the selected ones.
func (s *scan) list(f int, out *Facet, values []string, first, top int) {
	best := topk.New[counted](top)
	some := 0
	for code := first; code < len(values); code++ {
		n := s.count[code]
		if n == 0 {
			continue
		}
		some++
		if !best.Full() || n >= best.Worst().n {
			best.Offer(counted{values[code], uint32(code), n})
		}
	}
	listed := best.Sorted()
	picked := s.selected(f, values, first)
	for _, p := range picked {
		if !slices.ContainsFunc(listed, func(t counted) bool { return t.name == p.name }) {
			listed = append(listed, p)
		}
	}
	slices.SortFunc(listed, func(a, b counted) int { return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.name, b.name)) })
	out.Values = make([]Value, len(listed))
	shown := 0
	for i, t := range listed {
		out.Values[i] = Value{t.name, int(t.n), slices.ContainsFunc(picked, func(p counted) bool { return p.name == t.name })}
		if t.n > 0 && t.name != "" {
			shown++
		}
	}
	out.More = some - shown
}

// selected returns the selected values of a facet with their counts, without
// duplicates. They are spelled as in claims, or as in the selection if no claim has
// them.
func (s *scan) selected(f int, values []string, first int) (out []counted) {
	for _, v := range s.wanted[f] {
		p := counted{name: v}
		code, ok := s.code(f, v)
		if ok {
			p.code, p.n = code, s.count[code]
			if int(code) >= first {
				p.name = values[code]
			}
		}
		if !slices.ContainsFunc(out, func(o counted) bool { return o.name == p.name }) {
			out = append(out, p)
		}
	}
	return out
}

func (s *scan) code(f int, value string) (uint32, bool) {
	switch t := s.t; {
	case closed[f] != nil:
		i := slices.Index(closed[f], value)
		return uint32(max(i, 0)), i >= 0
	case t.words[f] != nil:
		return t.words[f].find(value)
	default:
		return t.lists[f].find(value)
	}
}

// Count counts the facets of those claims of a list, such as search results, that a
// selection matches. It ignores repeated ids and ids of other things than claims. It
// returns nil for an owner whose claims were not read yet.
func (x *Index) Count(owner string, ids []string, sel Selection) (out []Facet) {
	_ = x.read(owner, func(t *table) { // the only error is that they were not read
		slots, _ := t.among(ids)
		s := x.run(t, &sel, slots)
		defer s.release()
		out = s.facets(x.o.Top)
	})
	return out
}

// Filter returns the ids of a list that a selection matches, in the list's order,
// without duplicates. It leaves out ids of other things than claims, such as pieces
// of the repository. Errors: ErrUnavailable for an owner whose claims were not read
// yet.
func (x *Index) Filter(owner string, ids []string, sel Selection) (out []string, err error) {
	err = x.read(owner, func(t *table) {
		slots, written := t.among(ids)
		s := x.run(t, &sel, slots)
		defer s.release()
		out = make([]string, 0, len(s.hits))
		for _, slot := range s.hits {
			out = append(out, written[slot])
		}
	})
	return out, err
}

// among returns the slots of the claims of a list, without duplicates, and how the
// list writes their ids.
func (t *table) among(ids []string) (slots []uint32, written map[uint32]string) {
	slots, written = make([]uint32, 0, len(ids)), make(map[uint32]string, len(ids))
	for _, text := range ids {
		id, err := uuid.Parse(text)
		if err != nil {
			continue
		}
		slot, ok := t.slots[id]
		if _, again := written[slot]; !ok || again {
			continue
		}
		slots, written[slot] = append(slots, slot), text
	}
	return slots, written
}
