package ken

import "strconv"

// ScopeType is the level that a claim speaks about.
type ScopeType string

// Scope types, widest first.
const (
	ScopeProject ScopeType = "project"
	ScopeRepo    ScopeType = "repo"
	ScopeAgent   ScopeType = "agent"
	ScopeRun     ScopeType = "run"
)

// Scope says what a claim applies to. The zero value is unscoped: it applies
// wherever its owner works.
type Scope struct {
	Type ScopeType `json:"type,omitempty"`
	ID   string    `json:"id,omitempty"`
}

// IsZero reports an unscoped value.
func (s Scope) IsZero() bool { return s == Scope{} }

// String returns "type:id", and "" when unscoped.
func (s Scope) String() string {
	if s.IsZero() {
		return ""
	}
	return string(s.Type) + ":" + s.ID
}

// Validate reports an unknown type or a missing id.
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

// ParseScope reads "type:id".
func ParseScope(s string) (Scope, error) {
	for i := range len(s) {
		if s[i] == ':' {
			sc := Scope{ScopeType(s[:i]), s[i+1:]}
			return sc, sc.Validate()
		}
	}
	return Scope{}, invalid("scope", strconv.Quote(s)+" is not type:id", "Write it as in repo:github.com/acme/payments.")
}
