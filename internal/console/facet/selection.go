package facet

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/topk"
)

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
