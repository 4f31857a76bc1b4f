package edit

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
)

// Merge makes one entity another name of a second one: from then on, what is known about
// either is found under both names. Both must be known. Two names of one entity are left
// unchanged. Errors: ErrInvalid for two equal names; ErrNotFound with the nearest names;
// ErrRefused for a cycle, with the chain of names, and for a name that is an alias of
// another entity already; the store's.
func (e *Editor) Merge(ctx context.Context, from, into, reason string) (ken.Claim, error) {
	return e.addAlias(ctx, from, into, orElse(reason, "merged"), from, into)
}

// Alias adds another name to an entity. The entity must be known; the other name may be
// known or not. Errors are those of Merge.
func (e *Editor) Alias(ctx context.Context, name, other, reason string) (ken.Claim, error) {
	return e.addAlias(ctx, other, name, orElse(reason, "another name"), name)
}

// addAlias makes from another name of into. The names in known must be known to the store.
func (e *Editor) addAlias(ctx context.Context, from, into, reason string, known ...string) (ken.Claim, error) {
	return exclusive(ctx, e, "links", func(ctx context.Context) (none ken.Claim, err error) {
		a, b, err := spellTwo(from, into, "from", "into")
		if err != nil {
			return none, err
		}
		for _, n := range known {
			if _, err := entity.Resolve(ctx, e.source(), n, e.filter()); err != nil {
				return none, err
			}
		}
		if chain, err := e.chain(ctx, a); err != nil {
			return none, err
		} else if slices.Contains(chain, b) { // they are one entity already
			have, err := e.aliasClaim(ctx, a)
			if err != nil {
				return none, err
			}
			return *have, nil
		}
		if err := e.checkNoCycle(ctx, a, b); err != nil {
			return none, err
		}
		return e.alias(ctx, a, b, oneLine(from)+" is another name of "+oneLine(into), reason)
	})
}

// Rename gives an entity a new name; the old one keeps working. Renaming back undoes the
// first renaming. Errors are those of Merge, and ErrExists for a new name that is known as
// something else.
func (e *Editor) Rename(ctx context.Context, old, name string) (ken.Claim, error) {
	return exclusive(ctx, e, "links", func(ctx context.Context) (out ken.Claim, err error) {
		a, b, err := spellTwo(old, name, "old", "new")
		if err != nil {
			return out, err
		}
		found, err := entity.Resolve(ctx, e.source(), old, e.filter())
		if err != nil {
			return out, err
		}
		known, err := entity.Known(ctx, e.source(), b, e.filter())
		if err != nil {
			return out, err
		}
		own := len(found) == 1 && slices.Contains(found[0].Names(), b)
		if known && !own {
			return out, &ken.Error{Code: ken.CodeExists, Field: "new", Msg: strconv.Quote(entity.Clip(name)) + " is known already",
				Try: "Merge the two if they are one thing, or choose another name."}
		}
		text := oneLine(old) + " is now called " + oneLine(name)
		back, err := e.aliasClaim(ctx, b)
		if err == nil && back == nil {
			err = e.checkNoCycle(ctx, a, b)
		}
		if err != nil {
			return out, err
		}
		if back == nil {
			return e.alias(ctx, a, b, text, "renamed")
		}
		// The new name is another name of the old one, or of the entity that this stands
		// for. The new alias is written first. Until the old one is removed, the two form
		// a cycle, which readers treat as one entity, so that no rule of either is missed.
		if len(back.Entities) < 2 || back.Entities[0] != a {
			return out, e.aliasCycleError(ctx, a, b)
		}
		if err := e.mayUndo(back); err != nil {
			return out, err
		}
		if out, err = e.alias(ctx, a, b, text, "renamed back"); err == nil {
			_, err = e.dispute(ctx, *back, "renamed to "+oneLine(name))
		}
		return out, err
	})
}

// Split removes the alias that makes a name another name of something: from then on it
// stands for itself again. Errors: ErrNotFound for a name that is not an alias; ErrRefused for
// an agent that undoes what a person said; the store's.
func (e *Editor) Split(ctx context.Context, name, reason string) (ken.Claim, error) {
	spelled, err := spell("name", name)
	if err != nil {
		return ken.Claim{}, err
	}
	return exclusive(ctx, e, "links", func(ctx context.Context) (none ken.Claim, err error) {
		have, err := e.aliasClaim(ctx, spelled)
		if err == nil && have == nil {
			err = e.noAliasError(ctx, name)
		}
		if err == nil {
			err = e.mayUndo(have)
		}
		if err != nil {
			return none, err
		}
		return e.dispute(ctx, *have, orElse(reason, "split"))
	})
}

func (e *Editor) noAliasError(ctx context.Context, name string) error {
	found, err := entity.Resolve(ctx, e.source(), name, e.filter())
	if err != nil {
		return err
	}
	try := "It has no other names."
	if len(found[0].Aliases) > 0 {
		try = "Split one of its other names off: " + strings.Join(found[0].Aliases, ", ") + "."
	}
	return &ken.Error{Code: ken.CodeNotFound, Field: "name", Msg: strconv.Quote(entity.Clip(name)) + " is not another name of anything", Try: try}
}

// spellTwo normalises two names, which must differ.
func spellTwo(a, b, fieldA, fieldB string) (string, string, error) {
	x, err := spell(fieldA, a)
	if err != nil {
		return "", "", err
	}
	y, err := spell(fieldB, b)
	if err != nil {
		return "", "", err
	}
	if x == y {
		return "", "", invalid(fieldB, strconv.Quote(entity.Clip(a))+" and "+strconv.Quote(entity.Clip(b))+" are one name already", "Name two things; case, hyphens and articles make no difference.")
	}
	return x, y, nil
}

// alias writes the claim that a is another name of b.
func (e *Editor) alias(ctx context.Context, a, b, text, reason string) (ken.Claim, error) {
	have, err := e.aliasClaim(ctx, a)
	if err != nil {
		return ken.Claim{}, err
	}
	if have != nil && len(have.Entities) > 1 && have.Entities[0] != b {
		return ken.Claim{}, refused("from", strconv.Quote(entity.Clip(a))+" is another name of "+strconv.Quote(have.Entities[0])+" already",
			"Split it off first, or merge "+strconv.Quote(have.Entities[0])+".")
	}
	if have != nil {
		return *have, nil
	}
	evidence := e.evidence(nil)
	c := e.newClaim(ken.KindAlias, e.key("alias:"+a), text, evidence)
	c.Entities, c.Aspect = []string{b, a}, "alias"
	if have, err = e.claimByKey(ctx, e.key("alias:"+a)); err != nil {
		return ken.Claim{}, err
	}
	if have != nil {
		if err := e.mayRevive(have, evidence); err != nil {
			return ken.Claim{}, err
		}
		if have.Status == ken.StatusDisputed && slices.Equal(have.Entities, c.Entities) {
			return e.revive(ctx, *have, reason, evidence)
		}
	}
	out, err := e.writeOne(ctx, c)
	if err == nil && !isRecalled(&out) { // its text is unchanged, and so is its status
		return e.revive(ctx, out, reason, evidence)
	}
	return out, err
}

// aliasClaim returns the claim that makes a name an alias; nil if there is none.
func (e *Editor) aliasClaim(ctx context.Context, name string) (*ken.Claim, error) {
	out, err := e.source().Outlines(ctx, []string{name}, e.filter(), allOutlines)
	if err != nil || len(out) == 0 {
		return nil, err
	}
	for _, l := range out[0].Links {
		if l.Kind != ken.KindAlias || len(l.Names) != 2 || l.Names[1] != name {
			continue
		}
		c, err := e.s.Claim(ctx, l.Ref)
		if err != nil {
			return nil, err
		}
		return &c, nil
	}
	return nil, nil
}

// checkNoCycle returns an error if b is, directly or indirectly, another name of a.
func (e *Editor) checkNoCycle(ctx context.Context, a, b string) error {
	chain, err := e.chain(ctx, b)
	if err != nil {
		return err
	}
	if slices.Contains(chain, a) {
		return e.aliasCycleError(ctx, a, b)
	}
	return nil
}

func (e *Editor) aliasCycleError(ctx context.Context, a, b string) error {
	chain, err := e.chain(ctx, b)
	if err != nil {
		return err
	}
	return refused("into", "that would be a circle of names: "+a+" → "+strings.Join(chain, " → "),
		"Split "+strconv.Quote(b)+" off first, or merge the other way round.")
}

// chain returns a name and the names that it is an alias of, one after the other.
func (e *Editor) chain(ctx context.Context, name string) ([]string, error) {
	chain := []string{name}
	for {
		c, err := e.aliasClaim(ctx, name)
		if err != nil || c == nil || len(c.Entities) < 2 {
			return chain, err
		}
		name = c.Entities[0]
		chain = append(chain, name)
		if slices.Index(chain, name) < len(chain)-1 {
			return chain, nil
		}
	}
}
