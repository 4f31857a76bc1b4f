// Package entity provides the commands for entities, their rules and their dependencies.
package entity

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/knowledge/structure/edit"
	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

type commands struct{ *cli.App }

// Commands returns the commands of this group.
func Commands(app *cli.App) []*cobra.Command {
	c := &commands{app}
	return []*cobra.Command{c.entityCommand(), c.constraintCommand(), c.dependencyCommand()}
}

// entityCommand groups the commands for entities, which are the things that claims name.
func (a *commands) entityCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "entity",
		Short: "Show and describe the entities that claims are about",
		Example: `  ken entity list
  ken entity show ledger`,
		Long: "Show the entities that claims are about: systems, people, projects, tools, concepts, skills. An entity exists as soon as a " +
			"claim carries its name. Case, hyphens and articles make no difference in a name.",
		Args: cli.OnlySubcommands,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.entityShowCommand(), a.entitySearchCommand(), a.entityListCommand(), a.entityGraphCommand(), a.entityDescribeCommand(),
		a.entityMergeCommand(), a.entityAliasCommand(), a.entitySplitCommand(), a.entityDropCommand(), a.entityRenameCommand(), a.entityBackfillCommand())
	return cmd
}

func (a *commands) entityDescribeCommand() *cobra.Command {
	var typ string
	cmd := &cobra.Command{
		Use:   "describe NAME [TEXT|-] [--type TYPE]",
		Short: "Say what an entity is",
		Long: "Say what an entity is: its type, and in words its name and what it does, as in \"Payments: moves the money\". What is left out " +
			"stays as it was. The name need not be known yet.",
		Example: `  ken entity describe payments --type system "Payments: moves the money"`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usagef("describe: NAME is missing")
			}
			return nil
		},
		ValidArgsFunction: a.Complete(cli.EntityNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			text := ""
			if len(args) > 1 || typ == "" {
				var err error
				if text, err = a.ReadText(cmd.Context(), args[1:]); err != nil {
					return err
				}
			}
			return a.runEdit(cmd.Context(), func(e *edit.Editor) (ken.Claim, error) { return e.Describe(cmd.Context(), args[0], typ, text) })
		},
	}
	cmd.Flags().StringVar(&typ, "type", "", "the `TYPE` of thing that it is: person, project, system, tool, concept or skill")
	cli.CompleteWords(cmd, "type", describableTypes()...)
	return cmd
}

// describableTypes returns the types that a user may set. Task is not among them, because
// tasks are created by a command of their own.
func describableTypes() (out []string) {
	for _, t := range entity.Types() {
		if t != "task" {
			out = append(out, t)
		}
	}
	return out
}

func (a *commands) entityGraphCommand() *cobra.Command {
	var o cli.PictureFlags
	cmd := &cobra.Command{
		Use:   "graph NAME",
		Short: "Draw what depends on what around an entity",
		Long: "Draw an entity with what it depends on, what depends on it, and the tasks about it, at most 60 boxes: of what does not fit, " +
			"the nearest and then the strongest is drawn. An SVG is a picture for a browser, Mermaid is for Markdown, DOT is for Graphviz. " +
			"--json prints the graph itself.",
		Example: `  ken entity graph payments -o payments.svg
  ken entity graph payments --format mermaid --depth 1`,
		Args:              cli.ExactArgs("NAME"),
		ValidArgsFunction: a.Complete(cli.EntityNames),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.drawEntity(cmd.Context(), args[0], &o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.Format, "format", "", "the `FORMAT`: svg, mermaid or dot; default what the file's name says, else svg")
	f.IntVar(&o.Depth, "depth", 2, "up to `N` dependencies away, 1 to 3")
	f.StringVarP(&o.Out, "out", "o", "", "write this `FILE`, whole or not at all; default standard output")
	f.StringArrayVar(&o.Scopes, "scope", nil, "only what is known in this scope, as `TYPE:ID`, or in all (repeatable)")
	cli.CompleteWords(cmd, "format", "svg", "mermaid", "dot")
	return cmd
}

func (a *commands) drawEntity(ctx context.Context, name string, o *cli.PictureFlags) error {
	draw, err := o.Picture()
	if err != nil {
		return err
	}
	f, err := cli.StandingFilter(o.Scopes)
	if err != nil {
		return err
	}
	return a.ReadStore(ctx, func(_ *middleware.Layer, s store.Engine) error {
		g, err := entity.Neighbourhood(ctx, s, name, o.Depth, f)
		if err != nil {
			return cli.AsUsageError(err)
		}
		return a.DrawPicture(o.Out, func(w io.Writer) error { return draw(w, g) }, g, fmt.Sprintf("%d entities", len(g.Nodes)), g.Left)
	})
}

func (a *commands) entityMergeCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "merge A B",
		Short: "Merge an entity into another one",
		Long: "Make the name A an alias of entity B: from then on the claims of either are found under both names, and a rule of one is " +
			"also a rule of the other. No claim is changed; ken entity split undoes it.",
		Example:           `  ken entity merge "payment gateway" payments --reason "one service, two names"`,
		Args:              cli.ExactArgs("A", "B"),
		ValidArgsFunction: a.Complete(cli.EntityNames, cli.EntityNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runEdit(cmd.Context(), func(e *edit.Editor) (ken.Claim, error) { return e.Merge(cmd.Context(), args[0], args[1], reason) })
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "a `REASON`: why they are one, for the history")
	return cmd
}

func (a *commands) entityAliasCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "alias NAME OTHER",
		Short: "Add an alias of an entity",
		Long: "Add another name of an entity, whether claims use it or not. From then on both names mean the same entity; " +
			"ken entity split undoes it.",
		Example:           `  ken entity alias identity auth`,
		Args:              cli.ExactArgs("NAME", "OTHER"),
		ValidArgsFunction: a.Complete(cli.EntityNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runEdit(cmd.Context(), func(e *edit.Editor) (ken.Claim, error) { return e.Alias(cmd.Context(), args[0], args[1], reason) })
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "a `REASON`: why it is called so, for the history")
	return cmd
}

func (a *commands) entitySplitCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "split NAME",
		Short: "Remove an alias",
		Long: "Undo a merge, alias or rename: the name means an entity of its own again. Claims written under either name stay " +
			"under that name. Merging again is possible, and the history shows all of it.",
		Example:           `  ken entity split "payment gateway" --reason "two services after all"`,
		Args:              cli.ExactArgs("NAME"),
		ValidArgsFunction: a.Complete(aliasNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runEdit(cmd.Context(), func(e *edit.Editor) (ken.Claim, error) { return e.Split(cmd.Context(), args[0], reason) })
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "a `REASON`: why it is something else, for the history")
	return cmd
}

func (a *commands) entityDropCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "drop NAME",
		Short: "Remove a wrong entity name from all claims",
		Long: "Remove a name from every claim that carries it. The claims stay, with their text and their other names; dependencies and aliases of the " +
			"name are disputed. A rule that is about nothing else becomes a candidate, since it would be in every turn.",
		Example:           `  ken entity drop quarterly`,
		Args:              cli.ExactArgs("NAME"),
		ValidArgsFunction: a.Complete(cli.EntityNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithEditor(cmd.Context(), func(e *edit.Editor) error {
				n, err := e.Drop(cmd.Context(), args[0], reason)
				if err != nil {
					return err
				}
				return a.Show(map[string]any{"name": args[0], "changed": n}, func() { fmt.Fprintf(a.Out, "%s changed\n", cli.Count(n, "claim")) })
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "a `REASON`: why it is not a name, for the history")
	return cmd
}

func (a *commands) entityRenameCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "rename OLD NEW",
		Short: "Give an entity a new name, and keep the old one working",
		Long: "Give an entity a new name. The old one keeps working, in questions and in claims that carry it. A new name that is known " +
			"already is rejected: use ken entity merge to make two entities one.",
		Example:           `  ken entity rename payments "money mover"`,
		Args:              cli.ExactArgs("OLD", "NEW"),
		ValidArgsFunction: a.Complete(cli.EntityNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runEdit(cmd.Context(), func(e *edit.Editor) (ken.Claim, error) { return e.Rename(cmd.Context(), args[0], args[1]) })
		},
	}
}

func (a *commands) entitySearchCommand() *cobra.Command {
	var limit int
	var scopes []string
	cmd := &cobra.Command{
		Use:   "search TEXT",
		Short: "Find entities by their names",
		Long: "Find entities by their names: exact ones first, then what begins with the text or has it in it, then what is spelled much like " +
			"it; of each, what most claims carry first.",
		Example: `  ken entity search pay`,
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := a.ReadText(cmd.Context(), args)
			if err != nil {
				return err
			}
			return a.findEntities(cmd.Context(), text, "", limit, scopes)
		},
	}
	cmd.Flags().IntVarP(&limit, "limit", "n", 20, "find at most `N` entities")
	cmd.Flags().StringArrayVar(&scopes, "scope", nil, "only what is known in this scope, as `TYPE:ID`, or in all (repeatable)")
	return cmd
}

func (a *commands) entityListCommand() *cobra.Command {
	var limit int
	var typ string
	var scopes []string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the entities that claims are about",
		Long:    "List the entities that claims are about, those with the most claims first. Tasks have a list of their own: ken tasks.",
		Example: `  ken entity list --type system`,
		Args:    cli.ExactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if typ != "" && !slices.Contains(describableTypes(), typ) {
				return cli.Invalid("--type", fmt.Sprintf("%q is no type of an entity", typ),
					"Use one of "+strings.Join(describableTypes(), ", ")+"; ken tasks lists tasks.")
			}
			return a.findEntities(cmd.Context(), "", typ, limit, scopes)
		},
	}
	cmd.Flags().StringVar(&typ, "type", "", "only what is of this `TYPE`: person, project, system, tool, concept, skill or unknown")
	cmd.Flags().IntVarP(&limit, "limit", "n", 50, "list at most `N` entities")
	cmd.Flags().StringArrayVar(&scopes, "scope", nil, "only what is known in this scope, as `TYPE:ID`, or in all (repeatable)")
	cli.CompleteWords(cmd, "type", describableTypes()...)
	return cmd
}

// findEntities prints the entities that match; an empty text matches all.
func (a *commands) findEntities(ctx context.Context, text, typ string, limit int, scopes []string) error {
	if limit < 1 {
		return cli.Usagef("--limit: %d is less than 1", limit)
	}
	f, err := cli.StandingFilter(scopes)
	if err != nil {
		return err
	}
	return a.ReadStore(ctx, func(_ *middleware.Layer, s store.Engine) error {
		most := limit
		if typ != "" { // hits are filtered by type afterwards
			most = math.MaxInt32
		}
		found, err := entity.Search(ctx, s, text, f, most)
		if err != nil {
			return cli.AsUsageError(err)
		}
		if typ != "" {
			found.Hits = slices.DeleteFunc(found.Hits, func(h entity.Hit) bool { return h.Type != typ })
			found.Total = len(found.Hits)
			found.Hits = found.Hits[:min(limit, len(found.Hits))]
		}
		return a.Show(map[string]any{"entities": found.Hits, "total": found.Total}, func() { a.printEntities(&found) })
	})
}

func (a *commands) printEntities(found *entity.Matches) {
	if len(found.Hits) == 0 {
		fmt.Fprintln(a.Err, "ken: nothing found")
		return
	}
	a.PrintTable([]string{"TYPE", "RECORDS", "RULES", "MATCH", "NAME"}, cli.Map(found.Hits, func(h *entity.Hit) []string {
		shown := h.Name
		if len(h.Of) > 0 {
			shown += " → " + strings.Join(h.Of, ", ")
		}
		return []string{h.Type, fmt.Sprint(h.Records), fmt.Sprint(h.Constraints), h.Match, shown}
	}))
	if n := found.Total - len(found.Hits); n > 0 {
		fmt.Fprintf(a.Err, "ken: %d more: --limit shows more of them\n", n)
	}
}

// runEdit applies a change of the structure and prints the resulting claim.
func (a *commands) runEdit(ctx context.Context, change func(*edit.Editor) (ken.Claim, error)) error {
	return a.WithStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		c, err := change(cli.Desk(l, s).Editor())
		if err != nil {
			return cli.AsUsageError(err)
		}
		return a.PrintClaim(l.Operator().View(c))
	})
}

// showOptions sets the options by which entities are shown with the same weights as in turns.
func (a *commands) showOptions(ctx context.Context, l *middleware.Layer) func(*entity.Options) {
	learner := l.Operator().Learner(a.Owner)
	loaded := learner.Load(ctx) == nil // without it, aspects have their default weights
	return func(o *entity.Options) {
		o.DecayDays = l.Config().Knowledge.DecayDays
		if loaded {
			o.Utility = learner
		}
	}
}

func aliasNames(ctx context.Context, _ *middleware.Layer, s store.Engine) (out []string, err error) {
	f, err := cli.StandingFilter(nil)
	if err != nil {
		return nil, err
	}
	f.Kinds = []ken.Kind{ken.KindAlias}
	for c, err := range s.Scan(ctx, f, nil) {
		if err != nil {
			return out, err
		}
		if len(c.Entities) == 2 {
			out = append(out, c.Entities[1]+"\tanother name of "+cli.Cell(c.Entities[0]))
		}
	}
	return out, nil
}
