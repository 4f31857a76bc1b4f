package tools

import (
	"slices"

	"github.com/kenlayer/ken"
)

// Right is something that a caller may do with tools.
type Right string

// Rights. One does not follow from the other.
const (
	Read  Right = "read"  // look at what is known
	Write Right = "write" // learn, verify, dispute, mark
)

// Rights lists every right. The caller owns the slice.
func Rights() []Right { return []Right{Read, Write} }

// Caller is who calls a tool. It comes from the process, the configuration or a
// key, never from what a model wrote.
type Caller struct {
	Owner   string // the isolation boundary; "" is the configured one
	Project string // what is learned carries it
	Session string // what is learned carries it; "" for none
	Branch  string
	Agent   string // names the agent in histories
	// Scopes are what the caller may see besides unscoped claims; nil sees every scope.
	// What is learned applies to the one scope, and everywhere when there is none or
	// there are several.
	Scopes []ken.Scope
	// Rights is what the caller may do; nil is nothing.
	Rights []Right
	// Offer names the profiles and tools that are listed to the caller; nil means
	// tools.profile of the configuration. It limits no right: a tool that is not listed
	// answers when it is called by its name. See Select.
	Offer []string
}

// Can reports whether the caller has a right.
func (c Caller) Can(r Right) bool { return slices.Contains(c.Rights, r) }

// scope is what a new claim applies to.
func (c *Caller) scope() ken.Scope {
	if len(c.Scopes) == 1 {
		return c.Scopes[0]
	}
	return ken.Scope{}
}

// actor is who stands in a claim's history.
func (c *Caller) actor() ken.Actor { return ken.Actor{Type: "agent", ID: c.Agent} }

// filter admits what the caller may see of these statuses; nil means
// ken.RecallStatuses.
func (c *Caller) filter(statuses []ken.Status) ken.Filter {
	return ken.Filter{Scopes: c.Scopes, Unscoped: true, Statuses: statuses, ClaimsOnly: true}
}

// sees reports whether a claim, whatever its status, is within the caller's scopes.
func (c *Caller) sees(k *ken.Claim) bool {
	return len(c.Scopes) == 0 || k.Scope.IsZero() || slices.Contains(c.Scopes, k.Scope)
}
