package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

func (a *app) graphShowCommand(q *graphQuestion) *cobra.Command {
	return &cobra.Command{
		Use:   "show NAME",
		Short: "Show what the code says of something",
		Long: "Show one thing of the code: what it is, where it is declared, what defines it and what it defines, what it refers to, how much refers to it, " +
			"and the decisions that govern it, its file or its package. Of long lists the first are shown; ken graph refs has what refers to it.",
		Example:           `  ken graph show store.Shelf`,
		Args:              takes("NAME"),
		ValidArgsFunction: a.completesNodes,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.askGraph(cmd.Context(), q, func(v *codegraph.View) error {
				id, err := graphID(v, args[0])
				if err != nil {
					return err
				}
				shown, err := v.Show(id)
				if err != nil {
					return badUsage(err)
				}
				if a.json {
					return a.printJSON(shown)
				}
				a.printNode(&shown)
				return nil
			})
		},
	}
}

// shownLines is how many lines of a list people see.
const shownLines = 40

func (a *app) printNode(s *codegraph.Shown) {
	fmt.Fprintln(a.out, cell(s.ID))
	if s.Signature != "" {
		fmt.Fprintln(a.out, cell(s.Signature))
	}
	if s.Doc != "" {
		fmt.Fprintln(a.out, cell(s.Doc))
	}
	var marks string
	for _, m := range []struct {
		is   bool
		says string
	}{{s.External, "not in this project"}, {s.Test, "only in tests"}, {s.Generated, "generated"}, {s.HeadOnly, "only its imports are known"}} {
		if m.is {
			marks += ", " + m.says
		}
	}
	if marks != "" {
		fmt.Fprintln(a.out, marks[2:])
	}
	a.part("declared", len(s.Places))
	for _, p := range s.Places {
		fmt.Fprintln(a.out, "  "+cell(place(p.Path, p.Line)))
	}
	a.rest(s.PlaceMore)
	if s.Parent != nil {
		fmt.Fprintf(a.out, "\nin\n  %s\n", cell(s.Parent.ID))
	}
	a.part("governed by", len(s.Governed))
	for _, r := range s.Governed {
		fmt.Fprintf(a.out, "  %s %s (%s)%s\n", cell(r.From.ID), cell(r.From.Signature), r.How, at(r.Path, r.Line))
	}
	a.part("defines", len(s.Members))
	members := s.Members[:min(len(s.Members), shownLines)]
	for i := range members {
		fmt.Fprintf(a.out, "  %-9s  %s%s\n", members[i].Kind, cell(members[i].Name), at(members[i].Path, members[i].Line))
	}
	a.rest(s.MemberAll - len(members))
	a.printEdges(s)
	for _, p := range s.Problems {
		fmt.Fprintf(a.out, "\ncould not be read: %s: %s\n", place(s.Path, p.Line), cell(p.Text))
	}
}

func (a *app) printEdges(s *codegraph.Shown) {
	if len(s.Out) > 0 {
		fmt.Fprintf(a.out, "\nto others: %s\n", kindCounts(s.Out))
	}
	to := s.To[:min(len(s.To), shownLines)]
	for _, e := range to {
		fmt.Fprintf(a.out, "  %-10s  %-5s  %s%s\n", e.Kind, e.How, cell(e.To.ID), at(e.Path, e.Line))
	}
	if len(to) > 0 {
		all := 0
		for _, c := range s.Out {
			all += c.Exact + c.Guesses
		}
		a.rest(all - len(to))
	}
	if len(s.In) > 0 {
		fmt.Fprintf(a.out, "\nfrom others: %s\n", kindCounts(s.In))
	}
}

// at is a place behind what is there.
func at(path string, line int) string {
	if p := place(path, line); p != "" {
		return "  " + cell(p)
	}
	return ""
}

// rest tells of what a list leaves out.
func (a *app) rest(n int) {
	if n > 0 {
		fmt.Fprintf(a.out, "  … and %d more\n", n)
	}
}
