package entity

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/cli"
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

// entityView is an entity and, with a depth above 1, the entities further away.
type entityView struct {
	entity.View
	Further []entity.Node `json:"further,omitempty"`
}

func (a *commands) entityShowCommand() *cobra.Command {
	var o entityShowOptions
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show what is known of an entity",
		Long: "Show what is known of an entity, under any of its names: every rule that holds for it, those of what is one dependency away with " +
			"the way there; what it depends on and what depends on it; tasks about it; and the claims under each of its aspects, those that " +
			"weigh most first. With --depth, also what is further away.",
		Example: `  ken entity show payments
  ken entity show payments --history --json`,
		Args:              cli.ExactArgs("NAME"),
		ValidArgsFunction: a.Complete(cli.EntityNames),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.showEntity(cmd.Context(), args[0], &o) },
	}
	cmd.Flags().BoolVar(&o.history, "history", false, "also what was replaced")
	cmd.Flags().IntVar(&o.depth, "depth", 1, "also entities up to `N` dependencies away, at most 3")
	cmd.Flags().StringArrayVar(&o.scopes, "scope", nil, "only what is known in this scope, as `TYPE:ID`, or in all (repeatable)")
	return cmd
}

func (a *commands) showEntity(ctx context.Context, name string, o *entityShowOptions) error {
	f, err := cli.StandingFilter(o.scopes)
	if err != nil {
		return err
	}
	if err := cli.Between("--depth", o.depth, 1, entity.MaxDepth); err != nil {
		return err
	}
	return a.ReadStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		shown, err := entity.Show(ctx, s, name, f, a.showOptions(ctx, l), func(e *entity.Options) { e.Superseded = o.history })
		if err != nil {
			return cli.AsUsageError(err)
		}
		v := entityView{View: shown}
		if o.depth > 1 {
			g, err := entity.Neighbourhood(ctx, s, name, o.depth, f)
			if err != nil {
				return cli.AsUsageError(err)
			}
			v.Further = slices.DeleteFunc(g.Nodes, func(n entity.Node) bool { return n.Depth <= 1 })
		}
		return a.Show(v, func() { a.printEntity(&v) })
	})
}

func (a *commands) printEntity(v *entityView) {
	title := cli.Cell(v.Display)
	if v.About != "" {
		title += ": " + cli.Cell(v.About)
	}
	fmt.Fprintf(a.Out, "%s\n%s, %s", title, v.Type, cli.Count(v.Records, "record"))
	for _, more := range []struct {
		what  string
		names []string
	}{{"also called", v.Aliases}, {"the name may also mean", v.Others}} {
		if len(more.names) > 0 {
			fmt.Fprintf(a.Out, "; %s %s", more.what, cli.Cell(strings.Join(more.names, ", ")))
		}
	}
	fmt.Fprintln(a.Out)
	a.PrintHeading("constraints", len(v.Constraints))
	for i := range v.Constraints {
		r := &v.Constraints[i]
		a.printKnown(&r.Claim, reach(r.Via, r.Says))
	}
	a.printLinks("depends on", v.Dependencies)
	a.printLinks("needed by", v.Dependents)
	a.PrintHeading("tasks", len(v.Tasks))
	for i := range v.Tasks {
		t := &v.Tasks[i]
		fmt.Fprintf(a.Out, "  %s  %-11s  %s\n", t.ID, cli.TaskState(t), cli.Cell(t.Title))
	}
	for i := range v.Aspects {
		a.printAspect(&v.Aspects[i])
	}
	a.PrintHeading("replaced", len(v.Superseded))
	for i := range v.Superseded {
		a.printKnown(&v.Superseded[i], "")
	}
	a.PrintHeading("further away", len(v.Further))
	for i := range v.Further {
		n := &v.Further[i]
		fmt.Fprintf(a.Out, "  %d away  %s  (%s, %s)\n", n.Depth, cli.Cell(n.Display), n.Type, cli.Count(n.Constraints, "rule"))
	}
	a.printBasis(v)
}

// reach says in parentheses why a rule applies to an entity: through a dependency, or
// by a name in its text; "" for a rule of its own.
func reach(via, says string) string {
	var ways []string
	if via != "" {
		ways = append(ways, "via "+cli.Cell(via))
	}
	if says != "" {
		ways = append(ways, "says "+cli.Cell(says))
	}
	if len(ways) == 0 {
		return ""
	}
	return " (" + strings.Join(ways, ", ") + ")"
}

func (a *commands) printLinks(title string, links []entity.Dependency) {
	a.PrintHeading(title, len(links))
	for i := range links {
		d := &links[i]
		fmt.Fprintf(a.Out, "  %s  %-8s  %.2f  %s\n", a.ShortID(d.Claim.ID), cli.Cell(d.Type), d.Strength, cli.Cell(d.Name))
	}
}

func (a *commands) printAspect(s *entity.Aspect) {
	if len(s.Attributes) == 0 {
		return // only rules, which are printed above
	}
	fmt.Fprintf(a.Out, "\n%s (%.2f)\n", cmp.Or(cli.Cell(s.Name), "not filed under an aspect yet"), s.Weight)
	for i := range s.Attributes {
		a.printKnown(&s.Attributes[i], "")
	}
	if n := s.Claims - s.Constraints - len(s.Attributes); n > 0 {
		fmt.Fprintf(a.Out, "  … and %d more\n", n)
	}
}

// printKnown prints a claim uncut, because a cut rule could mean something else.
func (a *commands) printKnown(c *entity.Claim, behind string) {
	text := c.Text
	if c.Whole.Heading != "" {
		text = c.Whole.Heading + ": " + text
	}
	state := c.Tier
	if c.Status != ken.StatusObserved && c.Status != ken.StatusVerified {
		state += ", " + string(c.Status)
	}
	fmt.Fprintf(a.Out, "  %s  %s  %s%s\n", a.ShortID(c.ID), state, cli.Cell(text), behind)
}

// printBasis prints how many claims have which kind of evidence.
func (a *commands) printBasis(v *entityView) {
	if len(v.Evidence) > 0 {
		fmt.Fprintf(a.Out, "\nevidence: %s\n", cli.Counts(v.Evidence))
	}
}

func (a *commands) entityBackfillCommand() *cobra.Command {
	var status bool
	cmd := &cobra.Command{
		Use:   "backfill",
		Short: "File the claims that are not filed yet, and show how far that is",
		Long: "Run the background filing now: find what each claim is about, by rules and by the model where one is configured. A claim whose " +
			"subject is not sure enough is left out, and counted. Doing it again changes nothing. With --status, only show how far it is.",
		Example: `  ken entity backfill --status
  ken entity backfill`,
		Args: cli.ExactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.backfill(cmd.Context(), status) },
	}
	cmd.Flags().BoolVar(&status, "status", false, "change nothing")
	return cmd
}

type backfillView struct {
	Coverage classify.Coverage `json:"coverage"`
	Share    float64           `json:"share"` // share of the claims that are filed
	State    classify.State    `json:"state"`
	Seq      uint64            `json:"seq"` // number of the log's last event
	Waiting  int               `json:"waiting"`
	Dead     int               `json:"dead"`
}

func (a *commands) backfill(ctx context.Context, status bool) error {
	return a.ReadStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		if l.Config().Structure.Classify == config.ClassifyOff {
			a.Note("structure.classify is off: claims are filed as they are written, and not afterwards")
		} else if !status {
			if err := a.file(ctx, l, s); err != nil {
				return err
			}
		}
		v := backfillView{Seq: s.Seq()}
		var err error
		if v.State, err = l.Operator().Filing(ctx, a.Owner); err != nil {
			return err
		}
		if v.Coverage, err = classify.Cover(ctx, s, nil); err != nil {
			return err
		}
		v.Share = v.Coverage.Share()
		all, err := l.Operator().Jobs(a.Owner).List(ctx, jobs.Queued, jobs.Running, jobs.Dead)
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
		return a.Show(v, func() { a.printBackfill(&v) })
	})
}

// file files all claims and shows the progress.
func (a *commands) file(ctx context.Context, l *middleware.Layer, s store.Engine) error {
	p := a.Progress()
	defer p.Done()
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
				if st, err := l.Operator().Filing(ctx, a.Owner); err == nil {
					p.Update("file claims", int(st.Rules), int(s.Seq()))
				}
			}
		}
	}()
	_, err := l.Operator().File(ctx, a.Owner)
	close(done)
	<-watched
	return err
}

func (a *commands) printBackfill(v *backfillView) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(a.Out, "%-12s  %s\n", name, fmt.Sprintf(format, args...))
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
	if len(n.Refused) > 0 {
		line("refused", "%s", cli.Counts(n.Refused))
	}
}
