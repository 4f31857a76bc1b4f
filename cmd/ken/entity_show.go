package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

type entityShowOptions struct {
	history bool
	depth   int
	scopes  []string
}

// entityView is an entity, and with a depth of more than 1 what is further away.
type entityView struct {
	entity.View
	Further []entity.Node `json:"further,omitempty"`
}

func (a *app) entityShowCommand() *cobra.Command {
	var o entityShowOptions
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show what is known of an entity",
		Long: "Show what is known of an entity, under any of its names: every rule that holds for it, those of what is one dependency away with " +
			"the way there; what it depends on and what depends on it; tasks about it; and the claims under each of its aspects, those that " +
			"weigh most first. With --depth, also what is further away.",
		Example: `  ken entity show payments
  ken entity show payments --history --json`,
		Args:              takes("NAME"),
		ValidArgsFunction: a.completes(entityNames),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.showEntity(cmd.Context(), args[0], &o) },
	}
	cmd.Flags().BoolVar(&o.history, "history", false, "also what was replaced")
	cmd.Flags().IntVar(&o.depth, "depth", 1, "also entities up to so `many` dependencies away, at most 3")
	cmd.Flags().StringArrayVar(&o.scopes, "scope", nil, "only what is known in this scope, as `type:id`, or in all (repeatable)")
	return cmd
}

func (a *app) showEntity(ctx context.Context, name string, o *entityShowOptions) error {
	f, err := standing(o.scopes)
	if err != nil {
		return err
	}
	if o.depth < 1 || o.depth > entity.MaxDepth {
		return usagef("--depth: %d is outside 1..%d", o.depth, entity.MaxDepth)
	}
	return a.withStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		shown, err := entity.Show(ctx, s, name, f, a.shownAs(ctx, l), func(e *entity.Options) { e.Superseded = o.history })
		if err != nil {
			return badUsage(err)
		}
		v := entityView{View: shown}
		if o.depth > 1 {
			g, err := entity.Neighbourhood(ctx, s, name, o.depth, f)
			if err != nil {
				return badUsage(err)
			}
			for _, n := range g.Nodes {
				if n.Depth > 1 {
					v.Further = append(v.Further, n)
				}
			}
		}
		if a.json {
			return a.printJSON(v)
		}
		a.printEntity(&v)
		return nil
	})
}

func (a *app) printEntity(v *entityView) {
	title := cell(v.Display)
	if v.About != "" {
		title += ": " + cell(v.About)
	}
	fmt.Fprintf(a.out, "%s\n%s, %s", title, v.Type, count(v.Records, "record"))
	for _, more := range []struct {
		what  string
		names []string
	}{{"also called", v.Aliases}, {"the name may also mean", v.Others}} {
		if len(more.names) > 0 {
			fmt.Fprintf(a.out, "; %s %s", more.what, cell(strings.Join(more.names, ", ")))
		}
	}
	fmt.Fprintln(a.out)
	a.printRules(v)
	a.printLinks("depends on", v.Dependencies)
	a.printLinks("needed by", v.Dependents)
	a.part("tasks", len(v.Tasks))
	for i := range v.Tasks {
		t := &v.Tasks[i]
		fmt.Fprintf(a.out, "  %s  %-11s  %s\n", t.ID, taskState(t), cell(t.Title))
	}
	for i := range v.Aspects {
		a.printAspect(&v.Aspects[i])
	}
	a.part("replaced", len(v.Superseded))
	for i := range v.Superseded {
		a.printKnown(&v.Superseded[i], "")
	}
	a.part("further away", len(v.Further))
	for i := range v.Further {
		n := &v.Further[i]
		fmt.Fprintf(a.out, "  %d away  %s  (%s, %s)\n", n.Depth, cell(n.Display), n.Type, count(n.Constraints, "rule"))
	}
	a.printBasis(v)
}

func (a *app) printRules(v *entityView) {
	a.part("constraints", len(v.Constraints))
	for i := range v.Constraints {
		r := &v.Constraints[i]
		a.printKnown(&r.Claim, reach(r.Via, r.Says))
	}
}

// reach says in parentheses how a rule comes to be one of an entity: over a dependency,
// or by a name in its words; "" for one of its own.
func reach(via, says string) string {
	var ways []string
	if via != "" {
		ways = append(ways, "via "+cell(via))
	}
	if says != "" {
		ways = append(ways, "says "+cell(says))
	}
	if len(ways) == 0 {
		return ""
	}
	return " (" + strings.Join(ways, ", ") + ")"
}

func (a *app) printLinks(title string, links []entity.Dependency) {
	a.part(title, len(links))
	for i := range links {
		d := &links[i]
		fmt.Fprintf(a.out, "  %s  %-8s  %.2f  %s\n", a.shortID(d.Claim.ID), cell(d.Type), d.Strength, cell(d.Name))
	}
}

func (a *app) printAspect(s *entity.Aspect) {
	if len(s.Attributes) == 0 {
		return // rules alone, which are above
	}
	name := cell(s.Name)
	if name == "" {
		name = "not filed under an aspect yet"
	}
	fmt.Fprintf(a.out, "\n%s (%.2f)\n", name, s.Weight)
	for i := range s.Attributes {
		a.printKnown(&s.Attributes[i], "")
	}
	if n := s.Claims - s.Constraints - len(s.Attributes); n > 0 {
		fmt.Fprintf(a.out, "  … and %d more\n", n)
	}
}

// printKnown prints a claim whole: half a rule is another rule.
func (a *app) printKnown(c *entity.Claim, behind string) {
	text := c.Text
	if c.Whole.Heading != "" {
		text = c.Whole.Heading + ": " + text
	}
	state := c.Tier
	if c.Status != ken.StatusObserved && c.Status != ken.StatusVerified {
		state += ", " + string(c.Status)
	}
	fmt.Fprintf(a.out, "  %s  %s  %s%s\n", a.shortID(c.ID), state, cell(text), behind)
}

// part begins a part of an entity that has something in it.
func (a *app) part(title string, n int) {
	if n > 0 {
		fmt.Fprintf(a.out, "\n%s\n", title)
	}
}

// printBasis counts what the claims rest on.
func (a *app) printBasis(v *entityView) {
	if len(v.Evidence) == 0 {
		return
	}
	var parts []string
	for _, kind := range sortedKeys(v.Evidence) {
		parts = append(parts, fmt.Sprintf("%d %s", v.Evidence[kind], kind))
	}
	fmt.Fprintf(a.out, "\nevidence: %s\n", strings.Join(parts, ", "))
}

// count writes "1 record" and "2 records".
func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
