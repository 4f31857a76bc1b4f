package entity

import (
	"cmp"
	"strings"
	"time"

	"github.com/kenlayer/ken"
)

// Claim is a claim as a view shows it.
type Claim struct {
	ID         string       `json:"id"`
	Kind       ken.Kind     `json:"kind"`
	Status     ken.Status   `json:"status"`
	Tier       string       `json:"tier"`
	Trust      string       `json:"trust"`
	Text       string       `json:"text"`
	Entities   []string     `json:"entities,omitempty"`
	Aspect     string       `json:"aspect,omitempty"`
	Constraint bool         `json:"constraint,omitempty"`
	AssignedBy ken.Assigner `json:"assigned_by,omitempty"`
	Source     string       `json:"source,omitempty"`
	Scope      string       `json:"scope,omitempty"`
	CreatedAt  time.Time    `json:"created_at"`
	ExpiresAt  time.Time    `json:"expires_at,omitzero"`
	Evidence   int          `json:"evidence"` // pieces
	// SupersededBy is the claim that replaced it.
	SupersededBy string `json:"superseded_by,omitempty"`

	// Whole is the claim itself.
	Whole ken.Claim `json:"-"`
}

func (v *viewer) claim(c ken.Claim) Claim {
	support := c.Support(v.o.Stands)
	return Claim{ID: c.ID, Kind: c.Kind, Status: c.Status, Tier: support.At(v.o.Now(), v.o.DecayDays).String(),
		Trust: max(support.Trust, ken.TrustExternal).String(), Text: strings.TrimSpace(c.Text), Entities: c.Entities, Aspect: c.Aspect,
		Constraint: c.Constraint, AssignedBy: c.AssignedBy, Source: cmp.Or(c.Source, c.SourceType), Scope: c.Scope.String(),
		CreatedAt: c.CreatedAt, ExpiresAt: c.ExpiresAt, Evidence: len(c.Evidence), SupersededBy: c.SupersededBy, Whole: c}
}
