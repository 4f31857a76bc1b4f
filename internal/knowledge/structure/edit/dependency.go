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

// DefaultStrength is a dependency's where nobody gives one.
const DefaultStrength = 0.5

// edge is a dependency as it may be written.
type edge struct {
	source, typ, target string
	strength            float64
	shown               [2]string // the names as they were given
	sources, targets    []string  // all names of either end, once they are looked up
}

// edgeOf checks a dependency. A strength of 0 is the default.
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
		return d, invalid("type", "unknown type of dependency "+strconv.Quote(clipForError(typ)), "Use one of "+strings.Join(structure.DependencyTypes(), ", ")+".")
	case d.source == d.target:
		return d, invalid("target", strconv.Quote(clipForError(source))+" can't depend on itself", "Name two things.")
	case !(strength >= 0 && strength <= 1):
		return d, invalid("strength", "outside 0..1", "Give a number from 0 to 1.")
	case strength == 0:
		d.strength = DefaultStrength
	}
	return d, nil
}

// claimOf is the claim that a dependency is.
func (e *Editor) claimOf(d edge, evidence []ken.Evidence) ken.Claim {
	key := structure.DependencyKey(d.source, d.typ, d.target, e.o.Scope)
	c := e.newClaim(ken.KindDependency, key, structure.Sentence(d.shown[0], d.typ, d.shown[1]), evidence)
	c.Entities, c.Aspect, c.Importance = []string{d.source, d.target}, d.typ, d.strength
	return c
}

// AddDependency says that source depends on target; the two need not be known yet. A
// strength of 0 means DefaultStrength. One that is there gets the strength, and the
// evidence that it lacks; one that was removed stands again. Errors: ErrInvalid,
// ErrRefused for an agent that revives what a person has removed, the store's.
func (e *Editor) AddDependency(ctx context.Context, source, typ, target string, strength float64, evidence ...ken.Evidence) (ken.Claim, error) {
	d, err := edgeOf(source, typ, target, strength)
	if err != nil {
		return ken.Claim{}, err
	}
	var out ken.Claim
	err = e.exclusive(ctx, "links", func(ctx context.Context) error {
		if err := e.canonicalEnds(ctx, &d); err != nil {
			return err
		}
		out, err = e.addDependency(ctx, d, strength != 0, e.evidence(evidence))
		return err
	})
	return out, err
}

// canonicalEnds puts the names that entities go by in the place of their other names, so that a
// dependency is one whatever its ends are called. An ambiguous name stays what it is.
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
		return invalid("target", strconv.Quote(clipForError(d.shown[0]))+" and "+strconv.Quote(clipForError(d.shown[1]))+" are two names of one thing", "Name two things.")
	}
	return nil
}

// existingDependency finds the claim of a dependency under whatever names: one that stands, or
// else the one under the names that its ends go by; nil when there is none.
func (e *Editor) existingDependency(ctx context.Context, d *edge) (*ken.Claim, error) {
	var first *ken.Claim
	for _, source := range d.sources {
		for _, target := range d.targets {
			c, err := e.claimByKey(ctx, structure.DependencyKey(source, d.typ, target, e.o.Scope))
			if err != nil {
				return nil, err
			}
			if c != nil && stands(c) {
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
		out, _, err := e.write(ctx, e.claimOf(d, evidence))
		if err != nil {
			return ken.Claim{}, err
		}
		return out[0], nil
	}
	have := *found
	if stands(&have) {
		have, err = e.addEvidence(ctx, have, evidence)
	} else if err = e.mayRevive(&have, evidence); err == nil {
		have, err = e.revive(ctx, have, "stated again", evidence)
	}
	if err != nil || !strong || have.Importance == d.strength || !e.outranks(&have, evidence) {
		return have, err
	}
	next := have
	next.Importance, next.Actor, next.UpdatedAt = d.strength, e.o.Actor, e.now()
	out, _, err := e.write(ctx, next)
	if err != nil {
		return ken.Claim{}, err
	}
	return out[0], nil
}

// outranks reports evidence that is trusted as far as what a claim has.
func (e *Editor) outranks(c *ken.Claim, evidence []ken.Evidence) bool {
	return (&ken.Claim{Evidence: evidence}).Support(nil).Trust >= c.Support(nil).Trust
}

// mayRevive refuses to let an agent bring back what was disputed: a person decided
// that, or has to. What was replaced nobody brings back.
func (e *Editor) mayRevive(c *ken.Claim, evidence []ken.Evidence) error {
	if c.Status == ken.StatusSuperseded {
		return refused("", "it was replaced: claim "+c.ID+" is superseded by "+c.SupersededBy, "Look at what replaced it.")
	}
	if (&ken.Claim{Evidence: evidence}).Support(nil).Trust == ken.TrustOperator {
		return nil
	}
	return refused("", "it was removed or is disputed: claim "+c.ID, "Ask the operator to decide about it.")
}

// RemoveDependency disputes a dependency; its history stays. Errors: ErrInvalid;
// ErrNotFound for one that is not there, with those that are between the two;
// ErrRefused for an agent that removes what a person has said; the store's.
func (e *Editor) RemoveDependency(ctx context.Context, source, typ, target, reason string) (ken.Claim, error) {
	d, err := edgeOf(source, typ, target, 0)
	if err != nil {
		return ken.Claim{}, err
	}
	var out ken.Claim
	err = e.exclusive(ctx, "links", func(ctx context.Context) error {
		if err := e.canonicalEnds(ctx, &d); err != nil {
			return err
		}
		have, err := e.existingDependency(ctx, &d)
		switch {
		case err != nil:
			return err
		case have == nil || !stands(have):
			return e.noDependency(ctx, d)
		}
		if err := e.mayUndo(have); err != nil {
			return err
		}
		out, err = e.dispute(ctx, *have, orElse(reason, "removed"))
		return err
	})
	return out, err
}

// mayUndo refuses to let an agent undo what a person has said.
func (e *Editor) mayUndo(c *ken.Claim) error {
	if e.outranks(c, e.o.Evidence) {
		return nil
	}
	return refused("", "a person has said so: claim "+c.ID, "Ask the operator to take it back.")
}

func (e *Editor) noDependency(ctx context.Context, d edge) error {
	try := "Show " + strconv.Quote(clipForError(d.source)) + " to see what it depends on."
	if there, err := e.between(ctx, d.source, d.target); err == nil && len(there) > 0 {
		try = "There is: " + strings.Join(there, "; ") + "."
	}
	return &ken.Error{Code: ken.CodeNotFound, Msg: "there is no dependency " + strconv.Quote(clipForError(structure.Sentence(d.shown[0], d.typ, d.shown[1]))), Try: try}
}

// between says which dependencies two names have, either way.
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

// spell spells a name, and says which field it stood in.
func spell(field, name string) (string, error) {
	s, err := entity.Spell(name)
	var bad *ken.Error
	if errors.As(err, &bad) {
		named := *bad
		named.Field = field
		return "", &named
	}
	return s, err
}
