package ken

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// ScopeType is the type of thing to which a claim is limited.
type ScopeType string

// Scope types, widest first.
const (
	ScopeProject ScopeType = "project"
	ScopeRepo    ScopeType = "repo"
	ScopeAgent   ScopeType = "agent"
	ScopeRun     ScopeType = "run"
)

// Scope limits where a claim applies. The zero value is unscoped: the claim applies
// wherever its owner works.
type Scope struct {
	Type ScopeType `json:"type,omitempty"`
	ID   string    `json:"id,omitempty"`
}

// IsZero reports whether s is unscoped.
func (s Scope) IsZero() bool { return s == Scope{} }

// String returns "type:id", and "" when unscoped.
func (s Scope) String() string {
	if s.IsZero() {
		return ""
	}
	return string(s.Type) + ":" + s.ID
}

// Validate returns an error for an unknown type or a missing id.
func (s Scope) Validate() error {
	switch s.Type {
	case "":
		if s.ID != "" {
			return invalid("scope.type", "missing", "Use one of project, repo, agent, run.")
		}
		return nil
	case ScopeProject, ScopeRepo, ScopeAgent, ScopeRun:
		if s.ID == "" {
			return invalid("scope.id", "missing", "Name the "+string(s.Type)+" that the claim applies to.")
		}
		return nil
	}
	return invalid("scope.type", "unknown type "+strconv.Quote(string(s.Type)), "Use one of project, repo, agent, run.")
}

// ParseScope parses "type:id".
func ParseScope(s string) (Scope, error) {
	kind, id, ok := strings.Cut(s, ":")
	if !ok {
		return Scope{}, invalid("scope", strconv.Quote(s)+" is not type:id", "Write it as in repo:github.com/acme/payments.")
	}
	sc := Scope{ScopeType(kind), id}
	return sc, sc.Validate()
}

// Filter says which claims a query may see. Every leg of a retrieval gets the same
// Filter, and only Reject implements it, so that no leg can miss a condition. The zero
// value is the default recall: current statuses, any scope, any non-structural kind, any
// trust.
type Filter struct {
	// Scopes, when not empty, admits only claims of one of these scopes, and
	// unscoped claims as well if Unscoped is set.
	Scopes   []Scope
	Unscoped bool
	Statuses []Status // nil means RecallStatuses
	Kinds    []Kind   // nil means every kind that is not Structural
	// Structural also admits the structural kinds if Kinds is nil. It is for code that
	// counts or exports all claims.
	Structural bool
	// ClaimsOnly excludes repository documents, whatever Kinds says.
	ClaimsOnly bool
	// Shared admits only what an owner shares with others, see Facts: repository
	// documents, and current, approved and trusted claims, whatever the other fields say.
	Shared   bool
	MinTrust Trust     // unknown admits everything
	Now      time.Time // claims that have expired by then are excluded; zero means the time of the call in Store.Query, and no expiry test elsewhere
}

// Facts holds the properties of a claim that a filter tests; projections keep them in
// memory.
type Facts struct {
	Scope     Scope
	Status    Status
	Kind      Kind
	Trust     Trust
	Approved  bool // see Claim.Approved
	ExpiresAt time.Time
}

// sharedKinds are the kinds of claims that owners share once they are approved. Sessions,
// findings, tasks and objectives stay private even if approved.
var sharedKinds = []Kind{KindFact, KindHot, KindPattern, KindPlaybook, KindDecision, KindDependency, KindAlias}

// shared reports whether other owners may see the claim: a chunk of the repository, or a
// current claim that a person approved and that has no external evidence.
func (c *Facts) shared() bool {
	return slices.Contains(RecallStatuses(), c.Status) && c.Trust.AtLeast(TrustAgent) &&
		(c.Kind == KindDocument || c.Approved && slices.Contains(sharedKinds, c.Kind))
}

// Facts returns the properties of the claim that a filter tests.
func (c *Claim) Facts() Facts {
	return Facts{c.Scope, c.Status, c.Kind, c.Support(nil).Trust, c.Approved(), c.ExpiresAt}
}

// Reject returns why the filter excludes a claim, and "" when it admits it. The reason is
// one of CutScope, CutStatus, CutTrust and CutExpired; a kind that is not admitted counts
// as scope.
func (f *Filter) Reject(c Facts) CutReason {
	if f.Shared && !c.shared() {
		return CutScope
	}
	if len(f.Scopes) > 0 && !(f.Unscoped && c.Scope.IsZero()) && !slices.Contains(f.Scopes, c.Scope) {
		return CutScope
	}
	if f.Kinds == nil && c.Kind.Structural() && !f.Structural || f.Kinds != nil && !slices.Contains(f.Kinds, c.Kind) || f.ClaimsOnly && c.Kind == KindDocument {
		return CutScope
	}
	if f.Statuses == nil {
		if c.Status != StatusObserved && c.Status != StatusVerified && c.Status != StatusInferred {
			return CutStatus
		}
	} else if !slices.Contains(f.Statuses, c.Status) {
		return CutStatus
	}
	if !c.Trust.AtLeast(f.MinTrust) {
		return CutTrust
	}
	if !f.Now.IsZero() && !c.ExpiresAt.IsZero() && !f.Now.Before(c.ExpiresAt) {
		return CutExpired
	}
	return ""
}
