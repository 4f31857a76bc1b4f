package main

import (
	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

func (a *app) graphExportCommand(q *graphQuestion) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write the whole graph as JSON",
		Long: "Write the graph of the code as one JSON object, with a line for each node and edge: nodes have an id, a kind, a language and the places where they " +
			"are declared; edges have from, to, kind, how, and the place that says so.",
		Example: `  ken graph export | jq '.nodes | length'`,
		Args:    takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.askGraph(cmd.Context(), q, func(v *codegraph.View) error {
				if out != "" && out != "-" {
					return replaceFile(out, v.ExportJSON)
				}
				return v.ExportJSON(a.out)
			})
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "write this `file`, whole or not at all; default standard output")
	return cmd
}
