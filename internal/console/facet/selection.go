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

// Want is a condition on a property that a claim may have.
type Want uint8

// The conditions.
const (
	Any     Want = iota // with or without the property
	Only                // with the property
	Without             // without the property
)

// Order is the order of a list of claims. Equal claims are sorted newest first, and
// those of the same millisecond by id.
type Order string

// The orders.
const (
	Newest     Order = "newest"     // by creation, latest first; the default
	Updated    Order = "updated"    // by last change, latest first
	Reinforced Order = "reinforced" // by number of observations, highest first
	Confidence Order = "confidence" // by confidence, highest first
)

// Orders lists the orders.
func Orders() []Order { return []Order{Newest, Updated, Reinforced, Confidence} }

// Limits of a page.
const (
	DefaultLimit = 50
	MaxLimit     = 500
)

// Selection selects claims; the zero value selects all that are not structural. Within
// a field the values are alternatives, and "" selects claims without a value; the
// conditions of different fields must all hold. A value that no claim has is valid and
// matches nothing.
type Selection struct {
	Kinds, Statuses, Tiers, Trusts    []string
	Scopes, Entities, Tags            []string
	Sources, SourceTypes              []string
	Sessions, Projects, Agents, Files []string
	Constraint, Archived, Expired     Want

	// Structural includes claims of structural kinds. So does naming such a kind in
	// Kinds.
	Structural bool

	// Since and Until limit the time of creation, ChangedSince limits that of the last
	// change. Since and ChangedSince are inclusive, Until is exclusive; zero means no
	// limit. The precision is a millisecond.
	Since, Until, ChangedSince time.Time

	// The following fields are only used by Index.Select.

	Order Order
	// Before continues after an earlier page: it is that page's Next. It is only valid
	// with the same order.
	Before string
	Limit  int // claims on a page; 0 or less means 50, the maximum is 500
}

var yesNo = []string{"no", "yes"}

// wanted returns the selected values of each facet; nil for a facet without a
// selection.
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

// structural reports whether the selection may include structural claims.
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

// Page is a part of a list of claims, with the facets of the whole list.
type Page struct {
	IDs    []string
	Total  int     // number of selected claims in all
	Next   string  // the Selection.Before of the next page; "" at the end
	Facets []Facet // one for each of Names, in that order
}

// Select returns the ids of the claims that a selection matches, and counts their
// facets. The caller owns the result. Errors: ErrInvalid for an unknown order or an
// invalid cursor; ErrUnavailable for an owner whose claims were not read yet, see
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
		defer s.release()
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

// rank returns the order's number, for cursors.
func (s *Selection) rank() (uint8, error) {
	i := slices.Index(Orders(), cmp.Or(s.Order, Newest))
	if i < 0 {
		return 0, &ken.Error{Code: ken.CodeInvalid, Field: "order", Msg: "unknown order", Try: "Use newest, updated, reinforced or confidence."}
	}
	return uint8(i), nil
}

// place is the position of a claim in an order.
type place struct {
	key     int64 // sort key, highest first
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

// best returns the first n hits after a position.
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

// key returns a claim's sort key in an order; rank is the order's index in Orders.
func (t *table) key(rank uint8, slot uint32) int64 {
	switch rank {
	case 1:
		return t.updated[slot]
	case 2:
		return int64(t.seen[slot])
	case 3: // never negative, so its bits sort like its value
		return int64(math.Float32bits(t.confidence[slot]))
	}
	return t.created[slot]
}

// A cursor holds the order's number and the position of the last claim of a page.
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
