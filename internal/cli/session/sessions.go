// Package session provides the commands that show what sessions did and what was harvested from them.
package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

type commands struct{ *cli.App }

// Commands returns the commands of this group.
func Commands(app *cli.App) []*cobra.Command {
	c := &commands{app}
	return []*cobra.Command{c.sessionsCommand(), c.harvestCommand(), c.jobsCommand(), c.provenanceCommand(), c.runCommand()}
}

func sessionIDs(ctx context.Context, l *middleware.Layer, s store.Engine) ([]string, error) {
	all, err := l.Operator().Journal(s.Owner()).List(ctx)
	return cli.Map(all, func(i *session.Info) string {
		return i.ID + "\t" + i.Active.UTC().Format(cli.TimeFormat) + ", " + string(i.State)
	}), err
}

func jobIDs(ctx context.Context, l *middleware.Layer, s store.Engine) ([]string, error) {
	all, err := l.Operator().Jobs(s.Owner()).List(ctx)
	return cli.Map(all, func(j *jobs.Job) string { return j.ID + "\t" + j.Kind + ", " + string(j.State) }), err
}

func (a *commands) sessionsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "List sessions, and what was learned in each",
		Long: "List sessions, the latest first, with what came of them. A session is open until nothing was said for session.idle, its " +
			"program ends it, or its process is gone; then it is harvested. Its messages are kept for some days after that: " +
			"journal_grace_days in .ken/knowledge/lifecycle.yaml.",
		Example: `  ken sessions
  ken sessions show 3f9a2c`,
		Args: cli.OnlySubcommands,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.listSessions(cmd.Context()) },
	}
	cmd.AddCommand(
		&cobra.Command{
			Use:     "show ID",
			Short:   "Show what came of a session",
			Example: `  ken sessions show 7c1e02ab`,
			Long: "Show a session: when it was, why it ended, where it stopped, and every claim that came of it as it stands now. The " +
				"beginning of an id is enough, from six characters, if it is only one session's.",
			Args:              cli.ExactArgs("ID"),
			ValidArgsFunction: a.Complete(sessionIDs),
			RunE:              func(cmd *cobra.Command, args []string) error { return a.showSession(cmd.Context(), args[0]) },
		},
		&cobra.Command{
			Use:     "end ID",
			Short:   "End a session now, and harvest it",
			Example: `  ken sessions end 7c1e02ab`,
			Long: "End a session that is open, harvest it with whatever else is due, and show what came of it. A session that is over " +
				"already stays as it is.",
			Args:              cli.ExactArgs("ID"),
			ValidArgsFunction: a.Complete(sessionIDs),
			RunE:              func(cmd *cobra.Command, args []string) error { return a.endSession(cmd.Context(), args[0]) },
		},
		a.sessionsForgetCommand())
	return cmd
}

func (a *commands) listSessions(ctx context.Context) error {
	return a.ReadStore(ctx, func(l *middleware.Layer, _ store.Engine) error {
		// With an error, all holds the sessions that can be read.
		all, failed := l.Operator().Journal(a.Owner).List(ctx)
		if failed != nil && len(all) == 0 {
			return failed
		}
		return cmp.Or(a.showSessions(all), failed)
	})
}

func (a *commands) showSessions(all []session.Info) error {
	ids := cli.Map(all, func(s *session.Info) string { return s.ID })
	if cli.IsTerminal(a.Out) {
		ids = cli.UniquePrefixes(ids)
	}
	rows := make([][]string, len(all))
	for i := range all {
		s := &all[i]
		rows[i] = []string{ids[i], s.Active.UTC().Format(cli.TimeFormat), string(s.State), fmt.Sprint(s.Messages), s.Agent, outcomeOf(s)}
	}
	return a.ShowTable(map[string]any{"sessions": all}, "there was no session yet", []string{"SESSION", "LAST (UTC)", "STATE", "MESSAGES", "AGENT", "CAME OF IT"}, rows)
}

func outcomeOf(s *session.Info) string {
	if s.Outcome == nil {
		return "-"
	}
	return s.Outcome.Describe()
}

func (a *commands) endSession(ctx context.Context, id string) error {
	return a.withHarvest(ctx, func(l *middleware.Layer) error {
		info, err := l.Operator().Journal(a.Owner).Find(ctx, id)
		if err != nil {
			return err
		}
		if info.State != session.Open {
			fmt.Fprintf(a.Err, "ken: session %s is %s already\n", cli.Cell(info.ID), info.State)
		}
		return l.End(ctx, a.Owner, info.ID)
	})
}

func (a *commands) sessionsForgetCommand() *cobra.Command {
	var yes, learned bool
	var reason string
	cmd := &cobra.Command{
		Use:   "forget ID",
		Short: "Delete a session's messages, and with --learned all that it taught",
		Example: `  ken sessions forget 7c1e02ab
  ken sessions forget --learned 7c1e02ab --reason "a customer's data"`,
		Long: "Delete what the journal holds of a session, also on the disk: its messages, and the note that it was there. Nothing more is " +
			"learned from it. Claims that came of it stay. It can't be undone, so it asks first.\n\n" +
			"--learned erases the claims, too, as ken forget does: those that only this session taught, what was derived from them, and what repeats " +
			"them. A claim that another session or a person supports, too, is kept, and listed. A claim that an erased one had replaced or contradicted " +
			"stays as it is; those that were replaced are listed. The note that the session was there stays, so that nothing is learned again if its " +
			"client sends the same messages. The session may be long over: its whole id is enough when it is no longer listed. If it was interrupted, " +
			"running it again continues.",
		Args:              cli.ExactArgs("ID"),
		ValidArgsFunction: a.Complete(sessionIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case learned:
				return a.forgetLearned(cmd.Context(), args[0], reason, yes)
			case reason != "":
				return cli.Invalid("--reason", "of no use without --learned", "Leave it out, or add --learned.")
			}
			return a.forgetSession(cmd.Context(), args[0], yes)
		},
	}
	cmd.Flags().BoolVar(&learned, "learned", false, "also erase the claims that only this session taught")
	cmd.Flags().StringVar(&reason, "reason", "", "with --learned, a `REASON`: why; it stays in the log, so don't repeat the erased text")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "don't ask")
	return cmd
}

func (a *commands) forgetSession(ctx context.Context, id string, yes bool) error {
	return a.ReadStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		info, err := l.Operator().Journal(a.Owner).Find(ctx, id)
		if err != nil {
			return err
		}
		if !yes {
			fmt.Fprintf(a.Err, "To be deleted:\n  session %s, %s, %d messages, %s to %s UTC\n", cli.Cell(info.ID), info.State, info.Messages,
				info.Started.UTC().Format(cli.TimeFormat), info.Active.UTC().Format(cli.TimeFormat))
			if err := a.Confirm(ctx, "Delete for good?", "Nothing was deleted."); err != nil {
				return err
			}
		}
		if err := cli.ForgetJournal(ctx, l, s, info.ID); err != nil {
			return err
		}
		return a.Show(map[string]any{"forgotten": []string{info.ID}}, func() { fmt.Fprintln(a.Out, cli.Cell(info.ID)) })
	})
}

func (a *commands) forgetLearned(ctx context.Context, id, reason string, yes bool) error {
	return a.ReadStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		switch info, err := l.Operator().Journal(a.Owner).Find(ctx, id); {
		case err == nil:
			id = info.ID
		case !errors.Is(err, ken.ErrNotFound): // of one that is not found, there may be claims
			return err
		}
		if !yes {
			would, err := l.Operator().WouldForgetLearned(ctx, s.Owner(), id)
			if err != nil {
				return err
			}
			fmt.Fprintf(a.Err, "All that session %s taught:\n", cli.Cell(id))
			if err := a.ConfirmForget(ctx, &would); err != nil {
				return err
			}
		}
		gone, failed := l.Operator().ForgetLearned(ctx, s.Owner(), id, reason, ken.Actor{Type: "user", ID: cli.CurrentUser()})
		return cmp.Or(failed, a.PrintForgotten(gone, failed))
	})
}

// sessionView is a session with the current state of its claims, in JSON.
type sessionView struct {
	session.Info
	Checkpoint *session.Checkpoint `json:"checkpoint,omitempty"` // kept while its messages are
	Claims     []inspect.Claim     `json:"claims"`
}

func (a *commands) showSession(ctx context.Context, id string) error {
	return a.ReadStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		j := l.Operator().Journal(a.Owner)
		info, err := j.Find(ctx, id)
		if err != nil {
			return err
		}
		v := sessionView{Info: info}
		if cp, ok, err := j.Checkpoint(ctx, info.ID); err != nil {
			return err
		} else if ok {
			v.Checkpoint = &cp
		}
		if v.Claims, err = l.Operator().SessionClaims(ctx, s, &info); err != nil {
			return err
		}
		return a.Show(v, func() { a.printSession(&v) })
	})
}

func (a *commands) printSession(v *sessionView) {
	a.PrintFields(10, "session", v.ID, "state", strings.TrimSuffix(string(v.State)+", "+string(v.Reason), ", "), "part of", v.Parent, "agent", v.Agent,
		"messages", fmt.Sprintf("%d, from %s to %s UTC", v.Messages, v.Started.UTC().Format(cli.TimeFormat), v.Active.UTC().Format(cli.TimeFormat)))
	if cp := v.Checkpoint; cp != nil {
		a.PrintFields(10, "last goal", cp.Goal, "files", strings.Join(cp.Files, ", "), "open", strings.Join(cp.Open, " · "), "last step", cp.LastStep)
	}
	a.PrintFields(10, "came of it", outcomeOf(&v.Info))
	if len(v.Claims) == 0 {
		return
	}
	fmt.Fprintln(a.Out)
	rows := cli.Map(v.Claims, func(c *inspect.Claim) []string {
		return []string{a.ShortID(c.ID), string(c.Kind), string(c.Status), cli.Headline(&c.Claim)}
	})
	a.PrintTable([]string{"ID", "KIND", "STATUS", "TEXT"}, rows)
}

func (a *commands) harvestCommand() *cobra.Command {
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
		Args: cli.ExactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if again != "" {
				return a.harvestAgain(cmd.Context(), again)
			}
			return a.withHarvest(cmd.Context(), func(*middleware.Layer) error { return nil })
		},
	}
	cmd.Flags().StringVar(&again, "again", "", "the `SESSION` to harvest once more")
	return cmd
}

// withHarvest runs fn, then every due job, and shows the progress.
func (a *commands) withHarvest(ctx context.Context, fn func(*middleware.Layer) error) error {
	return a.WithLayer(ctx, func(l *middleware.Layer, p *cli.Progress) error {
		if err := fn(l); err != nil {
			return err
		}
		report, err := l.Harvest(ctx, a.Owner)
		p.Done()
		if len(report.Jobs) > 0 || err == nil {
			err = errors.Join(err, a.printReport(&report))
		}
		return err
	})
}

// printReport prints the results of the jobs that ran, and returns an error if one
// failed.
func (a *commands) printReport(r *jobs.Report) error {
	err := a.showJobs(r.Jobs, "nothing is due")
	if n := r.Retried + r.Dead; err == nil && n > 0 {
		return &ken.Error{Code: ken.CodeUnavailable, Msg: fmt.Sprintf("%d of %d jobs failed", n, len(r.Jobs)),
			Try: "See ken jobs for the reason; ken jobs retry ID runs one again."}
	}
	return err
}

func (a *commands) harvestAgain(ctx context.Context, id string) error {
	return a.WithLayer(ctx, func(l *middleware.Layer, p *cli.Progress) error {
		out, err := l.Operator().HarvestAgain(ctx, a.Owner, id)
		p.Done()
		if err != nil {
			return err
		}
		return a.Show(map[string]any{"outcome": out}, func() { fmt.Fprintln(a.Out, cli.Cell(out.Describe())) })
	})
}

func (a *commands) jobsCommand() *cobra.Command {
	var state string
	cmd := &cobra.Command{
		Use:   "jobs",
		Short: "List the jobs of the background, and run a dead one again",
		Long: "List jobs: what waits, what runs, what was done, and what is dead, with the reason. A job that fails is tried again after " +
			"longer and longer pauses; after eight attempts, or three in a row during which the process ended, it is dead, at once if another attempt can't help, and stays until somebody " +
			"decides. What is done is remembered for done_jobs_days of lifecycle.yaml.",
		Example: `  ken jobs --state dead
  ken jobs retry 3f9a2c`,
		Args: cli.OnlySubcommands,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.listJobs(cmd.Context(), state) },
	}
	cmd.Flags().StringVar(&state, "state", "", "only jobs in this `STATE`: queued, running, done or dead")
	cli.CompleteWords(cmd, "state", "queued", "running", "done", "dead")
	cmd.AddCommand(
		&cobra.Command{
			Use:   "retry ID",
			Short: "Run a dead or waiting job again, now",
			Example: `  ken jobs --state dead
  ken jobs retry 3f2a9c11`,
			Long: "Run a job that is dead or waits for its time, with all its attempts before it, and whatever else is due. The exit status " +
				"is 1 if it fails again.",
			Args:              cli.ExactArgs("ID"),
			ValidArgsFunction: a.Complete(jobIDs),
			RunE: func(cmd *cobra.Command, args []string) error {
				return a.withHarvest(cmd.Context(), func(l *middleware.Layer) error {
					_, err := l.Operator().Jobs(a.Owner).Retry(cmd.Context(), args[0])
					return err
				})
			},
		},
		&cobra.Command{
			Use:     "rm ID",
			Short:   "Remove a job that is not running",
			Example: `  ken jobs rm 3f2a9c11`,
			Long: "Remove a job that is not running: it is not done then. The messages of a session whose job is removed stay, and ken " +
				"harvest --again harvests them.",
			Args:              cli.ExactArgs("ID"),
			ValidArgsFunction: a.Complete(jobIDs),
			RunE:              func(cmd *cobra.Command, args []string) error { return a.removeJob(cmd.Context(), args[0]) },
		})
	return cmd
}

func (a *commands) listJobs(ctx context.Context, state string) error {
	var states []jobs.State
	if state != "" {
		switch s := jobs.State(state); s {
		case jobs.Queued, jobs.Running, jobs.Done, jobs.Dead:
			states = append(states, s)
		default:
			return cli.Invalid("--state", fmt.Sprintf("%q is no state of a job", state), "Use queued, running, done or dead.")
		}
	}
	return a.ReadStore(ctx, func(l *middleware.Layer, _ store.Engine) error {
		// With an error, all holds the jobs that can be read.
		all, failed := l.Operator().Jobs(a.Owner).List(ctx, states...)
		if failed != nil && len(all) == 0 {
			return failed
		}
		return cmp.Or(a.showJobs(all, "there are no jobs"), failed)
	})
}

func (a *commands) removeJob(ctx context.Context, id string) error {
	return a.ReadStore(ctx, func(l *middleware.Layer, _ store.Engine) error {
		q := l.Operator().Jobs(a.Owner)
		if j, err := q.Get(ctx, id); err == nil { // an unreadable job is removed too
			id = j.ID
		}
		if err := q.Remove(ctx, id); err != nil {
			return err
		}
		return a.Show(map[string]any{"removed": []string{id}}, func() { fmt.Fprintln(a.Out, id) })
	})
}

func (a *commands) showJobs(all []jobs.Job, none string) error {
	rows := cli.Map(all, func(j *jobs.Job) []string {
		id := j.ID
		if cli.IsTerminal(a.Out) { // the id is a hash; its beginning identifies it
			id = id[:min(cli.ShortIDLength, len(id))]
		}
		return []string{id, j.Kind, j.Key, string(j.State), fmt.Sprint(j.Attempts), j.Due.UTC().Format(cli.TimeFormat), resultOf(j)}
	})
	return a.ShowTable(map[string]any{"jobs": append([]jobs.Job{}, all...)}, none, []string{"ID", "KIND", "WHAT", "STATE", "TRIES", "DUE (UTC)", "CAME OF IT"}, rows)
}

func resultOf(j *jobs.Job) string {
	switch {
	case j.State == jobs.Running && j.Progress != nil:
		return strings.TrimSpace(fmt.Sprintf("%s %d of %d", j.Progress.Stage, j.Progress.Done, j.Progress.Total))
	case j.State != jobs.Done && j.Error != "":
		return strings.TrimSpace(j.Error + " " + j.Try)
	}
	return j.Note
}
