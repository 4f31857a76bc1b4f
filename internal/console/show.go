package console

import (
	"fmt"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/middleware"
)

// row is a claim as a line of a list.
type row struct {
	ID, Kind, Status string
	Tone             ken.Tone
	Tier             string
	Heading, Text    string
	Says             string // the line that says where it stands
	Entities         []string
	Constraint       bool
	When             any // a time in words
	Seen             int // times it was seen
	Session          string
	Expired, Put     bool // its time is over; it was put away
	Confidence       float64
	Evidence         int // pieces
}

// rowOf shows a claim as it stands at a moment.
func rowOf(c *middleware.ClaimView, now time.Time) row {
	_, tone := c.Severity()
	return row{ID: c.ID, Kind: string(c.Kind), Status: string(c.Status), Tone: tone, Tier: c.Tier.String(), Heading: c.Heading, Text: c.Text,
		Says: standing(&c.Claim, now), Entities: c.Entities, Constraint: c.Constraint, When: ago(now, c.UpdatedAt), Seen: c.Reinforcements + 1,
		Session: c.Session, Expired: c.Expired(now), Put: !c.ArchivedAt.IsZero(), Confidence: c.Confidence, Evidence: len(c.Evidence)}
}

// standing says in a line why a claim stands where it does: "confidence 0.9 · from
// tool_result", "2 conflicting evidence refs", "by ana · 2026-05-20".
func standing(c *ken.Claim, now time.Time) string {
	var parts []string
	switch c.Status {
	case ken.StatusVerified:
		if e := voucher(c); e != nil {
			parts = append(parts, "by "+e.ID, e.FetchedAt.UTC().Format(time.DateOnly))
		}
	case ken.StatusDisputed:
		parts = append(parts, plural(len(c.Evidence), "conflicting evidence ref", "conflicting evidence refs"))
	case ken.StatusSuperseded:
		parts = append(parts, "by "+shortID(c.SupersededBy))
	}
	if len(parts) == 0 {
		parts = append(parts, fmt.Sprintf("confidence %.1f", c.Confidence))
		if len(c.Evidence) > 0 {
			parts = append(parts, "from "+string(c.Evidence[0].Kind))
		}
	}
	if c.Expired(now) {
		parts = append(parts, "expired "+c.ExpiresAt.UTC().Format(time.DateOnly))
	}
	return strings.Join(parts, " · ")
}

// voucher is the last piece of evidence by which a person verified a claim; nil for none.
func voucher(c *ken.Claim) *ken.Evidence {
	for i := len(c.Evidence) - 1; i >= 0; i-- {
		if e := &c.Evidence[i]; e.Kind == ken.EvidenceHumanAssertion && e.ID != "" {
			return e
		}
	}
	return nil
}
