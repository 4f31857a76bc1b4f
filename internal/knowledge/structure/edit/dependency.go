package edit

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
)

// DefaultStrength is the strength of a dependency if none is given.
const DefaultStrength = 0.5

// edge is a dependency to be written.
type edge struct {
	source, typ, target string
	strength            float64
	shown               [2]string // the names as given
	sources, targets    []string  // all names of either end, set by canonicalEnds
}

// edgeOf checks a dependency. A strength of 0 means the default.
func edgeOf(source, typ, target string, strength float64) (edge, error) {
	typ = strings.ToLower(strings.NewReplacer(" ", "_", "-", "_").Replace(strings.TrimSpace(typ)))
	d := edge{typ: typ, strength: strength, shown: [2]string{oneLine(source), oneLine(target)}}
	var err error
	if d.source, err = spell("source", source); err != nil {
		return d, err
	}
	if d.target, err = spell("target", target); err != nil {
		return d, err
	}
	switch {
	case !slices.Contains(structure.DependencyTypes(), typ):
		return d, invalid("type", "unknown type of dependency "+strconv.Quote(entity.Clip(typ)), "Use one of "+strings.Join(structure.DependencyTypes(), ", ")+".")
	case d.source == d.target:
		return d, invalid("target", strconv.Quote(entity.Clip(source))+" can't depend on itself", "Name two things.")
	case !(strength >= 0 && strength <= 1):
		return d, invalid("strength", "outside 0..1", "Give a number from 0 to 1.")
	case strength == 0:
		d.strength = DefaultStrength
	}
	return d, nil
}

// claimOf returns the claim for a dependency.
func (e *Editor) claimOf(d edge, evidence []ken.Evidence) ken.Claim {
	key := structure.DependencyKey(d.source, d.typ, d.target, e.o.Scope)
	c := e.newClaim(ken.KindDependency, key, structure.Sentence(d.shown[0], d.typ, d.shown[1]), evidence)
	c.Entities, c.Aspect, c.Importance = []string{d.source, d.target}, d.typ, d.strength
	return c
}

// AddDependency adds a dependency of source on target. The two need not be known yet. A
// strength of 0 means DefaultStrength. An existing dependency gets the strength, and the
// evidence that it lacks; a removed one becomes valid again. Errors: ErrInvalid; ErrRefused for
// an agent that restores what a person removed; the store's.
func (e *Editor) AddDependency(ctx context.Context, source, typ, target string, strength float64, evidence ...ken.Evidence) (ken.Claim, error) {
	d, err := edgeOf(source, typ, target, strength)
	if err != nil {
		return ken.Claim{}, err
	}
	return exclusive(ctx, e, "links", func(ctx context.Context) (ken.Claim, error) {
		if err := e.canonicalEnds(ctx, &d); err != nil {
			return ken.Claim{}, err
		}
		return e.addDependency(ctx, d, strength != 0, e.evidence(evidence))
	})
}

// canonicalEnds replaces the names of both ends by the entities' primary names, so that a
// dependency is the same whatever its ends are called. An ambiguous name is not changed.
func (e *Editor) canonicalEnds(ctx context.Context, d *edge) error {
	for _, end := range []struct {
		name *string
		all  *[]string
	}{{&d.source, &d.sources}, {&d.target, &d.targets}} {
		sets, err := structure.New(e.s, nil).Resolve(ctx, *end.name, e.filter())
		if err != nil {
			return err
		}
		*end.all = []string{*end.name}
		if len(sets) == 1 {
			*end.name, *end.all = sets[0][0], sets[0]
		}
	}
	if d.source == d.target {
		return invalid("target", strconv.Quote(entity.Clip(d.shown[0]))+" and "+strconv.Quote(entity.Clip(d.shown[1]))+" are two names of one thing", "Name two things.")
	}
	return nil
}

// existingDependency returns the claim of a dependency under any names of its ends: a valid
// one, or else the one under the primary names; nil if there is none.
func (e *Editor) existingDependency(ctx context.Context, d *edge) (*ken.Claim, error) {
	var first *ken.Claim
	for _, source := range d.sources {
		for _, target := range d.targets {
			c, err := e.claimByKey(ctx, structure.DependencyKey(source, d.typ, target, e.o.Scope))
			if err != nil {
				return nil, err
			}
			if c != nil && isRecalled(c) {
				return c, nil
			}
			if first == nil {
				first = c
			}
		}
	}
	return first, nil
}

func (e *Editor) addDependency(ctx context.Context, d edge, strong bool, evidence []ken.Evidence) (ken.Claim, error) {
	found, err := e.existingDependency(ctx, &d)
	if err != nil {
		return ken.Claim{}, err
	}
	if found == nil {
		return e.writeOne(ctx, e.claimOf(d, evidence))
	}
	have := *found
	if isRecalled(&have) {
		have, err = e.addEvidence(ctx, have, evidence)
	} else if err = e.mayRevive(&have, evidence); err == nil {
		have, err = e.revive(ctx, have, "stated again", evidence)
	}
	if err != nil || !strong || have.Importance == d.strength || !e.outranks(&have, evidence) {
		return have, err
	}
	have.Importance, have.Actor, have.UpdatedAt = d.strength, e.o.Actor, e.now()
	return e.writeOne(ctx, have)
}

// outranks reports whether the evidence is at least as trusted as the claim's.
func (e *Editor) outranks(c *ken.Claim, evidence []ken.Evidence) bool {
	return (&ken.Claim{Evidence: evidence}).Support(nil).Trust >= c.Support(nil).Trust
}

// mayRevive returns an error if an agent would restore a disputed claim, which only a person
// may decide. A superseded claim can't be restored by anybody.
func (e *Editor) mayRevive(c *ken.Claim, evidence []ken.Evidence) error {
	if c.Status == ken.StatusSuperseded {
		return refused("", "it was replaced: claim "+c.ID+" is superseded by "+c.SupersededBy, "Look at what replaced it.")
	}
	if (&ken.Claim{Evidence: evidence}).Support(nil).Trust == ken.TrustOperator {
		return nil
	}
	return refused("", "it was removed or is disputed: claim "+c.ID, "Ask the operator to decide about it.")
}

// RemoveDependency disputes a dependency; its history is kept. Errors: ErrInvalid; ErrNotFound
// for one that does not exist, with those between the two; ErrRefused for an agent that removes
// what a person said; the store's.
func (e *Editor) RemoveDependency(ctx context.Context, source, typ, target, reason string) (ken.Claim, error) {
	d, err := edgeOf(source, typ, target, 0)
	if err != nil {
		return ken.Claim{}, err
	}
	return exclusive(ctx, e, "links", func(ctx context.Context) (none ken.Claim, err error) {
		if err := e.canonicalEnds(ctx, &d); err != nil {
			return none, err
		}
		have, err := e.existingDependency(ctx, &d)
		if err == nil && (have == nil || !isRecalled(have)) {
			err = e.noDependency(ctx, d)
		}
		if err == nil {
			err = e.mayUndo(have)
		}
		if err != nil {
			return none, err
		}
		return e.dispute(ctx, *have, orElse(reason, "removed"))
	})
}

// mayUndo returns an error if an agent would undo what a person said.
func (e *Editor) mayUndo(c *ken.Claim) error {
	if e.outranks(c, e.o.Evidence) {
		return nil
	}
	return refused("", "a person has said so: claim "+c.ID, "Ask the operator to take it back.")
}

func (e *Editor) noDependency(ctx context.Context, d edge) error {
	try := "Show " + strconv.Quote(entity.Clip(d.source)) + " to see what it depends on."
	if there, err := e.between(ctx, d.source, d.target); err == nil && len(there) > 0 {
		try = "There is: " + strings.Join(there, "; ") + "."
	}
	return &ken.Error{Code: ken.CodeNotFound, Msg: "there is no dependency " + strconv.Quote(entity.Clip(structure.Sentence(d.shown[0], d.typ, d.shown[1]))), Try: try}
}

// between lists the dependencies between two names in either direction.
func (e *Editor) between(ctx context.Context, a, b string) ([]string, error) {
	out, err := e.source().Outlines(ctx, []string{a}, e.filter(), allOutlines)
	if err != nil || len(out) == 0 {
		return nil, err
	}
	var all []string
	for _, l := range out[0].Links {
		if l.Kind == ken.KindDependency && len(l.Names) == 2 && slices.Contains(l.Names, b) {
			all = append(all, structure.Sentence(l.Names[0], l.Type, l.Names[1]))
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// spell normalises a name. An error names the field that held it.
func spell(field, name string) (string, error) {
	s, err := entity.Spell(name)
	if bad, ok := errors.AsType[*ken.Error](err); ok {
		named := *bad
		named.Field = field
		return "", &named
	}
	return s, err
}
