package facet

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/topk"
)

// DefaultTop is how many values of a facet are listed when nothing is said.
const DefaultTop = 12

// Facet is what claims have of one property, the most frequent value first, those of
// the same count in the order of their bytes.
type Facet struct {
	Name   string
	Values []Value // at most Options.Top, and beyond that what is selected
	More   int     // values that are not listed
	None   int     // claims without a value, which the value "" selects
}

// Value is one value of a facet and how many of the claims have it.
type Value struct {
	Value    string // as it is written; "" only where that is selected: see Facet.None
	Count    int
	Selected bool
}

// facets counts every facet.
func (s *scan) facets(top int) []Facet {
	out := make([]Facet, facets)
	for f := range out {
		out[f] = s.facet(f, top)
	}
	return out
}

// facet counts one.
func (s *scan) facet(f, top int) Facet {
	out := Facet{Name: names[f]}
	values, first := s.tally(f)
	if first > 0 {
		out.None = int(s.count[0])
	}
	s.list(f, &out, values, first, top)
	return out
}

// tally counts the values of a facet by their codes, leaving its own selection out of
// account. It returns their names by code, and the code of the first: dictionaries
// have 0 for none.
func (s *scan) tally(f int) (values []string, first int) {
	rows := s.hits
	if s.wanted[f] != nil {
		s.some = s.passing(s.some, 1<<f)
		rows = s.some
	}
	switch t := s.t; {
	case closed[f] != nil:
		col, count := s.column(f), s.counts(256)
		var odd [256]uint32 // few values, so that one counter would wait for itself
		for len(rows) > 1 {
			count[col[rows[0]]]++
			odd[col[rows[1]]]++
			rows = rows[2:]
		}
		for _, slot := range rows {
			count[col[slot]]++
		}
		for code, n := range odd {
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

// counts returns zeros to count in.
func (s *scan) counts(n int) []uint32 {
	s.count = slices.Grow(s.count[:0], n)[:n]
	clear(s.count)
	return s.count
}

// counted is a value with its count.
type counted struct {
	name string
	code uint32
	n    uint32
}

// Better orders by count, then by name.
func (a counted) Better(b counted) bool { return a.n > b.n || a.n == b.n && a.name < b.name }

// list puts the most frequent values into a facet, and those that are selected.
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

// selected are the values of a facet that are selected, with their counts, each once:
// as claims write them, or as the selection does where no claim has them.
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

// code is the number of a facet's value.
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

// Values lists what claims have of a facet, the most frequent value first, for
// choosing one of many: those that begin with prefix, whole or at one of their parts,
// such as the name of a file at the end of its path. Case does not matter. The counts
// are of all claims that are not structural. A limit of 0 and less is 50, and 500 is
// the most. Errors: ErrInvalid for a facet that is none; ErrUnavailable for an owner
// whose claims were not read yet.
func (x *Index) Values(owner, facet, prefix string, limit int) (out []Value, err error) {
	f := slices.Index(names[:], facet)
	if f < 0 {
		return nil, &ken.Error{Code: ken.CodeInvalid, Field: "facet", Msg: "unknown facet " + strconv.Quote(facet),
			Try: "Use one of " + strings.Join(names[:], ", ") + "."}
	}
	if limit <= 0 {
		limit = DefaultLimit
	}
	err = x.read(owner, func(t *table) {
		s := x.run(t, &Selection{}, nil)
		defer s.letGo()
		values, first := s.tally(f)
		best := topk.New[counted](min(limit, MaxLimit))
		for code := first; code < len(values); code++ {
			if n := s.count[code]; n > 0 && begins(values[code], prefix) {
				best.Offer(counted{values[code], uint32(code), n})
			}
		}
		for _, c := range best.Sorted() {
			out = append(out, Value{Value: c.name, Count: int(c.n)})
		}
	})
	return out, err
}

// begins reports whether a value or one of its parts begins with a prefix.
func begins(value, prefix string) bool {
	for at, start := 0, true; at < len(value); {
		r, n := utf8.DecodeRuneInString(value[at:])
		if start && startsFold(value[at:], prefix) {
			return true
		}
		start = strings.ContainsRune(" /:._-@#", r)
		at += n
	}
	return prefix == ""
}

// startsFold is strings.HasPrefix, whatever the case.
func startsFold(s, prefix string) bool {
	for len(prefix) > 0 {
		a, n := utf8.DecodeRuneInString(s)
		b, m := utf8.DecodeRuneInString(prefix)
		if n == 0 || !strings.EqualFold(s[:n], prefix[:m]) || (a == utf8.RuneError) != (b == utf8.RuneError) {
			return false
		}
		s, prefix = s[n:], prefix[m:]
	}
	return true
}

// Want is what a selection asks of a property that a claim has or has not.
type Want uint8

// Wants.
const (
	Any     Want = iota // with it or without
	Only                // with it
	Without             // without it
)

// Order is what a list of claims is sorted by. Claims that it puts level come newest
// first, and those of one millisecond by id.
type Order string

// Orders.
const (
	Newest     Order = "newest"     // by creation, the latest first; the default
	Updated    Order = "updated"    // by the last change, the latest first
	Reinforced Order = "reinforced" // by how often it was seen again, the most first
	Confidence Order = "confidence" // the surest first
)

// Orders lists the orders.
func Orders() []Order { return []Order{Newest, Updated, Reinforced, Confidence} }

// Bounds of a page.
const (
	DefaultLimit = 50
	MaxLimit     = 500
)

// Selection says which claims are meant; the zero value means all that are not
// structural. Within a field the values are alternatives, and "" is for claims that
// have none; between fields conditions add up. A value that no claim has is no error:
// nothing matches it.
type Selection struct {
	Kinds, Statuses, Tiers, Trusts    []string
	Scopes, Entities, Tags            []string
	Sources, SourceTypes              []string
	Sessions, Projects, Agents, Files []string
	Constraint, Archived, Expired     Want

	// Structural admits the kinds of the structure. So does naming one of them in
	// Kinds.
	Structural bool

	// Since and Until bound the time of creation, ChangedSince that of the last
	// change. Since and ChangedSince are part of what they bound, Until is not; zero is
	// no bound. All are read to the millisecond.
	Since, Until, ChangedSince time.Time

	// What follows is for Index.Select alone.

	Order Order
	// Before goes on where an earlier page ended: it is that page's Next. It belongs to
	// the order that it came from.
	Before string
	Limit  int // claims on a page; 0 and less is 50, and 500 is the most
}

var yesNo = []string{"no", "yes"}

// wanted is what of each facet is selected; nil for all of it.
func (s *Selection) wanted() (w [facets][]string) {
	w = [facets][]string{fKind: s.Kinds, fStatus: s.Statuses, fTier: s.Tiers, fTrust: s.Trusts, fScope: s.Scopes, fEntity: s.Entities,
		fTag: s.Tags, fSource: s.Sources, fSourceType: s.SourceTypes, fSession: s.Sessions, fProject: s.Projects, fAgent: s.Agents, fFile: s.Files}
	for f, want := range map[int]Want{fConstraint: s.Constraint, fArchived: s.Archived, fExpired: s.Expired} {
		switch want {
		case Only:
			w[f] = yesNo[1:]
		case Without:
			w[f] = yesNo[:1]
		}
	}
	return w
}

// structural reports whether kinds of the structure may be among what is selected.
func (s *Selection) structural() bool {
	for _, k := range s.Kinds {
		if ken.Kind(k).Structural() {
			return true
		}
	}
	return s.Structural
}

func (s *Selection) limit() int {
	if s.Limit <= 0 {
		return DefaultLimit
	}
	return min(s.Limit, MaxLimit)
}

// Count counts the facets of the claims of a list, such as what a search found, that
// a selection means. Ids that are no claim's are left out, and so are repeated ones.
// It is nil for an owner whose claims were not read yet.
func (x *Index) Count(owner string, ids []string, sel Selection) (out []Facet) {
	_ = x.read(owner, func(t *table) { // the only fault is that they were not read
		slots, _ := t.among(ids)
		s := x.run(t, &sel, slots)
		defer s.letGo()
		out = s.facets(x.o.Top)
	})
	return out
}

// Filter returns those of a list of ids that a selection means, in the list's order,
// each once. Ids that are no claim's are left out: pieces of the repository are none.
// Errors: ErrUnavailable for an owner whose claims were not read yet.
func (x *Index) Filter(owner string, ids []string, sel Selection) (out []string, err error) {
	err = x.read(owner, func(t *table) {
		slots, written := t.among(ids)
		s := x.run(t, &sel, slots)
		defer s.letGo()
		out = make([]string, 0, len(s.hits))
		for _, slot := range s.hits {
			out = append(out, written[slot])
		}
	})
	return out, err
}

// among finds the claims of a list, each once, and how the list writes their ids.
func (t *table) among(ids []string) (slots []uint32, written map[uint32]string) {
	slots, written = make([]uint32, 0, len(ids)), make(map[uint32]string, len(ids))
	for _, text := range ids {
		id, err := uuid.Parse(text)
		if err != nil {
			continue
		}
		slot, ok := t.at.get(id)
		if _, again := written[slot]; !ok || again {
			continue
		}
		slots, written[slot] = append(slots, slot), text
	}
	return slots, written
}
