package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/evals"
	"github.com/kenlayer/ken/internal/evals/report"
)

func (a *app) evalCompareCommand() *cobra.Command {
	var fail bool
	var seed uint64
	cmd := &cobra.Command{
		Use:   "compare BEFORE AFTER",
		Short: "Say which differences between two sweeps are real",
		Long: "Read two reports that sweep --json wrote, and compare them question by question: a difference is real when its 95 % " +
			"interval, from a paired bootstrap over the questions that both have, leaves zero out. Of many differences without a cause, one " +
			"in twenty looks real. Latencies are shown and not judged.\n\n" +
			"With --fail-on-regression, the exit status is 1 when something became worse for real.",
		Example: `  ken eval sweep --data locomo --json > before.json
  ken eval sweep --data locomo --json --set floor=0.25 > after.json
  ken eval compare before.json after.json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return errors.New("compare: give two reports, the one before and the one after")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.evalCompare(args[0], args[1], seed, fail) },
	}
	f := cmd.Flags()
	f.BoolVar(&fail, "fail-on-regression", false, "end with status 1 when something became worse")
	f.Uint64Var(&seed, "seed", 1, "the seed of the intervals")
	return cmd
}

func (a *app) evalCompare(before, after string, seed uint64, fail bool) error {
	was, err := a.readReport(before)
	if err != nil {
		return err
	}
	is, err := a.readReport(after)
	if err != nil {
		return err
	}
	c, err := evals.Compare(was, is, seed)
	if err != nil {
		return err
	}
	if a.json {
		err = a.printJSON(c)
	} else {
		fmt.Fprint(a.out, report.Changes(c))
	}
	if err == nil && fail && c.Regressions() {
		return &ken.Error{Code: ken.CodeRefused, Msg: "something became worse", Try: "Look at the lines that say worse."}
	}
	return err
}

func (a *app) readReport(path string) (*evals.Report, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &ken.Error{Code: ken.CodeNotFound, Msg: "read report", Err: err, Try: "Check the path."}
	}
	defer f.Close()
	r, err := evals.Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}
