package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/knowledge/structure/classify"
	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
	"github.com/kenlayer/ken/internal/run/jobs"
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

func (a *app) entityBackfillCommand() *cobra.Command {
	var status bool
	cmd := &cobra.Command{
		Use:   "backfill",
		Short: "File the claims that are not filed yet, and show how far that is",
		Long: "File the claims that were there before there was a structure, and ask the model about those that it has not seen, where one is " +
			"configured: what runs in the background anyhow, here at once. A claim whose subject is not sure enough is left out, and counted. " +
			"Doing it again changes nothing. With --status, only show how far it is.",
		Example: `  ken entity backfill --status
  ken entity backfill`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.backfill(cmd.Context(), status) },
	}
	cmd.Flags().BoolVar(&status, "status", false, "change nothing")
	return cmd
}

// backfillView is how far the filing is.
type backfillView struct {
	Coverage classify.Coverage `json:"coverage"`
	Share    float64           `json:"share"` // of the claims that have a place
	State    classify.State    `json:"state"`
	Seq      uint64            `json:"seq"` // of the log's last event
	Waiting  int               `json:"waiting"`
	Dead     int               `json:"dead"`
}

func (a *app) backfill(ctx context.Context, status bool) error {
	return a.withStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		if l.Config().Structure.Classify == config.ClassifyOff {
			a.tell("structure.classify is off: claims are filed as they are written, and not afterwards")
		} else if !status {
			if err := a.file(ctx, l, s); err != nil {
				return err
			}
		}
		v := backfillView{Seq: s.Seq()}
		var err error
		if v.State, err = l.Filing(ctx, a.owner); err != nil {
			return err
		}
		if v.Coverage, err = classify.Cover(ctx, s, nil); err != nil {
			return err
		}
		v.Share = v.Coverage.Share()
		all, err := l.Jobs(a.owner).List(ctx, jobs.Queued, jobs.Running, jobs.Dead)
		if err != nil {
			return err
		}
		for i := range all {
			switch {
			case all[i].Kind != classify.JobClassify && all[i].Kind != classify.JobDependency:
			case all[i].State == jobs.Dead:
				v.Dead++
			default:
				v.Waiting++
			}
		}
		if a.json {
			return a.printJSON(v)
		}
		a.printBackfill(&v)
		return nil
	})
}

// file files everything, and reports how far it is meanwhile.
func (a *app) file(ctx context.Context, l *middleware.Layer, s store.Engine) error {
	p := a.progress()
	defer p.done()
	done, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				if st, err := l.Filing(ctx, a.owner); err == nil {
					p.update("file claims", int(st.Rules), int(s.Seq()))
				}
			}
		}
	}()
	_, err := l.File(ctx, a.owner)
	close(done)
	<-watched
	return err
}

func (a *app) printBackfill(v *backfillView) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(a.out, "%-12s  %s\n", name, fmt.Sprintf(format, args...))
	}
	c, n := &v.Coverage, &v.State.Counts
	line("filed", "%d of %d claims (%.0f %%): %d by rules, %d by a model, %d by hand", c.Filed, c.Claims, 100*v.Share, c.Rules, c.Model, c.Operator)
	line("left out", "%d unsure, %d that the rules read nothing in", n.Unsure, n.Unread)
	line("dependencies", "%d by rules, %d by a model, %d taken back", n.Dependencies, n.Ties, n.Retracted)
	line("looked at", "%d of %d events", v.State.Rules, v.Seq)
	if n.Requests > 0 || v.State.Model > 0 {
		line("model", "%d requests, %d failed; up to event %d", n.Requests, n.Failures, v.State.Model)
	}
	if v.Waiting+v.Dead > 0 {
		line("jobs", "%d waiting, %d dead", v.Waiting, v.Dead)
	}
	var refused []string
	for _, why := range sortedKeys(n.Refused) {
		refused = append(refused, fmt.Sprintf("%d %s", n.Refused[why], why))
	}
	if len(refused) > 0 {
		line("refused", "%s", strings.Join(refused, ", "))
	}
}
