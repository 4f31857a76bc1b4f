package facet

import (
	"time"

	"github.com/kenlayer/ken"
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
