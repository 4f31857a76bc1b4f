package structure

import (
	"strings"

	"github.com/kenlayer/ken"
)

// Understanding says what was understood of a claim, for who wrote it.
type Understanding struct {
	State string   `json:"state" rule:"enum=rule|candidate|fact" jsonschema:"candidate: it may be a rule, which a person decides; it is shown as a fact until then"`
	About []string `json:"about,omitempty" jsonschema:"what it is about, the main thing first"`
	Reach string   `json:"reach" jsonschema:"in which turns it is shown"`
}

// The states of a claim.
const (
	StateRule      = "rule"
	StateCandidate = "candidate"
	StateFact      = "fact"
)

// Understand says what was understood of a claim.
func Understand(c *ken.Claim) Understanding {
	u := Understanding{State: StateFact, About: c.Entities, Reach: "turns that it bears on"}
	about := ""
	if len(c.Entities) > 0 {
		about = "every turn about " + strings.Join(c.Entities, ", ") + " and what is one dependency away"
	}
	switch {
	case c.Constraint && about == "":
		u.State, u.Reach = StateRule, "every turn, since it is about nothing in particular"
	case c.Constraint:
		u.State, u.Reach = StateRule, about
	case c.RuleCandidate && about == "":
		u.State, u.Reach = StateCandidate, "turns that it bears on; every turn, once a person approves it as a rule"
	case c.RuleCandidate:
		u.State, u.Reach = StateCandidate, "turns that name "+strings.Join(c.Entities, ", ")+", as a fact; "+about+", once a person approves it as a rule"
	}
	return u
}
