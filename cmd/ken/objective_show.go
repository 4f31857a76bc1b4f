package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/internal/code/objective"
)

func (a *app) objectiveStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status ID",
		Short: "Say how far an objective has come",
		Long:  "Say how many of an objective's tasks are done, which were done last, and what remains.",
		Example: `  ken objective status OBJ-0001
  ken objective status 1 --json`,
		Args:              takes("ID"),
		ValidArgsFunction: a.named(false, a.objectiveIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.showObjective(cmd.Context(), args[0], a.printProgress)
		},
	}
}

func (a *app) objectiveShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "show ID",
		Short:             "Show an objective whole",
		Long:              "Show all that an objective says: status, owner, tags, the decisions and sessions that it hangs on, its tasks with who did them and when, and its description.",
		Example:           `  ken objective show OBJ-0001`,
		Args:              takes("ID"),
		ValidArgsFunction: a.named(false, a.objectiveIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.showObjective(cmd.Context(), args[0], a.printObjective)
		},
	}
}

func (a *app) showObjective(ctx context.Context, id string, show func(*objective.Objective)) error {
	return a.withObjectives(func(s *objective.Store) error {
		o, problems, err := s.Read(ctx, id)
		if err != nil {
			return err
		}
		a.tellProblems(problems)
		if a.json {
			return a.printJSON(objectiveViewOf(&o))
		}
		show(&o)
		return nil
	})
}

func (a *app) printProgress(o *objective.Objective) {
	p := o.Progress()
	fmt.Fprintf(a.out, "%s  %s\n%s, %s tasks done", o.ID, cell(o.Title), o.Status, p)
	if p.Total > 0 {
		fmt.Fprintf(a.out, " (%.0f%%)", 100*p.Share())
	}
	fmt.Fprintln(a.out)
	a.printTasksOf(o, false)
}

// printTasksOf lists the tasks of an objective, with who did them when, if that is asked for.
func (a *app) printTasksOf(o *objective.Objective, whole bool) {
	if len(o.Tasks) > 0 {
		fmt.Fprintln(a.out)
	}
	for _, t := range o.Tasks {
		mark, behind := " ", ""
		if t.Done {
			mark = "x"
		}
		if whole {
			behind = aside(t)
		}
		fmt.Fprintf(a.out, "[%s] %s%s\n", mark, cell(t.Text), behind)
	}
}

// aside is what there is to say of a task beside its text, in parentheses.
func aside(t objective.Task) string {
	var parts []string
	if !t.DoneAt.IsZero() {
		parts = append(parts, t.DoneAt.UTC().Format(minute))
	}
	if t.By != "" {
		parts = append(parts, "by "+cell(t.By))
	}
	if t.Claim != "" {
		parts = append(parts, "claim "+cell(t.Claim))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

func (a *app) printObjective(o *objective.Objective) {
	line := func(name, text string) {
		if text = cell(text); text != "" {
			fmt.Fprintf(a.out, "%-9s  %s\n", name, text)
		}
	}
	at := func(name string, when time.Time) {
		if !when.IsZero() {
			line(name, when.UTC().Format(minute)+" UTC")
		}
	}
	line("objective", o.ID)
	line("title", o.Title)
	line("status", string(o.Status))
	line("done", o.Progress().String())
	line("owner", o.Owner)
	line("tags", strings.Join(o.Tags, ", "))
	line("decisions", strings.Join(o.Decisions, ", "))
	line("sessions", strings.Join(o.Sessions, ", "))
	at("created", o.Created)
	at("changed", o.Updated)
	line("file", o.Path)
	a.printTasksOf(o, true)
	if o.Description != "" {
		fmt.Fprintf(a.out, "\n%s\n", printable(o.Description))
	}
}
