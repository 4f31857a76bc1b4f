package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/harvest"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/middleware"
)

func (a *app) harvestCommand() *cobra.Command {
	var again string
	cmd := &cobra.Command{
		Use:   "harvest",
		Short: "Harvest the sessions that are over",
		Long: "End the sessions that are idle or were left by a process that is gone, and keep what they taught. The layer does so by " +
			"itself, and ken chat when it starts and ends; this is for programs that don't run for long, and for seeing it happen. " +
			"The exit status is 1 if a job fails: ken jobs says why.\n\n" +
			"--again harvests one session once more, while its messages are still there: after a model was configured, for instance. What " +
			"is known of it already changes nothing.",
		Example: `  ken harvest
  ken harvest --again 3f9a2c`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if again != "" {
				return a.harvestAgain(cmd.Context(), again)
			}
			return a.withHarvest(cmd.Context(), func(*middleware.Layer) error { return nil })
		},
	}
	cmd.Flags().StringVar(&again, "again", "", "the `session` to harvest once more")
	return cmd
}

// withHarvest runs fn, and then every job that is due, with progress.
func (a *app) withHarvest(ctx context.Context, fn func(*middleware.Layer) error) error {
	p := a.progress()
	defer p.done()
	l, err := a.layer(ctx, p)
	if err != nil {
		return err
	}
	if err := fn(l); err != nil {
		return errors.Join(err, l.Close())
	}
	report, err := l.Harvest(ctx, a.owner)
	p.done()
	if len(report.Jobs) > 0 || err == nil {
		err = errors.Join(err, a.printReport(&report))
	}
	return errors.Join(err, l.Close())
}

// printReport tells what came of the jobs that ran, and fails if one did.
func (a *app) printReport(r *jobs.Report) error {
	switch {
	case a.json:
		if err := a.printJobsJSON(r.Jobs); err != nil {
			return err
		}
	case len(r.Jobs) == 0:
		fmt.Fprintln(a.err, "ken: nothing is due")
	default:
		a.printJobs(r.Jobs)
	}
	if n := r.Retried + r.Dead; n > 0 {
		return &ken.Error{Code: ken.CodeUnavailable, Msg: fmt.Sprintf("%d of %d jobs failed", n, len(r.Jobs)),
			Try: "See ken jobs for the reason; ken jobs retry ID runs one again."}
	}
	return nil
}

func (a *app) harvestAgain(ctx context.Context, id string) error {
	p := a.progress()
	defer p.done()
	l, err := a.layer(ctx, p)
	if err != nil {
		return err
	}
	out, err := l.HarvestAgain(ctx, a.owner, id)
	p.done()
	switch {
	case err != nil:
	case a.json:
		err = a.printJSON(struct {
			Outcome session.Outcome `json:"outcome"`
		}{out})
	default:
		fmt.Fprintln(a.out, cell(harvest.Describe(&out)))
	}
	return errors.Join(err, l.Close())
}
