package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

func (a *app) graphNeighboursCommand(q *graphQuestion) *cobra.Command {
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
				return usagef("neighbours: NAME is missing")
			case len(args) > codegraph.MaxNeighbourhood:
				return usagef("neighbours: %d names are more than %d", len(args), codegraph.MaxNeighbourhood)
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
	cmd.Flags().IntVarP(&limit, "limit", "n", 20, "the `most` to list, 1 to 1000")
	return cmd
}

func (a *app) printNeighbours(v *codegraph.View, args []string, limit int) error {
	ids := make([]string, len(args))
	for i, name := range args {
		var err error
		if ids[i], err = graphID(v, name); err != nil {
			return err
		}
	}
	list, total, err := v.Neighbours(ids, limit)
	if err != nil {
		return badUsage(err)
	}
	if list == nil {
		list = []codegraph.Neighbour{}
	}
	if a.json {
		return a.printJSON(map[string]any{"neighbours": list, "total": total})
	}
	rows := make([][]string, len(list))
	for i := range list {
		n := &list[i]
		from, to := n.ID, n.Of
		if n.Out {
			from, to = n.Of, n.ID
		}
		rows[i] = []string{fmt.Sprintf("%.2f", n.Score), string(n.How), place(n.Path, n.Line), from + " " + string(n.Kind) + " " + to}
	}
	a.printTable([]string{"SCORE", "HOW", "PLACE", "EDGE"}, rows)
	if len(list) < total {
		fmt.Fprintf(a.err, "ken: %d more: --limit shows more of them\n", total-len(list))
	}
	return nil
}
