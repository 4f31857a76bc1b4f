package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

func (a *app) jobsCommand() *cobra.Command {
	var state string
	cmd := &cobra.Command{
		Use:   "jobs",
		Short: "List the jobs of the background, and run a dead one again",
		Long: "List jobs: what waits, what runs, what was done, and what is dead, with the reason. A job that fails is tried again after " +
			"longer and longer pauses; after eight attempts, or three in a row during which the process ended, it is dead, at once if another attempt can't help, and stays until somebody " +
			"decides. What is done is remembered for done_jobs_days of lifecycle.yaml.",
		Example: `  ken jobs --state dead
  ken jobs retry 3f9a2c`,
		Args: onlySubcommands,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.listJobs(cmd.Context(), state) },
	}
	cmd.Flags().StringVar(&state, "state", "", "only jobs in this `state`: queued, running, done or dead")
	cmd.AddCommand(
		&cobra.Command{
			Use:   "retry ID",
			Short: "Run a dead or waiting job again, now",
			Long: "Run a job that is dead or waits for its time, with all its attempts before it, and whatever else is due. The exit status " +
				"is 1 if it fails again.",
			Args:              takes("ID"),
			ValidArgsFunction: a.completes(jobIDs),
			RunE: func(cmd *cobra.Command, args []string) error {
				return a.withHarvest(cmd.Context(), func(l *middleware.Layer) error {
					_, err := l.Jobs(a.owner).Retry(cmd.Context(), args[0])
					return err
				})
			},
		},
		&cobra.Command{
			Use:   "rm ID",
			Short: "Remove a job that is not running",
			Long: "Remove a job that is not running: it is not done then. The messages of a session whose job is removed stay, and ken " +
				"harvest --again harvests them.",
			Args:              takes("ID"),
			ValidArgsFunction: a.completes(jobIDs),
			RunE:              func(cmd *cobra.Command, args []string) error { return a.removeJob(cmd.Context(), args[0]) },
		})
	return cmd
}

func (a *app) listJobs(ctx context.Context, state string) error {
	var states []jobs.State
	if state != "" {
		switch s := jobs.State(state); s {
		case jobs.Queued, jobs.Running, jobs.Done, jobs.Dead:
			states = append(states, s)
		default:
			return usage{&ken.Error{Code: ken.CodeInvalid, Field: "--state", Msg: fmt.Sprintf("%q is no state of a job", state),
				Try: "Use queued, running, done or dead."}}
		}
	}
	return a.withStore(ctx, func(l *middleware.Layer, _ store.Engine) error {
		// With an error come the jobs that can be read.
		all, failed := l.Jobs(a.owner).List(ctx, states...)
		switch {
		case failed != nil && len(all) == 0:
		case a.json:
			if err := a.printJobsJSON(all); err != nil {
				return err
			}
		case len(all) == 0:
			fmt.Fprintln(a.err, "ken: there are no jobs")
		default:
			a.printJobs(all)
		}
		return failed
	})
}

func (a *app) removeJob(ctx context.Context, id string) error {
	return a.withStore(ctx, func(l *middleware.Layer, _ store.Engine) error {
		q := l.Jobs(a.owner)
		if j, err := q.Get(ctx, id); err == nil { // one that can't be read is removed all the same
			id = j.ID
		}
		if err := q.Remove(ctx, id); err != nil {
			return err
		}
		if a.json {
			return a.printJSON(map[string]any{"removed": []string{id}})
		}
		fmt.Fprintln(a.out, id)
		return nil
	})
}

func (a *app) printJobsJSON(all []jobs.Job) error {
	if all == nil {
		all = []jobs.Job{}
	}
	return a.printJSON(map[string]any{"jobs": all})
}

func (a *app) printJobs(all []jobs.Job) {
	rows := make([][]string, len(all))
	for i := range all {
		j := &all[i]
		id := j.ID
		if isTerminal(a.out) { // a hash, which its beginning names
			id = id[:min(shortest, len(id))]
		}
		rows[i] = []string{id, j.Kind, j.Key, string(j.State), fmt.Sprint(j.Attempts), j.Due.UTC().Format(minute), becameOf(j)}
	}
	a.printTable([]string{"ID", "KIND", "WHAT", "STATE", "TRIES", "DUE (UTC)", "CAME OF IT"}, rows)
}

// becameOf is a job's outcome in a line.
func becameOf(j *jobs.Job) string {
	switch {
	case j.State == jobs.Running && j.Progress != nil:
		return strings.TrimSpace(fmt.Sprintf("%s %d of %d", j.Progress.Stage, j.Progress.Done, j.Progress.Total))
	case j.State != jobs.Done && j.Error != "":
		return strings.TrimSpace(j.Error + " " + j.Try)
	}
	return j.Note
}
