package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
)

// finding is what one check of the doctor found.
type finding struct {
	Check  string `json:"check"`
	State  state  `json:"state"`
	Detail string `json:"detail"`
	Try    string `json:"try,omitempty"`
	Data   any    `json:"data,omitempty"` // the figures behind Detail, for programs
}

type state string

const (
	stateOK   state = "ok"
	stateWarn state = "warn" // something that Ken works without
	stateFail state = "fail"
)

func passed(check, format string, args ...any) finding {
	return finding{Check: check, State: stateOK, Detail: fmt.Sprintf(format, args...)}
}

func warned(check, detail, try string) finding {
	return finding{Check: check, State: stateWarn, Detail: detail, Try: try}
}

func failed(check string, err error) finding {
	return finding{Check: check, State: stateFail, Detail: err.Error(), Try: cmp.Or(ken.Hint(err), "See the message.")}
}

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check configuration, store, embedder and model, and say what to do",
		Long: "Look at everything that Ken depends on here and now: each check is ok, a warning (Ken works without it) or a " +
			"failure, with what to try. Where there are records enough, questions made of them show how search fares: by their words " +
			"alone, by the embedder's likeness alone, and by both; see retrieval.calibrate. Knowledge and configuration stay as they are, and where there is no store, none is made. " +
			"The exit status is 1 if a check fails.",
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			p := a.progress()
			defer p.done()
			found := a.examine(cmd.Context(), p)
			p.done()
			if err := cmd.Context().Err(); err != nil {
				return err
			}
			if err := a.printFindings(found); err != nil {
				return err
			}
			if slices.ContainsFunc(found, func(f finding) bool { return f.State == stateFail }) {
				return errTold
			}
			return nil
		},
	}
}

func (a *app) printFindings(found []finding) error {
	if a.json {
		return a.printJSON(map[string]any{"checks": found})
	}
	width := 0
	for _, f := range found {
		width = max(width, len(f.Check))
	}
	for _, f := range found {
		fmt.Fprintf(a.out, "%-4s  %-*s  %s\n", f.State, width, f.Check, cell(f.Detail))
		if f.Try != "" {
			fmt.Fprintf(a.out, "%-4s  %-*s  Try: %s\n", "", width, "", cell(f.Try))
		}
	}
	return nil
}
