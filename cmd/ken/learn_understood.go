package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
	"github.com/kenlayer/ken/store"
)

// file files a claim as its flags say. What they leave open is read from the text, so
// that a rule on an operator's word has an aspect as any other.
func (o *learnOptions) file(c *ken.Claim, names reading.Names) {
	if len(o.entities) == 0 && o.aspect == "" && !o.constraint {
		return // the store does that
	}
	reading.Assign(c, names)
	if given := spelled(o.entities); len(given) > 0 {
		c.Entities = given // whatever else the text names
	}
	if !c.Kind.Structural() {
		c.AssignedBy = ken.AssignedByOperator
	}
}

// spelled are names as entities are compared by, each once.
func spelled(names []string) (out []string) {
	for _, n := range names {
		if n = analysis.Entity(n); n != "" && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// stated are the dependencies that were read from a claim.
func stated(ctx context.Context, s store.Engine, c *ken.Claim) ([]ken.Claim, error) {
	f := &ken.Filter{Unscoped: true}
	outlines, err := s.Outlines(ctx, c.Entities, f, store.OutlineOptions{Aspects: 1, Top: 1})
	if err != nil {
		return nil, err
	}
	var out []ken.Claim
	seen := map[store.Ref]bool{}
	for i := range outlines {
		for _, l := range outlines[i].Links {
			if l.Kind != ken.KindDependency || seen[l.Ref] {
				continue
			}
			seen[l.Ref] = true
			d, err := s.Claim(ctx, l.Ref)
			if err != nil {
				return nil, err
			}
			if slices.ContainsFunc(d.Evidence, func(e ken.Evidence) bool { return e.Kind == ken.EvidenceRepositoryMemory && e.ID == c.ID }) {
				out = append(out, d)
			}
		}
	}
	slices.SortFunc(out, func(a, b ken.Claim) int { return strings.Compare(a.Text, b.Text) })
	return out, nil
}

// understood says how a claim was filed: "constraint on payments (also: ledger);
// payments requires ledger".
func understood(c *ken.Claim, dependencies []ken.Claim) string {
	what := string(c.Kind)
	if c.Constraint {
		what = "constraint"
	}
	switch {
	case len(c.Entities) > 0:
		what += " on " + cell(c.Entities[0])
	case c.Constraint:
		what += " on nothing in particular: it is in every turn"
	default:
		what += " on nothing in particular"
	}
	if len(c.Entities) > 0 && c.Aspect != "" {
		what += ", " + cell(c.Aspect)
	}
	if len(c.Entities) > 1 {
		what += " (also: " + cell(strings.Join(c.Entities[1:], ", ")) + ")"
	}
	for i := range dependencies {
		what += "; " + cell(dependencies[i].Text)
	}
	return what
}

// tell says something to a person, beside the output.
func (a *app) tell(text string) {
	if !a.quiet {
		fmt.Fprintln(a.err, "ken:", text)
	}
}

// tellCleaned says that what was kept is not all that was given.
func (a *app) tellCleaned(text string, c *ken.Claim) {
	if c.Text != text {
		fmt.Fprintln(a.err, "ken: what looked like a secret, a model's reasoning or a control character was taken out")
	}
}
