package middleware

import (
	"context"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
)

// standing says in words how an item stands to what its turn was about, as far as it
// still does; "" for one that the structure has no part in. A receipt keeps which
// entities that were and how far they are; by which dependency is looked up.
func (l *Layer) standing(ctx context.Context, s store.Engine, rec *receipt.Record, it *KeptItem) string {
	if _, ok := it.Legs[retriever.LegStructure]; !ok {
		return ""
	}
	var entities []string
	for _, e := range it.Entities {
		if e = analysis.Entity(e); e != "" {
			entities = append(entities, e)
		}
	}
	switch {
	case len(entities) == 0 && it.Constraint:
		return "a rule that names nothing, and applies to everything"
	case len(entities) == 0:
		return ""
	case !it.Constraint && it.Aspect != "":
		return "filed under " + it.Aspect + " of " + entities[0]
	case !it.Constraint:
		return "filed under " + entities[0]
	}
	c, ok := l.traced(ctx, s, rec, it.ID)
	switch {
	case ok && c.Says != "":
		return "a rule, filed under " + strings.Join(entities, " and ") + "; it says " + says(&c)
	case it.Signals[retriever.SignalDistance] == 0:
		return "a rule of " + strings.Join(entities, " and ")
	case ok && c.Via != nil:
		return "a rule of " + c.Entity + ", " + c.Via.Clause()
	}
	return "a rule of " + entities[0] + ", one dependency from what the turn was about"
}

// says is the name by which a rule was found, whose it is if that goes by another, and
// how that comes into the turn.
func says(c *structure.Constraint) string {
	words := c.Says
	if c.Entity != c.Says {
		words += ", a name of " + c.Entity
	}
	if c.Via != nil {
		words += ", " + c.Via.Clause()
	}
	return words
}

// traced finds a constraint from the entities that a turn was about, or else from the
// symbols that it named, as the code has them now.
func (l *Layer) traced(ctx context.Context, s store.Engine, rec *receipt.Record, id string) (structure.Constraint, bool) {
	o := structural(&l.cfg)
	if o == nil {
		return structure.Constraint{}, false
	}
	signs := structure.Signs{Carried: rec.Focal}
	for {
		f := ken.Filter{Now: rec.At}
		_, t, err := structure.New(s, nil).Look(ctx, signs, &f, o.Bounds)
		if err != nil {
			return structure.Constraint{}, false
		}
		for _, c := range t.Constraints {
			if row, ok := s.Row(c.Ref); ok && row.ID == id {
				return c, true
			}
		}
		if signs.Beside != nil {
			return structure.Constraint{}, false
		}
		if signs.Beside = l.besideThen(ctx, rec); signs.Beside == nil {
			return structure.Constraint{}, false
		}
	}
}

// besideThen is what hangs together with the symbols that a turn named.
func (l *Layer) besideThen(ctx context.Context, rec *receipt.Record) []structure.Beside {
	names := mentions(&rec.Signals, l.o.Root)
	if l.code.base == nil || len(names) == 0 || !l.readsProject(rec.Owner) || !l.o.Foreground && !l.code.wasRead() {
		return nil
	}
	base, err := l.ReadCode(ctx)
	if err != nil {
		return nil
	}
	v := base.View()
	return beside(v, resolve(v, names, max(l.cfg.Graph.Symbols, fewest)))
}
