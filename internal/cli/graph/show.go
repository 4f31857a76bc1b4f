package graph

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/code/codebase"
	"github.com/kenlayer/ken/internal/code/codegraph"
)

func (a *commands) graphShowCommand(q *graphQuestion) *cobra.Command {
	return &cobra.Command{
		Use:   "show NAME",
		Short: "Show what the code says of something",
		Long: "Show one thing of the code: what it is, where it is declared, what defines it and what it defines, what it refers to, how much refers to it, " +
			"and the decisions that govern it, its file or its package. Of long lists the first are shown; ken graph refs has what refers to it.",
		Example:           `  ken graph show store.Shelf`,
		Args:              cli.ExactArgs("NAME"),
		ValidArgsFunction: a.completesNodes,
		RunE: func(cmd *cobra.Command, args []string) error {
			return askAbout(cmd.Context(), a, q, args[0], (*codegraph.View).Show, a.printNode)
		},
	}
}

// askAbout asks the graph about the thing of a name and shows the result.
func askAbout[T any](ctx context.Context, a *commands, q *graphQuestion, name string, ask func(*codegraph.View, string) (T, error), print func(*T)) error {
	return a.askGraph(ctx, q, func(v *codegraph.View) error {
		id, err := graphID(v, name)
		if err != nil {
			return err
		}
		found, err := ask(v, id)
		if err != nil {
			return cli.AsUsageError(err)
		}
		return a.Show(found, func() { print(&found) })
	})
}

// shownLines is how many lines of a list a terminal shows.
const shownLines = 40

func (a *commands) printNode(s *codegraph.NodeDetails) {
	fmt.Fprintln(a.Out, cli.Cell(s.ID))
	var marks []string
	for _, m := range []struct {
		is   bool
		says string
	}{{s.External, "not in this project"}, {s.Test, "only in tests"}, {s.Generated, "generated"}, {s.HeadOnly, "only its imports are known"}} {
		if m.is {
			marks = append(marks, m.says)
		}
	}
	for _, text := range []string{s.Signature, s.Doc, strings.Join(marks, ", ")} {
		if text != "" {
			fmt.Fprintln(a.Out, cli.Cell(text))
		}
	}
	a.PrintHeading("declared", len(s.Places))
	for _, p := range s.Places {
		fmt.Fprintln(a.Out, "  "+cli.Cell(location(p.Path, p.Line)))
	}
	a.printOmitted(s.PlaceMore)
	if s.Parent != nil {
		fmt.Fprintf(a.Out, "\nin\n  %s\n", cli.Cell(s.Parent.ID))
	}
	a.PrintHeading("governed by", len(s.Governed))
	for _, r := range s.Governed {
		fmt.Fprintf(a.Out, "  %s %s (%s)%s\n", cli.Cell(r.From.ID), cli.Cell(r.From.Signature), r.How, locationSuffix(r.Path, r.Line))
	}
	a.PrintHeading("defines", len(s.Members))
	members := s.Members[:min(len(s.Members), shownLines)]
	for i := range members {
		fmt.Fprintf(a.Out, "  %-9s  %s%s\n", members[i].Kind, cli.Cell(members[i].Name), locationSuffix(members[i].Path, members[i].Line))
	}
	a.printOmitted(s.MemberAll - len(members))
	a.printEdges(s)
	for _, p := range s.Problems {
		fmt.Fprintf(a.Out, "\ncould not be read: %s: %s\n", location(s.Path, p.Line), cli.Cell(p.Text))
	}
}

func (a *commands) printEdges(s *codegraph.NodeDetails) {
	if len(s.Out) > 0 {
		fmt.Fprintf(a.Out, "\nto others: %s\n", kindCounts(s.Out))
	}
	to := s.To[:min(len(s.To), shownLines)]
	for _, e := range to {
		fmt.Fprintf(a.Out, "  %-10s  %-5s  %s%s\n", e.Kind, e.How, cli.Cell(e.To.ID), locationSuffix(e.Path, e.Line))
	}
	if len(to) > 0 {
		all := 0
		for _, c := range s.Out {
			all += c.Exact + c.Guesses
		}
		a.printOmitted(all - len(to))
	}
	if len(s.In) > 0 {
		fmt.Fprintf(a.Out, "\nfrom others: %s\n", kindCounts(s.In))
	}
}

// locationSuffix formats a location to print after other text.
func locationSuffix(path string, line int) string {
	if p := location(path, line); p != "" {
		return "  " + cli.Cell(p)
	}
	return ""
}

func (a *commands) printOmitted(n int) {
	if n > 0 {
		fmt.Fprintf(a.Out, "  … and %d more\n", n)
	}
}

func (a *commands) graphSearchCommand(q *graphQuestion) *cobra.Command {
	var s codebase.Query
	var p codegraph.Page
	var kinds []string
	cmd := &cobra.Command{
		Use:   "search WORDS",
		Short: "Find what the code declares by parts of its name",
		Long: "Find files, packages, types, functions and decisions by what their names look like: the very name, its beginning, the words of camelCase " +
			"and snake_case, a part, or letters in their order. Words may also be in the package or the path. Of what fits alike, what most " +
			"others refer to comes first.",
		Example: `  ken graph search shelf
  ken graph search "open store" --kind function --path store/
  ken graph search retry --exported`,
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := a.ReadText(cmd.Context(), args)
			if err != nil {
				return err
			}
			s.Words = text
			if s.Kinds, err = checkKinds[codegraph.Kind](kinds, nodeKinds); err != nil {
				return err
			}
			if err := checkPage(p); err != nil {
				return err
			}
			return a.askGraph(cmd.Context(), q, func(v *codegraph.View) error { return a.printSearch(codebase.Search(v, s, p), p) })
		},
	}
	kindFlag(cmd, &kinds, "what is", nodeKinds)
	cmd.Flags().StringVar(&s.Path, "path", "", "only what lies in this folder or file, from the root, or in files of such a `PATTERN` as *.go")
	cmd.Flags().BoolVar(&s.Exported, "exported", false, "only what can be seen from outside of its package or file")
	cmd.Flags().BoolVar(&s.NoTests, "no-tests", false, "leave out what only tests declare")
	pageFlags(cmd, &p)
	return cmd
}

func (a *commands) printSearch(found codebase.Found, p codegraph.Page) error {
	return a.Show(found, func() {
		rows := cli.Map(found.Results, func(r *codegraph.Result) []string {
			return []string{string(r.Kind), strconv.Itoa(r.In), location(r.Path, r.Line), r.ID}
		})
		a.PrintTable([]string{"KIND", "EDGES IN", "PLACE", "ID"}, rows)
		a.noteMore(len(rows), p, found.Total)
		if found.Least {
			fmt.Fprintf(a.Err, "ken: only the best %d names were looked at: more words find more exactly\n", codegraph.MaxLimit)
		}
	})
}

func (a *commands) graphRefsCommand(q *graphQuestion) *cobra.Command {
	var p codegraph.Page
	var kinds []string
	cmd := &cobra.Command{
		Use:   "refs NAME",
		Short: "List what refers to something",
		Long: "List what implements, inherits, calls, references, imports and tests something, which decisions govern it, and what defines it, with the " +
			"place of each.",
		Example: `  ken graph refs Shelf
  ken graph refs store.Shelf.View --kind calls`,
		Args:              cli.ExactArgs("NAME"),
		ValidArgsFunction: a.completesNodes,
		RunE: func(cmd *cobra.Command, args []string) error {
			want, err := checkKinds[codegraph.EdgeKind](kinds, edgeKinds)
			if err != nil {
				return err
			}
			if err := checkPage(p); err != nil {
				return err
			}
			return askAbout(cmd.Context(), a, q, args[0], func(v *codegraph.View, id string) (codegraph.Refs, error) { return v.Refs(id, want, p) },
				func(refs *codegraph.Refs) { a.printRefs(refs, p) })
		},
	}
	kindFlag(cmd, &kinds, "edges", edgeKinds)
	pageFlags(cmd, &p)
	return cmd
}

func (a *commands) printRefs(refs *codegraph.Refs, p codegraph.Page) {
	if cli.IsTerminal(a.Out) {
		fmt.Fprintf(a.Out, "%s %s\n%s\n", refs.Node.ID, location(refs.Node.Path, refs.Node.Line), kindCounts(refs.Kinds))
	}
	rows := cli.Map(refs.Refs, func(r *codegraph.Ref) []string {
		return []string{string(r.Kind), string(r.How), location(r.Path, r.Line), r.From.ID, placeCount(r.Times)}
	})
	a.PrintTable([]string{"KIND", "HOW", "PLACE", "FROM", "PLACES"}, rows)
	a.noteMore(len(rows), p, refs.Total)
}

// placeCount formats a number of places; "" for 0.
func placeCount(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// kindCounts formats the number of edges of each kind.
func kindCounts(counts []codegraph.KindCount) string {
	return strings.Join(cli.Map(counts, func(c *codegraph.KindCount) string {
		if c.Guesses > 0 {
			return fmt.Sprintf("%s %d (%d guessed)", c.Kind, c.Exact+c.Guesses, c.Guesses)
		}
		return fmt.Sprintf("%s %d", c.Kind, c.Exact)
	}), ", ")
}

func (a *commands) graphDependentsCommand(q *graphQuestion) *cobra.Command {
	var p codegraph.Page
	var depth int
	cmd := &cobra.Command{
		Use:   "dependents NAME",
		Short: "List what a change of something may reach",
		Long: "List what depends on something or on a part of it, and what depends on that, the nearest first: what would have to be looked at if it " +
			"changed. An entry is exact when each step to it is.",
		Example: `  ken graph dependents Shelf --depth 1
  ken graph dependents store/shelf.go`,
		Args:              cli.ExactArgs("NAME"),
		ValidArgsFunction: a.completesNodes,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(cli.Between("--depth", depth, 0, codegraph.MaxDepth), checkPage(p)); err != nil {
				return err
			}
			return askAbout(cmd.Context(), a, q, args[0], func(v *codegraph.View, id string) (codegraph.Dependents, error) { return v.Dependents(id, depth, p) },
				func(deps *codegraph.Dependents) { a.printDependents(deps, p) })
		},
	}
	cmd.Flags().IntVar(&depth, "depth", 0, "at most `N` steps away; 0 goes as far as there are any")
	pageFlags(cmd, &p)
	return cmd
}

func (a *commands) printDependents(deps *codegraph.Dependents, p codegraph.Page) {
	if cli.IsTerminal(a.Out) {
		fmt.Fprintf(a.Out, "%s %s\n", deps.Node.ID, location(deps.Node.Path, deps.Node.Line))
	}
	rows := cli.Map(deps.Dependents, func(d *codegraph.Dependent) []string {
		return []string{strconv.Itoa(d.Depth), string(d.Kind), string(d.How), location(d.Path, d.Line), d.ID, d.Via}
	})
	a.PrintTable([]string{"STEPS", "KIND", "HOW", "PLACE", "DEPENDENT", "VIA"}, rows)
	a.noteMore(len(rows), p, deps.Total)
	if deps.More {
		fmt.Fprintln(a.Err, "ken: there are others further away")
	}
}

func (a *commands) graphNeighboursCommand(q *graphQuestion) *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:   "neighbours NAME…",
		Short: "List what to read next to something",
		Long: "List what is one edge away from some things, in either direction, what says most about them first: an interface before a caller, an exact " +
			"edge before a guess, and what few others use before what everybody does.",
		Example:           `  ken graph neighbours Shelf Journal`,
		ValidArgsFunction: a.completesNodes,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return cli.Usagef("neighbours: NAME is missing")
			case len(args) > codegraph.MaxNeighbourhood:
				return cli.Usagef("neighbours: %d names are more than %d", len(args), codegraph.MaxNeighbourhood)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkPage(codegraph.Page{Limit: limit}); err != nil {
				return err
			}
			return a.askGraph(cmd.Context(), q, func(v *codegraph.View) error { return a.printNeighbours(v, args, limit) })
		},
	}
	cmd.Flags().IntVarP(&limit, "limit", "n", 20, "list at most `N`, 1 to 1000")
	return cmd
}

func (a *commands) printNeighbours(v *codegraph.View, args []string, limit int) error {
	ids := make([]string, len(args))
	for i, name := range args {
		var err error
		if ids[i], err = graphID(v, name); err != nil {
			return err
		}
	}
	list, total, err := v.Neighbours(ids, limit)
	if err != nil {
		return cli.AsUsageError(err)
	}
	return a.Show(map[string]any{"neighbours": append([]codegraph.Neighbour{}, list...), "total": total}, func() {
		rows := cli.Map(list, func(n *codegraph.Neighbour) []string {
			from, to := n.ID, n.Of
			if n.Out {
				from, to = n.Of, n.ID
			}
			return []string{fmt.Sprintf("%.2f", n.Score), string(n.How), location(n.Path, n.Line), from + " " + string(n.Kind) + " " + to}
		})
		a.PrintTable([]string{"SCORE", "HOW", "PLACE", "EDGE"}, rows)
		if len(list) < total {
			fmt.Fprintf(a.Err, "ken: %d more: --limit shows more of them\n", total-len(list))
		}
	})
}

// completing is the longest time that shell completion takes.
const completing = time.Second

// completesNodes completes the name of a code node from the saved graph: a bare
// name, the end of a qualified name, or an ID.
func (a *commands) completesNodes(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	const noFiles = cobra.ShellCompDirectiveNoFileComp
	if len(args) > 0 && cmd.Name() != "neighbours" {
		return nil, noFiles
	}
	ctx, stop := context.WithTimeout(cmd.Context(), completing)
	defer stop()
	quiet := a.Silent()
	c, err := quiet.LoadCodebase(ctx, quiet.Progress())
	if err != nil {
		return nil, noFiles
	}
	defer c.Close() // it was only read
	return nodeNames(c.View(), begun), noFiles
}

func nodeNames(v *codegraph.View, begun string) (out []string) {
	const most = 200 // more than a person reads
	found := v.Beginning(begun, most)
	seen := map[string]bool{}
	for i := range found {
		n := &found[i]
		for _, form := range forms(n) {
			if strings.HasPrefix(form, begun) && !seen[form] {
				seen[form] = true
				out = append(out, form+"\t"+cli.Cell(string(n.Kind)+" "+location(n.Path, n.Line)))
				break
			}
		}
	}
	return out
}

// forms returns the names by which a node can be given, shortest first.
func forms(n *codegraph.Node) []string {
	out := []string{n.Name}
	for i := len(n.Qualified) - len(n.Name) - 2; i > 0; i-- {
		if n.Qualified[i] == '.' || n.Qualified[i] == '/' {
			out = append(out, n.Qualified[i+1:])
		}
	}
	return append(out, n.Qualified, n.ID)
}
