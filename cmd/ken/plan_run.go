package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/code/plan"
	"github.com/kenlayer/ken/internal/code/plan/runner"
)

type planRunOptions struct {
	workers          int
	resume, failFast bool
}

func (a *app) planRunCommand() *cobra.Command {
	var o planRunOptions
	cmd := &cobra.Command{
		Use:   "run [AGENT...]",
		Short: "Run the agents' commands in the order of the plan",
		Long: "Run the commands of all agents, or of those that are named and of those whose work they need: each as soon as what it requires is " +
			"there. An agent is done when its command ends with status 0 and the files that it produces exist. When one fails, those that need its " +
			"work are skipped, and the others go on.\n\n" +
			"Commands run in the project's folder, with KEN_AGENT and KEN_PLAN in their environment. What they print is shown line by line and kept in " +
			"plan/AGENT.log in the folder for state, without what looks like a secret. Ctrl-C asks them to end, and kills them after some seconds.\n\n" +
			"With --resume, agents that were done in an earlier run are not run again, if they declare what they declared then, their files exist, " +
			"and nobody whose work they need runs again. The exit status is 1 if an agent is not done.\n\n" +
			"--json prints a line for each thing that happens, and one at the end.",
		Example: `  ken plan run
  ken plan run writer --workers 2
  ken plan run --resume`,
		Args: cobra.ArbitraryArgs,
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
			cfg, _, err := a.configuration()
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			for _, agent := range cfg.Agents {
				if !slices.Contains(args, agent.Name) {
					names = append(names, agent.Name)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.runPlan(cmd.Context(), args, &o) },
	}
	f := cmd.Flags()
	f.IntVar(&o.workers, "workers", runner.DefaultWorkers, fmt.Sprintf("the most agents at `once`, 1 to %d", runner.MaxWorkers))
	f.BoolVar(&o.resume, "resume", false, "run no agent that was done in an earlier run")
	f.BoolVar(&o.failFast, "fail-fast", false, "stop everything when an agent fails")
	return cmd
}

func (a *app) runPlan(ctx context.Context, names []string, o *planRunOptions) error {
	if o.workers < 1 || o.workers > runner.MaxWorkers {
		return usagef("--workers: %d is not from 1 to %d", o.workers, runner.MaxWorkers)
	}
	cfg, _, err := a.configuration()
	if err != nil {
		return err
	}
	p, err := a.plan(ctx, &cfg)
	if err != nil {
		return err
	}
	if _, err := p.With(names...); err != nil {
		return usage{err}
	}
	if p == nil {
		a.tell(noPlan)
		return nil
	}
	report, err := a.startPlan(ctx, p, names, &cfg, o)
	if report == nil {
		return err
	}
	if printed := a.printRun(report); err == nil {
		err = printed
	}
	if err == nil {
		err = notDone(report)
	}
	return err
}

func (a *app) startPlan(ctx context.Context, p *plan.Plan, names []string, cfg *config.Config, o *planRunOptions) (*runner.Report, error) {
	root, err := a.project()
	if err != nil {
		return nil, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return nil, fmt.Errorf("name the run: %w", err)
	}
	show := newPlanProgress(a, root, p)
	return runner.Run(ctx, p, runner.Options{Root: root, State: cfg.State(root), ID: id.String(), Agents: names,
		Workers: o.workers, Resume: o.resume, FailFast: o.failFast, Progress: show.event, Output: show.line})
}

// notDone is the error of a run in which not all agents were done.
func notDone(r *runner.Report) error {
	if r.OK() {
		return nil
	}
	var parts []string
	for _, s := range []runner.State{runner.Failed, runner.Skipped, runner.Stopped} {
		if n := r.Count(s); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	return &ken.Error{Code: ken.CodeUnavailable, Msg: fmt.Sprintf("of %s: %s", count(len(r.Outcomes), "agent"), strings.Join(parts, ", ")),
		Try: "See why, mend it, and go on with ken plan run --resume."}
}

// planEndView is the last line of a run as programs read it.
type planEndView struct {
	Event   string               `json:"event"`
	ID      string               `json:"id"`
	OK      bool                 `json:"ok"`
	Seconds float64              `json:"seconds"`
	Agents  int                  `json:"agents"`
	Counts  map[runner.State]int `json:"counts"`
}

// printRun prints what became of the agents.
func (a *app) printRun(r *runner.Report) error {
	if a.json {
		v := planEndView{Event: "end", ID: r.ID, OK: r.OK(), Seconds: r.Ended.Sub(r.Started).Seconds(), Agents: len(r.Outcomes), Counts: map[runner.State]int{}}
		for _, s := range []runner.State{runner.Succeeded, runner.Kept, runner.Failed, runner.Skipped, runner.Stopped} {
			v.Counts[s] = r.Count(s)
		}
		return json.NewEncoder(a.out).Encode(v)
	}
	var rows [][]string
	for _, o := range r.Outcomes {
		worked := ""
		if !o.Started.IsZero() {
			worked = took(o.Ended.Sub(o.Started))
		}
		rows = append(rows, []string{o.Agent, string(o.State), worked, o.Reason})
	}
	a.printTable([]string{"AGENT", "STATE", "TOOK", "WHY"}, rows)
	return nil
}

// took writes how long something took, as exactly as a person cares.
func took(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
