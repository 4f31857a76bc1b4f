package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure/edit"
	"github.com/kenlayer/ken/internal/knowledge/structure/task"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// tasksOptions are which tasks are listed.
type tasksOptions struct {
	statuses []string
	about    string
	all      bool
	contains string
}

func (a *app) tasksCommand() *cobra.Command {
	var o tasksOptions
	cmd := &cobra.Command{
		Use:   "tasks",
		Short: "Keep work items: list those that are open",
		Long: "Keep work items with a life of their own: open, in_progress, blocked, done, cancelled. Without a subcommand, list those that are " +
			"not over. ken entity show lists those about an entity.",
		Example: `  ken tasks
  ken tasks --about payments --all`,
		Args: onlySubcommands,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.listTasks(cmd.Context(), &o) },
	}
	var lo tasksOptions
	list := &cobra.Command{
		Use:     "list",
		Short:   "List tasks: those that are not over",
		Long:    "List tasks by their numbers: those that are not over, unless --status or --all asks for others.",
		Example: `  ken tasks list --status done`,
		Args:    takes(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.listTasks(cmd.Context(), &lo) },
	}
	a.tasksFlags(cmd, &o)
	a.tasksFlags(list, &lo)
	cmd.AddCommand(list, a.taskAddCommand(), a.taskUpdateCommand(), a.taskShowCommand())
	return cmd
}

func (a *app) tasksFlags(cmd *cobra.Command, o *tasksOptions) {
	f := cmd.Flags()
	f.StringArrayVar(&o.statuses, "status", nil, "only tasks of this `status`: open, in_progress, blocked, done or cancelled (repeatable)")
	f.StringVar(&o.about, "about", "", "only tasks about this `entity`, under any of its names")
	f.StringVar(&o.contains, "contains", "", "only tasks with these `words` in the title")
	f.BoolVar(&o.all, "all", false, "also those that are over")
	a.completeFlag(cmd, "status", words(statusWords()...))
	a.completeFlag(cmd, "about", entityNames)
}

func statusWords() (out []string) {
	for _, s := range task.Statuses() {
		out = append(out, string(s))
	}
	return out
}

// taskStatus reads a status as people write it: in-progress is in_progress.
func taskStatus(s string) (task.Status, error) {
	st := task.Status(strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(strings.TrimSpace(s))))
	if !st.Valid() {
		return "", usage{&ken.Error{Code: ken.CodeInvalid, Field: "--status", Msg: fmt.Sprintf("%q is no status of a task", s),
			Try: "Use one of " + strings.Join(statusWords(), ", ") + "."}}
	}
	return st, nil
}

func (a *app) listTasks(ctx context.Context, o *tasksOptions) error {
	want := edit.TaskFilter{About: o.about, Contains: o.contains}
	if o.all {
		want.Statuses = task.Statuses()
	}
	if o.all && len(o.statuses) > 0 {
		return usagef("--all and --status: give one of the two")
	}
	for _, s := range o.statuses {
		st, err := taskStatus(s)
		if err != nil {
			return err
		}
		want.Statuses = append(want.Statuses, st)
	}
	return a.withStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		tasks, err := myDesk(l, s).Editor().Tasks(ctx, want)
		if err != nil {
			return badUsage(err)
		}
		switch {
		case a.json:
			return a.printJSON(map[string]any{"tasks": tasks})
		case len(tasks) == 0:
			fmt.Fprintln(a.err, "ken: there are no such tasks")
			return nil
		}
		a.printTasks(tasks...)
		return nil
	})
}

// printTasks prints tasks as a table.
func (a *app) printTasks(tasks ...task.Task) {
	rows := make([][]string, len(tasks))
	for i := range tasks {
		t := &tasks[i]
		rows[i] = []string{t.ID, taskState(t), day(t.ExpiresAt), strings.Join(t.About, ", "), t.Title}
	}
	a.printTable([]string{"ID", "STATUS", "EXPIRES", "ABOUT", "TITLE"}, rows)
}

// taskState is where a task stands, in a word.
func taskState(t *task.Task) string {
	if t.Expired {
		return "expired" // whatever it was
	}
	return string(t.Status)
}

func day(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.DateOnly)
}
