package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

func (a *app) graphRefsCommand(q *graphQuestion) *cobra.Command {
	var p codegraph.Page
	var kinds []string
	cmd := &cobra.Command{
		Use:   "refs NAME",
		Short: "List what refers to something",
		Long: "List what implements, inherits, calls, references, imports and tests something, which decisions govern it, and what defines it, with the " +
			"place of each.",
		Example: `  ken graph refs Shelf
  ken graph refs store.Shelf.View --kind calls`,
		Args:              takes("NAME"),
		ValidArgsFunction: a.completesNodes,
		RunE: func(cmd *cobra.Command, args []string) error {
			want, err := checkKinds[codegraph.EdgeKind](kinds, edgeKinds())
			if err != nil {
				return err
			}
			if err := checkPage(p); err != nil {
				return err
			}
			return a.askGraph(cmd.Context(), q, func(v *codegraph.View) error { return a.printRefs(v, args[0], want, p) })
		},
	}
	kindFlag(cmd, &kinds, "edges", edgeKinds())
	pageFlags(cmd, &p)
	return cmd
}

func (a *app) printRefs(v *codegraph.View, name string, kinds []codegraph.EdgeKind, p codegraph.Page) error {
	id, err := graphID(v, name)
	if err != nil {
		return err
	}
	refs, err := v.Refs(id, kinds, p)
	if err != nil {
		return badUsage(err)
	}
	if a.json {
		return a.printJSON(refs)
	}
	if isTerminal(a.out) {
		fmt.Fprintf(a.out, "%s %s\n%s\n", refs.Node.ID, place(refs.Node.Path, refs.Node.Line), kindCounts(refs.Kinds))
	}
	rows := make([][]string, len(refs.Refs))
	for i := range refs.Refs {
		r := &refs.Refs[i]
		rows[i] = []string{string(r.Kind), string(r.How), place(r.Path, r.Line), r.From.ID}
	}
	a.printTable([]string{"KIND", "HOW", "PLACE", "FROM"}, rows)
	a.more(len(rows), p, refs.Total)
	return nil
}

// kindCounts says how many edges there are of each kind.
func kindCounts(counts []codegraph.KindCount) string {
	parts := make([]string, len(counts))
	for i, c := range counts {
		parts[i] = fmt.Sprintf("%s %d", c.Kind, c.Exact+c.Guesses)
		if c.Guesses > 0 {
			parts[i] += fmt.Sprintf(" (%d guessed)", c.Guesses)
		}
	}
	return strings.Join(parts, ", ")
}
