package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/internal/code/codebase"
	"github.com/kenlayer/ken/internal/code/codegraph"
)

func (a *app) graphSearchCommand(q *graphQuestion) *cobra.Command {
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
			text, err := a.text(args)
			if err != nil {
				return err
			}
			s.Words = text
			if s.Kinds, err = checkKinds[codegraph.Kind](kinds, nodeKinds()); err != nil {
				return err
			}
			if err := checkPage(p); err != nil {
				return err
			}
			return a.askGraph(cmd.Context(), q, func(v *codegraph.View) error { return a.printSearch(codebase.Search(v, s, p), p) })
		},
	}
	kindFlag(cmd, &kinds, "what is", nodeKinds())
	cmd.Flags().StringVar(&s.Path, "path", "", "only what lies in this folder or file, from the root, or in files of such a `pattern` as *.go")
	cmd.Flags().BoolVar(&s.Exported, "exported", false, "only what can be seen from outside of its package or file")
	cmd.Flags().BoolVar(&s.NoTests, "no-tests", false, "leave out what only tests declare")
	pageFlags(cmd, &p)
	return cmd
}

func (a *app) printSearch(found codebase.Found, p codegraph.Page) error {
	if a.json {
		return a.printJSON(found)
	}
	rows := make([][]string, len(found.Results))
	for i := range found.Results {
		r := &found.Results[i]
		rows[i] = []string{string(r.Kind), strconv.Itoa(r.In), place(r.Path, r.Line), r.ID}
	}
	a.printTable([]string{"KIND", "EDGES IN", "PLACE", "ID"}, rows)
	a.more(len(rows), p, found.Total)
	if found.Least {
		fmt.Fprintf(a.err, "ken: only the best %d names were looked at: more words find more exactly\n", codegraph.MaxLimit)
	}
	return nil
}
