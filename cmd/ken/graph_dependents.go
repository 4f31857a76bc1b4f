package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

func (a *app) graphDependentsCommand(q *graphQuestion) *cobra.Command {
	var p codegraph.Page
	var depth int
	cmd := &cobra.Command{
		Use:   "dependents NAME",
		Short: "List what a change of something may reach",
		Long: "List what depends on something or on a part of it, and what depends on that, the nearest first: what would have to be looked at if it " +
			"changed. An entry is exact when each step to it is.",
		Example: `  ken graph dependents Shelf --depth 1
  ken graph dependents store/shelf.go`,
		Args:              takes("NAME"),
		ValidArgsFunction: a.completesNodes,
		RunE: func(cmd *cobra.Command, args []string) error {
			if depth < 0 || depth > codegraph.MaxDepth {
				return usagef("--depth: %d is outside 0..%d", depth, codegraph.MaxDepth)
			}
			if err := checkPage(p); err != nil {
				return err
			}
			return a.askGraph(cmd.Context(), q, func(v *codegraph.View) error { return a.printDependents(v, args[0], depth, p) })
		},
	}
	cmd.Flags().IntVar(&depth, "depth", 0, "how `many` steps away at most; 0 goes as far as there are any")
	pageFlags(cmd, &p)
	return cmd
}

func (a *app) printDependents(v *codegraph.View, name string, depth int, p codegraph.Page) error {
	id, err := graphID(v, name)
	if err != nil {
		return err
	}
	deps, err := v.Dependents(id, depth, p)
	if err != nil {
		return badUsage(err)
	}
	if a.json {
		return a.printJSON(deps)
	}
	if isTerminal(a.out) {
		fmt.Fprintf(a.out, "%s %s\n", deps.Node.ID, place(deps.Node.Path, deps.Node.Line))
	}
	rows := make([][]string, len(deps.Dependents))
	for i := range deps.Dependents {
		d := &deps.Dependents[i]
		rows[i] = []string{strconv.Itoa(d.Depth), string(d.Kind), string(d.How), place(d.Path, d.Line), d.ID, d.Via}
	}
	a.printTable([]string{"STEPS", "KIND", "HOW", "PLACE", "DEPENDENT", "VIA"}, rows)
	a.more(len(rows), p, deps.Total)
	if deps.More {
		fmt.Fprintln(a.err, "ken: there are others further away")
	}
	return nil
}
