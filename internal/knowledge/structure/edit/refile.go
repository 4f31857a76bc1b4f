package edit

import (
	"context"
	"errors"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
)

// Refile changes what a claim is about and whether it is a rule, on an operator's behalf.
// about replaces the claim's entities and rule says whether it is a rule; nil leaves either
// unchanged. A claim that was a rule or a candidate and is not any more becomes a fact.
// changed is false if nothing was different. Errors: ErrInvalid for an invalid name;
// ErrRefused if the editor is not an operator's, and for a structural claim; the store's.
func (e *Editor) Refile(ctx context.Context, c ken.Claim, about []string, rule *bool) (out ken.Claim, changed bool, err error) {
	if e.assigner(e.evidence(nil)) != ken.AssignedByOperator {
		return c, false, refused("rule", "only an operator decides that", "Ask the operator.")
	}
	a := ken.Assignment{ID: c.ID, By: ken.AssignedByOperator, Constraint: c.Constraint, RuleCandidate: c.RuleCandidate, Actor: e.o.Actor}
	if rule != nil {
		a.Constraint, a.RuleCandidate = *rule, false
	}
	if about != nil {
		a.Entities = []string{}
		for _, name := range about {
			spelled, err := spell("about", name)
			if err != nil {
				return c, false, err
			}
			a.Entities = append(a.Entities, spelled)
		}
	}
	if rule == nil && about != nil && a.Constraint && len(a.Entities) == 0 {
		a.Constraint, a.RuleCandidate = false, true // a rule about nothing would be in every turn, so a person must approve it
	}
	if changed, err = e.s.Assign(ctx, a); err != nil {
		return c, false, err
	}
	out, err = e.s.Get(ctx, c.ID)
	return out, changed, err
}

// Drop removes a word that is not a name from all claims that have it as a name. Claims keep
// their text and other names; structural claims about the name are disputed. It returns the
// number of changed claims. Errors: ErrNotFound with the nearest names; ErrRefused if the
// editor is not an operator's; the store's.
func (e *Editor) Drop(ctx context.Context, name, reason string) (int, error) {
	spelled, err := spell("name", name)
	if err != nil {
		return 0, err
	}
	if e.assigner(e.evidence(nil)) != ken.AssignedByOperator {
		return 0, refused("name", "only an operator drops a name", "Ask the operator.")
	}
	if _, err := entity.Resolve(ctx, e.source(), name, e.filter()); err != nil {
		return 0, err
	}
	return exclusive(ctx, e, "links", func(ctx context.Context) (n int, err error) {
		var carriers []ken.Claim
		f := e.filter()
		f.Structural = true
		for c, err := range e.s.Scan(ctx, f, nil) {
			if err != nil {
				return n, err
			}
			if c.Kind == ken.KindEntity && analysis.Entity(c.Entities[0]) != spelled {
				continue // such as a task about it, which says nothing about the name
			}
			if slices.ContainsFunc(c.Entities, func(o string) bool { return analysis.Entity(o) == spelled }) {
				carriers = append(carriers, c)
			}
		}
		for i := range carriers {
			if err := e.dropFrom(ctx, &carriers[i], spelled, orElse(reason, "it is no name")); err != nil && !errors.Is(err, ken.ErrNotFound) {
				return n, err
			}
			n++
		}
		return n, nil
	})
}

func (e *Editor) dropFrom(ctx context.Context, c *ken.Claim, name, reason string) error {
	if c.Kind.Structural() {
		_, err := e.dispute(ctx, *c, reason)
		return err
	}
	rest := slices.DeleteFunc(slices.Clone(c.Entities), func(o string) bool { return analysis.Entity(o) == name })
	a := ken.Assignment{ID: c.ID, By: ken.AssignedByOperator, Entities: rest, Aspect: c.Aspect, Constraint: c.Constraint, RuleCandidate: c.RuleCandidate, Actor: e.o.Actor}
	if c.Constraint && len(rest) == 0 { // a rule about nothing would be in every turn
		a.Constraint, a.RuleCandidate = false, true
	}
	if rest == nil {
		a.Entities = []string{}
	}
	_, err := e.s.Assign(ctx, a)
	return err
}
