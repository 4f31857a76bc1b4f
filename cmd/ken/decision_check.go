package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	adr "github.com/kenlayer/ken/internal/code/decision"
)

// fileProblem is a place in a file that somebody should look at.
type fileProblem struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"` // from 1; 0 for the whole file
	Text string `json:"text"`
	Try  string `json:"try,omitempty"`
}

// String is as compilers have it, so that editors jump there.
func (p fileProblem) String() string {
	at := printable(p.Path)
	if p.Line > 0 {
		at += ":" + strconv.Itoa(p.Line)
	}
	return at + ": " + cell(p.Text)
}

// printProblems lists problems, and is a failure when there are some.
func (a *app) printProblems(list []fileProblem, none string) error {
	switch {
	case a.json:
		if list == nil {
			list = []fileProblem{}
		}
		if err := a.printJSON(map[string]any{"problems": list}); err != nil {
			return err
		}
	case len(list) == 0:
		fmt.Fprintln(a.err, "ken: "+none)
	default:
		for _, p := range list {
			fmt.Fprintln(a.out, p)
			if p.Try != "" {
				fmt.Fprintln(a.out, "    Try: "+cell(p.Try))
			}
		}
		fmt.Fprintln(a.err, "ken: "+count(len(list), "problem"))
	}
	if len(list) > 0 {
		return errTold
	}
	return nil
}

func (a *app) decisionCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Say what is wrong in the files of decisions",
		Long: "Say what is wrong in the files of decisions, each with its line and what to do: what can't be read, missing or unknown statuses, two " +
			"decisions of one number, links and successors that are not there, circles of supersession. The exit status is 1 when there is something.",
		Example: `  ken decision check
  ken decision check --json`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withDecisions(cmd.Context(), func(r *adr.Registry) error {
				var list []fileProblem
				for _, p := range r.Problems() {
					list = append(list, fileProblem(p))
				}
				return a.printProblems(list, "nothing is wrong in "+count(len(r.List()), "decision"))
			})
		},
	}
}
