package ken

import "strconv"

// Assigner is who assigned a claim to its entities.
type Assigner string

// Assigners, the weakest first: what one has found out, a weaker one does not
// change.
const (
	AssignedByRules    Assigner = "rules"
	AssignedByModel    Assigner = "model"
	AssignedByOperator Assigner = "operator"
)

// Rank orders assigners: 0 for none, then rules, model and operator; -1 for an
// unknown one.
func (a Assigner) Rank() int {
	switch a {
	case "":
		return 0
	case AssignedByRules:
		return 1
	case AssignedByModel:
		return 2
	case AssignedByOperator:
		return 3
	}
	return -1
}

// Assignment files a claim: what it is about, under which aspect, and whether it is
// a rule.
type Assignment struct {
	ID string // of the claim
	By Assigner

	// Entities is what the claim is about, the primary one first. Rules and models
	// add to what is there already; an operator replaces it, unless they are nil.
	Entities []string
	Aspect   string // of the primary entity; empty leaves it as it is
	// Constraint says that it is a rule. Only an operator takes that back. From others
	// it makes a rule of what an operator vouches for, a candidate of what was said in a
	// session, and nothing of what an external source says.
	Constraint bool
	// RuleCandidate says that it may be a rule, for an operator to decide.
	RuleCandidate bool
	Actor         Actor
}

// Validate reports the first thing that no store may accept, as an ErrInvalid that
// names the field.
func (a *Assignment) Validate() error {
	if a.By.Rank() < 1 {
		return invalid("by", "unknown assigner "+strconv.Quote(string(a.By)), "Use rules, model or operator.")
	}
	return nil
}
