package edit

import (
	"context"
	"strconv"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
)

// Describe says what an entity is: its type, of entity.Types, and its name as people
// write it with what it is, such as "Payments: moves the money". What is empty stays
// as it was; the name need not be known yet. Errors: ErrInvalid; ErrRefused for an
// agent that describes what a person has described; the store's.
func (e *Editor) Describe(ctx context.Context, name, typ, text string) (ken.Claim, error) {
	spelled, err := spell("name", name)
	if err != nil {
		return ken.Claim{}, err
	}
	typ = strings.ToLower(strings.TrimSpace(typ))
	switch {
	case typ == "task":
		return ken.Claim{}, invalid("type", "a task is not described but created", "Create a task instead.")
	case typ != "" && !entity.IsType(typ):
		return ken.Claim{}, invalid("type", "unknown type "+strconv.Quote(short(typ)), "Use one of "+strings.Join(entity.Types(), ", ")+".")
	}
	var out ken.Claim
	err = e.exclusive(ctx, "links", func(ctx context.Context) error {
		out, err = e.describe(ctx, spelled, one(name), typ, strings.TrimSpace(text))
		return err
	})
	return out, err
}

func (e *Editor) describe(ctx context.Context, spelled, shown, typ, text string) (ken.Claim, error) {
	have, err := e.held(ctx, e.key("entity:"+spelled))
	if err != nil {
		return ken.Claim{}, err
	}
	evidence := e.evidence(nil)
	if have != nil && !e.outranks(have, evidence) {
		return ken.Claim{}, refused("", "a person has described "+strconv.Quote(short(shown))+": claim "+have.ID, "Ask the operator to change it.")
	}
	c := e.claim(ken.KindEntity, e.key("entity:"+spelled), text, evidence)
	c.Entities, c.Aspect = []string{spelled}, typ
	if have != nil && stands(have) {
		c.Text, c.Aspect = orElse(text, have.Text), orElse(typ, have.Aspect)
	}
	c.Text, c.Aspect = orElse(c.Text, shown), orElse(c.Aspect, entity.Unknown)
	if have != nil && have.Status == ken.StatusDisputed && have.Text == c.Text {
		if _, err := e.revive(ctx, *have, "described again", evidence); err != nil {
			return ken.Claim{}, err
		}
	}
	out, _, err := e.write(ctx, c)
	if err != nil {
		return ken.Claim{}, err
	}
	return out[0], nil
}
