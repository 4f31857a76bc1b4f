package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure/draw"
	"github.com/kenlayer/ken/internal/knowledge/structure/edit"
	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// entityCommand groups what is about the things that claims speak of.
func (a *app) entityCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "entity",
		Short: "Look at the things that claims are about, and say what they are",
		Long: "Look at the things that claims are about: systems, people, projects, tools, concepts, skills. There is an entity as soon as a " +
			"claim carries its name. Case, hyphens and articles make no difference in a name.",
		Args: onlySubcommands,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.entityShowCommand(), a.entitySearchCommand(), a.entityListCommand(), a.entityGraphCommand(), a.entityDescribeCommand(),
		a.entityMergeCommand(), a.entityAliasCommand(), a.entitySplitCommand(), a.entityRenameCommand(), a.entityBackfillCommand())
	return cmd
}

func (a *app) entityDescribeCommand() *cobra.Command {
	var typ string
	cmd := &cobra.Command{
		Use:   "describe NAME [TEXT|-] [--type TYPE]",
		Short: "Say what an entity is",
		Long: "Say what an entity is: its type, and in words its name and what it does, as in \"Payments: moves the money\". What is left out " +
			"stays as it was. The name need not be known yet.",
		Example: `  ken entity describe payments --type system "Payments: moves the money"`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("describe: NAME is missing")
			}
			return nil
		},
		ValidArgsFunction: a.completes(entityNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			text := ""
			if len(args) > 1 || typ == "" {
				var err error
				if text, err = a.text(args[1:]); err != nil {
					return err
				}
			}
			return a.edited(cmd.Context(), func(e *edit.Editor) (ken.Claim, error) { return e.Describe(cmd.Context(), args[0], typ, text) })
		},
	}
	cmd.Flags().StringVar(&typ, "type", "", "what `sort` of thing it is: person, project, system, tool, concept or skill")
	a.completeFlag(cmd, "type", words(describable()...))
	return cmd
}

// describable are the types that a person may say: tasks are created.
func describable() (out []string) {
	for _, t := range entity.Types() {
		if t != "task" {
			out = append(out, t)
		}
	}
	return out
}

type graphOptions struct {
	format, out string
	depth       int
	scopes      []string
}

// drawing draws a graph in some format.
type drawing = func(io.Writer, entity.Graph, ...func(*draw.Words)) error

// pictures are the formats of a graph.
var pictures = map[string]drawing{"svg": draw.SVG, "mermaid": draw.Mermaid, "dot": draw.DOT}

// endings are what files of these formats are called.
var endings = map[string]string{".svg": "svg", ".mmd": "mermaid", ".mermaid": "mermaid", ".dot": "dot", ".gv": "dot"}

func (a *app) entityGraphCommand() *cobra.Command {
	var o graphOptions
	cmd := &cobra.Command{
		Use:   "graph NAME",
		Short: "Draw what depends on what around an entity",
		Long: "Draw an entity with what it depends on, what depends on it, and the tasks about it, at most 60 boxes: of what does not fit, " +
			"the nearest and then the strongest is drawn. An SVG is a picture for a browser, Mermaid is for Markdown, DOT is for Graphviz. " +
			"--json prints the graph itself.",
		Example: `  ken entity graph payments -o payments.svg
  ken entity graph payments --format mermaid --depth 1`,
		Args:              takes("NAME"),
		ValidArgsFunction: a.completes(entityNames),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.drawEntity(cmd.Context(), args[0], &o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.format, "format", "", "the `format`: svg, mermaid or dot; default what the file's name says, else svg")
	f.IntVar(&o.depth, "depth", 2, "how `many` dependencies away, 1 to 3")
	f.StringVarP(&o.out, "out", "o", "", "write this `file`, whole or not at all; default standard output")
	f.StringArrayVar(&o.scopes, "scope", nil, "only what is known in this scope, as `type:id`, or in all (repeatable)")
	a.completeFlag(cmd, "format", words("svg", "mermaid", "dot"))
	return cmd
}

// picture chooses the format.
func (o *graphOptions) picture() (drawing, error) {
	format := strings.ToLower(o.format)
	if format == "" {
		format = endings[strings.ToLower(filepath.Ext(o.out))]
	}
	if format == "" {
		format = "svg"
	}
	draw := pictures[format]
	if draw == nil {
		return nil, usage{&ken.Error{Code: ken.CodeInvalid, Field: "--format", Msg: fmt.Sprintf("unknown format %q", o.format), Try: "Use svg, mermaid or dot."}}
	}
	return draw, nil
}

func (a *app) drawEntity(ctx context.Context, name string, o *graphOptions) error {
	draw, err := o.picture()
	if err != nil {
		return err
	}
	f, err := standing(o.scopes)
	if err != nil {
		return err
	}
	return a.withStore(ctx, func(_ *middleware.Layer, s store.Engine) error {
		g, err := entity.Neighbourhood(ctx, s, name, o.depth, f)
		if err != nil {
			return badUsage(err)
		}
		toFile := o.out != "" && o.out != "-"
		write := func(w io.Writer) error { return draw(w, g) }
		switch {
		case toFile:
			if err := replaceFile(o.out, write); err != nil {
				return err
			}
			if !a.json {
				fmt.Fprintf(a.err, "%d entities drawn in %s\n", len(g.Nodes), o.out)
			}
		case !a.json:
			w := bufio.NewWriter(a.out)
			if err := errors.Join(write(w), w.Flush()); err != nil {
				return err
			}
		}
		if a.json {
			return a.printJSON(g)
		}
		if g.Left > 0 {
			fmt.Fprintf(a.err, "ken: %d more did not fit\n", g.Left)
		}
		return nil
	})
}

func (a *app) entityMergeCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "merge A B",
		Short: "Make one entity another name of a second one",
		Long: "Make the entity A another name of B: from then on all that is known of either is found under both names, and a rule of one is " +
			"one of the other. No claim is changed; ken entity split takes it back.",
		Example:           `  ken entity merge "payment gateway" payments --reason "one service, two names"`,
		Args:              takes("A", "B"),
		ValidArgsFunction: a.completes(entityNames, entityNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.edited(cmd.Context(), func(e *edit.Editor) (ken.Claim, error) { return e.Merge(cmd.Context(), args[0], args[1], reason) })
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "`why` they are one, for the history")
	return cmd
}

func (a *app) entityAliasCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "alias NAME OTHER",
		Short: "Tell another name of an entity",
		Long: "Tell another name by which people call an entity, whether anything is known under it or not. From then on who says either means both; " +
			"ken entity split takes it back.",
		Example:           `  ken entity alias identity auth`,
		Args:              takes("NAME", "OTHER"),
		ValidArgsFunction: a.completes(entityNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.edited(cmd.Context(), func(e *edit.Editor) (ken.Claim, error) { return e.Alias(cmd.Context(), args[0], args[1], reason) })
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "`why` it is called so, for the history")
	return cmd
}

func (a *app) entitySplitCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "split NAME",
		Short: "Let a name stand for itself again",
		Long: "Take back what made a name another name of something, by ken entity merge, alias or rename. What was written under either name stays " +
			"under that name. Merging again is possible, and the history shows all of it.",
		Example:           `  ken entity split "payment gateway" --reason "two services after all"`,
		Args:              takes("NAME"),
		ValidArgsFunction: a.completes(aliasNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.edited(cmd.Context(), func(e *edit.Editor) (ken.Claim, error) { return e.Split(cmd.Context(), args[0], reason) })
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "`why` it is something else, for the history")
	return cmd
}

func (a *app) entityRenameCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "rename OLD NEW",
		Short: "Give an entity a new name, and keep the old one working",
		Long: "Give an entity a new name. The old one keeps working, in questions and in claims that carry it. A new name that is known " +
			"already is refused: ken entity merge makes one thing of two.",
		Example:           `  ken entity rename payments "money mover"`,
		Args:              takes("OLD", "NEW"),
		ValidArgsFunction: a.completes(entityNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.edited(cmd.Context(), func(e *edit.Editor) (ken.Claim, error) { return e.Rename(cmd.Context(), args[0], args[1]) })
		},
	}
}

func (a *app) entitySearchCommand() *cobra.Command {
	var limit int
	var scopes []string
	cmd := &cobra.Command{
		Use:   "search TEXT",
		Short: "Find entities by their names",
		Long: "Find entities by their names: exact ones first, then what begins with the text or has it in it, then what is spelled much like " +
			"it; of each, what most claims carry first.",
		Example: `  ken entity search pay`,
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := a.text(args)
			if err != nil {
				return err
			}
			return a.findEntities(cmd.Context(), text, "", limit, scopes)
		},
	}
	cmd.Flags().IntVarP(&limit, "limit", "n", 20, "the `most` entities to find")
	cmd.Flags().StringArrayVar(&scopes, "scope", nil, "only what is known in this scope, as `type:id`, or in all (repeatable)")
	return cmd
}

func (a *app) entityListCommand() *cobra.Command {
	var limit int
	var typ string
	var scopes []string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the entities that something is known of",
		Long:    "List the entities that something is known of, those that most claims carry first. Tasks have a list of their own: ken tasks.",
		Example: `  ken entity list --type system`,
		Args:    takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if typ != "" && !slices.Contains(describable(), typ) {
				return usage{&ken.Error{Code: ken.CodeInvalid, Field: "--type", Msg: fmt.Sprintf("%q is no type of an entity", typ),
					Try: "Use one of " + strings.Join(describable(), ", ") + "; ken tasks lists tasks."}}
			}
			return a.findEntities(cmd.Context(), "", typ, limit, scopes)
		},
	}
	cmd.Flags().StringVar(&typ, "type", "", "only what is of this `sort`: person, project, system, tool, concept, skill or unknown")
	cmd.Flags().IntVarP(&limit, "limit", "n", 50, "the `most` entities to list")
	cmd.Flags().StringArrayVar(&scopes, "scope", nil, "only what is known in this scope, as `type:id`, or in all (repeatable)")
	a.completeFlag(cmd, "type", words(describable()...))
	return cmd
}

// findEntities lists what matches; an empty text matches all.
func (a *app) findEntities(ctx context.Context, text, typ string, limit int, scopes []string) error {
	if limit < 1 {
		return usagef("--limit: %d is less than 1", limit)
	}
	f, err := standing(scopes)
	if err != nil {
		return err
	}
	return a.withStore(ctx, func(_ *middleware.Layer, s store.Engine) error {
		most := limit
		if typ != "" { // it is known only of what is looked at
			most = math.MaxInt32
		}
		found, err := entity.Search(ctx, s, text, f, most)
		if err != nil {
			return badUsage(err)
		}
		if typ != "" {
			found.Hits = slices.DeleteFunc(found.Hits, func(h entity.Hit) bool { return h.Type != typ })
			found.Total = len(found.Hits)
			found.Hits = found.Hits[:min(limit, len(found.Hits))]
		}
		if a.json {
			return a.printJSON(map[string]any{"entities": found.Hits, "total": found.Total})
		}
		a.printEntities(&found)
		return nil
	})
}

func (a *app) printEntities(found *entity.Matches) {
	if len(found.Hits) == 0 {
		fmt.Fprintln(a.err, "ken: nothing found")
		return
	}
	rows := make([][]string, len(found.Hits))
	for i := range found.Hits {
		h := &found.Hits[i]
		shown := h.Name
		if len(h.Of) > 0 {
			shown += " → " + strings.Join(h.Of, ", ")
		}
		rows[i] = []string{h.Type, fmt.Sprint(h.Records), fmt.Sprint(h.Constraints), h.Match, shown}
	}
	a.printTable([]string{"TYPE", "RECORDS", "RULES", "MATCH", "NAME"}, rows)
	if n := found.Total - len(found.Hits); n > 0 {
		fmt.Fprintf(a.err, "ken: %d more: --limit shows more of them\n", n)
	}
}

// edited runs a change of the structure and prints the claim that came of it.
func (a *app) edited(ctx context.Context, change func(*edit.Editor) (ken.Claim, error)) error {
	return a.withStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		c, err := change(myDesk(l, s).Editor())
		if err != nil {
			return badUsage(err)
		}
		return a.printMoved(l.View(c))
	})
}

// badUsage makes a complaint about what was given a usage error.
func badUsage(err error) error {
	if errors.Is(err, ken.ErrInvalid) {
		return usage{err}
	}
	return err
}

// standing admits what stands now in these scopes, and what has none.
func standing(scopes []string) (*ken.Filter, error) {
	f := &ken.Filter{Unscoped: true, Now: time.Now().UTC()}
	return f, filterFlags(f, nil, nil, scopes)
}

// shownAs sets how entities are shown: as turns weigh them.
func (a *app) shownAs(ctx context.Context, l *middleware.Layer) func(*entity.Options) {
	learner := l.Learner(a.owner)
	loaded := learner.Load(ctx) == nil // without it, aspects weigh what they do for a new owner
	return func(o *entity.Options) {
		o.DecayDays = l.Config().Knowledge.DecayDays
		if loaded {
			o.Utility = learner
		}
	}
}

// entityNames are the names that something is known of, those of tasks apart.
func entityNames(ctx context.Context, _ *middleware.Layer, s store.Engine) (out []string, err error) {
	const most = 2000 // more than a person reads, and what a shell takes without a pause
	f, err := standing(nil)
	if err != nil {
		return nil, err
	}
	found, err := entity.Search(ctx, s, "", f, most)
	for _, h := range found.Hits {
		what := h.Type
		if len(h.Of) > 0 {
			what = "another name of " + strings.Join(h.Of, ", ")
		}
		out = append(out, h.Name+"\t"+cell(what))
	}
	return out, err
}

// aliasNames are names that are other names of something.
func aliasNames(ctx context.Context, _ *middleware.Layer, s store.Engine) (out []string, err error) {
	f, err := standing(nil)
	if err != nil {
		return nil, err
	}
	f.Kinds = []ken.Kind{ken.KindAlias}
	for c, err := range s.Scan(ctx, f, nil) {
		if err != nil {
			return out, err
		}
		if len(c.Entities) == 2 {
			out = append(out, c.Entities[1]+"\tanother name of "+cell(c.Entities[0]))
		}
	}
	return out, nil
}

func taskIDs(ctx context.Context, l *middleware.Layer, s store.Engine) (out []string, err error) {
	all, err := myDesk(l, s).Editor().Tasks(ctx, edit.TaskFilter{})
	for i := range all {
		out = append(out, all[i].ID+"\t"+fit(cell(all[i].Title), 60))
	}
	return out, err
}

// words offers words that are always the same.
func words(list ...string) choices {
	return func(context.Context, *middleware.Layer, store.Engine) ([]string, error) { return list, nil }
}

// completeFlag completes the values of a flag.
func (a *app) completeFlag(cmd *cobra.Command, flag string, list choices) {
	complete := a.completes(list)
	if err := cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		return complete(cmd, nil, begun)
	}); err != nil {
		panic(err) // the command has no such flag
	}
}

// suggestedAspects are the aspects that things of any type usually have.
func suggestedAspects() (out []string) {
	seen := map[string]bool{}
	for _, t := range reading.Types() {
		for _, name := range reading.SuggestedAspects(t) {
			if !seen[name] {
				seen[name] = true
				out = append(out, name)
			}
		}
	}
	return out
}
