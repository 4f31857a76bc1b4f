package planning

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/knowledge/structure/edit"
	"github.com/kenlayer/ken/internal/knowledge/structure/task"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

func taskIDs(ctx context.Context, l *middleware.Layer, s store.Engine) ([]string, error) {
	all, err := cli.Desk(l, s).Editor().Tasks(ctx, edit.TaskFilter{})
	return cli.Map(all, func(t *task.Task) string { return t.ID + "\t" + cli.Truncate(cli.Cell(t.Title), 60) }), err
}

type tasksOptions struct {
	statuses []string
	about    string
	all      bool
	contains string
}

func (a *commands) tasksCommand() *cobra.Command {
	var o tasksOptions
	cmd := &cobra.Command{
		Use:   "tasks",
		Short: "Keep work items: list those that are open",
		Long: "Keep work items with a life of their own: open, in_progress, blocked, done, cancelled. Without a subcommand, list those that are " +
			"not over. ken entity show lists those about an entity.",
		Example: `  ken tasks
  ken tasks --about payments --all`,
		Args: cli.OnlySubcommands,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.listTasks(cmd.Context(), &o) },
	}
	var lo tasksOptions
	list := &cobra.Command{
		Use:     "list",
		Short:   "List tasks: those that are not over",
		Long:    "List tasks by their numbers: those that are not over, unless --status or --all asks for others.",
		Example: `  ken tasks list --status done`,
		Args:    cli.ExactArgs(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.listTasks(cmd.Context(), &lo) },
	}
	a.tasksFlags(cmd, &o)
	a.tasksFlags(list, &lo)
	cmd.AddCommand(list, a.taskAddCommand(), a.taskUpdateCommand(), a.taskShowCommand())
	return cmd
}

func (a *commands) tasksFlags(cmd *cobra.Command, o *tasksOptions) {
	f := cmd.Flags()
	f.StringArrayVar(&o.statuses, "status", nil, "only tasks of this `STATUS`: open, in_progress, blocked, done or cancelled (repeatable)")
	f.StringVar(&o.about, "about", "", "only tasks about this `ENTITY`, under any of its names")
	f.StringVar(&o.contains, "contains", "", "only tasks with this `TEXT` in the title")
	f.BoolVar(&o.all, "all", false, "also those that are over")
	cli.CompleteWords(cmd, "status", statusWords()...)
	a.CompleteFlag(cmd, "about", cli.EntityNames)
}

func statusWords() []string { return cli.Words(task.Statuses()) }

// taskStatus parses a status as people write it: in-progress is in_progress.
func taskStatus(s string) (task.Status, error) {
	st := task.Status(strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(strings.TrimSpace(s))))
	if !st.Valid() {
		return "", cli.Invalid("--status", fmt.Sprintf("%q is not a status of a task", s), "Use one of "+strings.Join(statusWords(), ", ")+".")
	}
	return st, nil
}

func (a *commands) listTasks(ctx context.Context, o *tasksOptions) error {
	want := edit.TaskFilter{About: o.about, Contains: o.contains}
	if o.all {
		want.Statuses = task.Statuses()
	}
	if o.all && len(o.statuses) > 0 {
		return cli.Usagef("--all and --status: give one of the two")
	}
	for _, s := range o.statuses {
		st, err := taskStatus(s)
		if err != nil {
			return err
		}
		want.Statuses = append(want.Statuses, st)
	}
	return a.ReadStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		tasks, err := cli.Desk(l, s).Editor().Tasks(ctx, want)
		if err != nil {
			return cli.AsUsageError(err)
		}
		return a.showTasks(map[string]any{"tasks": tasks}, tasks...)
	})
}

// showTasks prints v with --json, and otherwise the tasks as a table.
func (a *commands) showTasks(v any, tasks ...task.Task) error {
	return a.ShowTable(v, "there are no such tasks", []string{"ID", "STATUS", "EXPIRES", "ABOUT", "TITLE"}, cli.Map(tasks, func(t *task.Task) []string {
		return []string{t.ID, cli.TaskState(t), day(t.ExpiresAt), strings.Join(t.About, ", "), t.Title}
	}))
}

func day(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.DateOnly)
}

func (a *commands) taskAddCommand() *cobra.Command {
	var about []string
	var expires, scope string
	cmd := &cobra.Command{
		Use:   "add [TITLE|-]",
		Short: "Create a task",
		Long:  "Create an open task and print its id. What it is about are the known names in its title unless --about says so.",
		Example: `  ken tasks add "Rotate the keys of the payments service" --expires 30d
  ken tasks add "Write the runbook" --about payments --about ledger`,
		RunE: func(cmd *cobra.Command, args []string) error {
			title, err := a.ReadText(cmd.Context(), args)
			if err != nil {
				return err
			}
			n := edit.NewTask{Title: title, About: about}
			if n.Scope, n.ExpiresAt, err = cli.ScopeAndExpiry(scope, expires, time.Now().UTC()); err != nil {
				return err
			}
			return a.WithEditor(cmd.Context(), func(e *edit.Editor) error {
				t, err := e.CreateTask(cmd.Context(), n)
				if err != nil {
					return err
				}
				return a.Show(t, func() {
					fmt.Fprintln(a.Out, t.ID)
					if len(about) == 0 && len(t.About) > 0 {
						a.Note("about " + strings.Join(t.About, ", "))
					}
				})
			})
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&about, "about", nil, "an `ENTITY` that it is about, the most important first (repeatable)")
	f.StringVar(&expires, "expires", "", "the `TIME` when it is no use any more: a length such as 12h or 30d, or a date")
	f.StringVar(&scope, "scope", "", "where it applies, as `TYPE:ID`; default everywhere")
	a.CompleteFlag(cmd, "about", cli.EntityNames)
	return cmd
}

func (a *commands) taskUpdateCommand() *cobra.Command {
	var status, title, expires string
	var about []string
	cmd := &cobra.Command{
		Use:   "update ID",
		Short: "Change a task",
		Long: "Change a task's status, title, what it is about, or when it expires; what is not given stays as it is. A task that is done or " +
			"cancelled can be opened again.",
		Example: `  ken tasks update T-0001 --status done
  ken tasks update 1 --title "Rotate all keys" --expires never`,
		Args:              cli.ExactArgs("ID"),
		ValidArgsFunction: a.Complete(taskIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			var change edit.TaskChange
			given := cmd.Flags().Changed
			if given("status") {
				st, err := taskStatus(status)
				if err != nil {
					return err
				}
				change.Status = &st
			}
			if given("title") {
				change.Title = &title
			}
			if given("about") {
				about = slices.DeleteFunc(about, func(s string) bool { return s == "" }) // --about "" gives an empty list
				change.About = &about
			}
			if given("expires") {
				var at time.Time
				if expires != "never" {
					var err error
					if at, err = cli.ParseExpiry(expires, time.Now().UTC()); err != nil {
						return err
					}
				}
				change.ExpiresAt = &at
			}
			if change == (edit.TaskChange{}) {
				return cli.Usagef("update: say what to change, with --status, --title, --about or --expires")
			}
			return a.WithEditor(cmd.Context(), func(e *edit.Editor) error {
				t, err := e.UpdateTask(cmd.Context(), args[0], change)
				if err != nil {
					return err
				}
				return a.showTasks(t, t)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&status, "status", "", "the new `STATUS`: open, in_progress, blocked, done or cancelled")
	f.StringVar(&title, "title", "", "the new `TITLE`")
	f.StringArrayVar(&about, "about", nil, "an `ENTITY` that it is about, instead of those before (repeatable)")
	f.StringVar(&expires, "expires", "", "the `TIME` when it is no use any more: a length, a date, or never")
	cli.CompleteWords(cmd, "status", statusWords()...)
	a.CompleteFlag(cmd, "about", cli.EntityNames)
	return cmd
}

func (a *commands) taskShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "show ID",
		Short:             "Show a task",
		Long:              "Show a task, whatever became of it. ken history with its claim's id shows what happened to it.",
		Example:           `  ken tasks show T-0001`,
		Args:              cli.ExactArgs("ID"),
		ValidArgsFunction: a.Complete(taskIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithEditor(cmd.Context(), func(e *edit.Editor) error {
				t, err := e.Task(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return a.Show(t, func() { a.printTask(&t) })
			})
		},
	}
}

func (a *commands) printTask(t *task.Task) {
	state := string(t.Status)
	if t.Expired {
		state += ", expired"
	}
	a.PrintFields(9, "task", t.ID, "title", t.Title, "status", state, "about", strings.Join(t.About, ", "), "created", minute(t.CreatedAt),
		"changed", minute(t.UpdatedAt), "expires", minute(t.ExpiresAt), "over", minute(t.CompletedAt), "kept till", minute(t.RetentionUntil), "claim", t.ClaimID)
}
