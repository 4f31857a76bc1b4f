package structuretest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/kenlayer/ken"
)

// day is the creation time of the claims.
var day = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// Scopes returns the scopes of the claims that Random makes.
func Scopes() []ken.Scope {
	return []ken.Scope{{Type: ken.ScopeRepo, ID: "first"}, {Type: ken.ScopeRepo, ID: "second"}}
}

// Random returns n different claims of every kind about entities called e0, e1 and so
// on: constraints of one, several and no entity, with and without an aspect; facts;
// dependencies in cycles and on themselves; and aliases in chains and cycles. A third
// of the constraints has the name of an entity in its text, its own or another. Some
// claims are scoped, disputed, superseded, external or verified. The same seed gives
// the same claims. Each claim is valid, and assigned by an operator.
func Random(seed uint64, n int) []ken.Claim {
	rnd, words := rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 2))
	entities := 2 + n/20
	name := func() string { return fmt.Sprintf("e%d", rnd.IntN(entities)) }
	out := make([]ken.Claim, n)
	for i := range out {
		c := ken.Claim{Kind: ken.KindFact, Text: fmt.Sprintf("Statement %d holds, whatever else is said of it.", i), Status: ken.StatusObserved, Importance: 0.5,
			Confidence: 1, AssignedBy: ken.AssignedByOperator, CreatedAt: day, UpdatedAt: day, Evidence: []ken.Evidence{ken.FromUserStatement("s", "m")}}
		switch sort := rnd.IntN(8); sort {
		case 0, 1:
			c.Constraint, c.Entities = true, []string{name(), name()}[:1+sort]
			c.Aspect = []string{"", "deploys"}[rnd.IntN(2)]
		case 2:
			if c.Entities = []string{name(), name()}; rnd.IntN(4) == 0 { // otherwise half of the names would be one entity
				c.Kind, c.Importance = ken.KindAlias, 1
			}
		case 3, 4:
			c.Kind, c.Entities, c.Importance = ken.KindDependency, []string{name(), name()}, rnd.Float64()
			c.Aspect = []string{"uses", "requires", "owned_by", "blocks", "informs"}[rnd.IntN(5)]
		case 5:
			if c.Constraint = rnd.IntN(10) == 0; !c.Constraint {
				c.Entities = []string{name()}
			}
		default:
			c.Entities, c.Aspect = []string{name(), name()}, []string{"", "deploys", "owners"}[rnd.IntN(3)]
		}
		switch rnd.IntN(12) {
		case 0:
			c.Status = ken.StatusDisputed
		case 1:
			c.Status = ken.StatusSuperseded
		case 2:
			c.Evidence = append(c.Evidence, ken.FromURL("https://example.org/rules", day, ""))
		case 3:
			c.Evidence = append(c.Evidence, ken.FromHumanAssertion("priya", day, "checked"))
		}
		if rnd.IntN(6) == 0 {
			c.Scope = Scopes()[rnd.IntN(2)]
		}
		if c.Constraint && words.IntN(3) == 0 {
			said := fmt.Sprintf([]string{"for E%d", "for the e%d-service", "unless (e%d) says so", "for e%d's guests"}[words.IntN(4)], words.IntN(entities))
			c.Text = fmt.Sprintf("Statement %d holds %s, whatever else is said of it.", i, said)
		}
		out[i] = c
	}
	return out
}
