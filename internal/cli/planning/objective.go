package planning

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/code/objective"
)

// objectiveCommand groups the commands for long-term goals. They read only the files and
// don't open the store.
func (a *commands) objectiveCommand() *cobra.Command {
	return cli.WithSubcommands(&cobra.Command{
		Use:   "objective",
		Short: "Manage goals that outlast a session, and their progress",
		Long: "Manage goals that outlast a session, each as a YAML file in .ken/knowledge/objectives or where objectives.folder says, with the tasks " +
			"that lead there. Progress is computed from the tasks. Those that are active are told to every turn, in few words. A change " +
			"edits the lines that it must; a file that is broken is left alone.",
		Example: `  ken objective create --title "Ship auth" --tasks "Design,Implement,Test"
  ken objective link OBJ-0001 Design --done`,
	}, a.objectiveCreateCommand(), a.objectiveListCommand(), a.objectiveStatusCommand(), a.objectiveShowCommand(), a.objectiveLinkCommand(),
		a.objectiveUpdateCommand())
}

func (a *commands) withObjectives(fn func(*objective.Store) error) error {
	r, err := a.Configuration()
	if err != nil {
		return err
	}
	s, err := objective.Open(r.Root, objective.Options{Folder: r.Config.Objectives.Folder})
	if err != nil {
		return cli.AsUsageError(err)
	}
	return errors.Join(cli.AsUsageError(fn(s)), s.Close())
}

// objectiveIDs lists the ids of all objectives that can be read.
func (a *commands) objectiveIDs(ctx context.Context) (out []string) {
	_ = a.withObjectives(func(s *objective.Store) error {
		list, _, err := s.List(ctx)
		for _, o := range list {
			out = append(out, o.ID+"\t"+cli.Truncate(cli.Cell(o.Title), 60))
		}
		return err
	})
	return out
}

func objectiveStatuses() []string { return cli.Words(objective.Statuses()) }

func objectiveStatus(s string) (objective.Status, error) {
	st := objective.Status(strings.ToLower(strings.TrimSpace(s)))
	if !st.Valid() {
		return "", cli.Invalid("--status", fmt.Sprintf("%q is not a status of an objective", s), "Use one of "+strings.Join(objectiveStatuses(), ", ")+".")
	}
	return st, nil
}

func (a *commands) objectiveListCommand() *cobra.Command {
	var statuses []string
	var all bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List objectives: those that are active or paused",
		Long:  "List objectives by their numbers, with how many of their tasks are done: those that are active or paused, unless --status or --all asks for others.",
		Example: `  ken objective list
  ken objective list --status done`,
		Args: cli.ExactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			want := []objective.Status{objective.Active, objective.Paused}
			if all && len(statuses) > 0 {
				return cli.Usagef("--all and --status: give one of the two")
			}
			if all || len(statuses) > 0 {
				want = nil
			}
			for _, s := range statuses {
				st, err := objectiveStatus(s)
				if err != nil {
					return err
				}
				want = append(want, st)
			}
			return a.withObjectives(func(s *objective.Store) error {
				list, problems, err := s.List(cmd.Context(), want...)
				if err != nil {
					return err
				}
				a.noteProblems(problems)
				return a.printObjectives(list...)
			})
		},
	}
	cmd.Flags().StringArrayVar(&statuses, "status", nil, "only those of this `STATUS`: "+strings.Join(objectiveStatuses(), ", ")+" (repeatable)")
	cmd.Flags().BoolVar(&all, "all", false, "also those that are over")
	a.completeFlagWith(cmd, "status", fixed(objectiveStatuses()...))
	return cmd
}

func (a *commands) noteProblems(list []objective.Problem) {
	for _, p := range list {
		a.Note(fileProblem(p).String())
	}
}

type objectiveView struct {
	ID          string       `json:"id"`
	Title       string       `json:"title"`
	Status      string       `json:"status"`
	Progress    progressView `json:"progress"`
	Owner       string       `json:"owner,omitempty"`
	Tags        []string     `json:"tags,omitempty"`
	Decisions   []string     `json:"decisions,omitempty"`
	Sessions    []string     `json:"sessions,omitempty"`
	Tasks       []goalTask   `json:"tasks"`
	Description string       `json:"description,omitempty"`
	Created     *time.Time   `json:"created,omitempty"`
	Updated     *time.Time   `json:"updated,omitempty"`
	Path        string       `json:"path"`
}

type progressView struct {
	Done  int     `json:"done"`
	Total int     `json:"total"`
	Share float64 `json:"share"` // 0 to 1
}

type goalTask struct {
	Text   string     `json:"text"`
	Done   bool       `json:"done"`
	DoneAt *time.Time `json:"done_at,omitempty"`
	By     string     `json:"by,omitempty"`
	Claim  string     `json:"claim,omitempty"`
}

func objectiveViewOf(o *objective.Objective) objectiveView {
	p := o.Progress()
	return objectiveView{ID: o.ID, Title: o.Title, Status: string(o.Status), Progress: progressView{p.Done, p.Total, p.Share()}, Owner: o.Owner, Tags: o.Tags,
		Decisions: o.Decisions, Sessions: o.Sessions, Description: o.Description, Created: optionalTime(o.Created), Updated: optionalTime(o.Updated), Path: o.Path,
		Tasks: cli.Map(o.Tasks, func(t *objective.Task) goalTask {
			return goalTask{t.Text, t.Done, optionalTime(t.DoneAt), t.By, t.Claim}
		})}
}

// optionalTime returns a pointer to a time, or nil for the zero time.
func optionalTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func (a *commands) printObjectives(list ...objective.Objective) error {
	return a.ShowTable(map[string]any{"objectives": cli.Map(list, objectiveViewOf)}, "there are no such objectives",
		[]string{"ID", "STATUS", "DONE", "CHANGED", "TITLE"}, cli.Map(list, func(o *objective.Objective) []string {
			changed := slices.MaxFunc([]time.Time{o.Created, o.Updated}, time.Time.Compare)
			return []string{o.ID, string(o.Status), o.Progress().String(), day(changed), o.Title}
		}))
}

// printChangedObjective prints an objective that was written, or returns the error.
func (a *commands) printChangedObjective(o objective.Objective, err error) error {
	if err != nil {
		return err
	}
	return a.printObjectives(o)
}

func (a *commands) objectiveCreateCommand() *cobra.Command {
	var d objective.Draft
	var tasks string
	var each []string
	cmd := &cobra.Command{
		Use:   "create [TITLE|-]",
		Short: "Set an objective",
		Long:  "Write a new objective, which is active, with the next free number, and print it. The title is --title, the arguments, or standard input.",
		Example: `  ken objective create --title "Ship auth" --tasks "Design,Implement,Test"
  ken objective create "Ship auth" --task "Design, and talk" --decision ADR-0012`,
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			switch {
			case d.Title != "" && len(args) > 0:
				return cli.Usagef("create: give --title or TITLE")
			case d.Title == "" && d.Description == "-" && len(args) == 0:
				return cli.Usagef("-: standard input is read once; give the title with --title")
			case d.Title == "":
				if d.Title, err = a.ReadText(cmd.Context(), args); err != nil {
					return err
				}
			}
			if d.Description == "-" {
				if d.Description, err = a.ReadText(cmd.Context(), []string{"-"}); err != nil {
					return err
				}
			}
			d.Tasks = append(splitCommas(tasks), each...)
			return a.withObjectives(func(s *objective.Store) error {
				return a.printChangedObjective(s.Create(cmd.Context(), d))
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&d.Title, "title", "", "what is to be reached, in a `TEXT` of a few words")
	f.StringVar(&tasks, "tasks", "", "the tasks that lead there, a `LIST` with commas")
	f.StringArrayVar(&each, "task", nil, "a task, whose `TEXT` may have commas (repeatable)")
	f.StringVar(&d.Description, "description", "", "more about it, a `TEXT`; - is standard input")
	f.StringVar(&d.Owner, "owned-by", "", "a `NAME`: who it belongs to")
	f.StringArrayVar(&d.Tags, "tag", nil, "a `TAG` (repeatable)")
	f.StringArrayVar(&d.Decisions, "decision", nil, "a `DECISION` that it hangs on (repeatable)")
	f.StringArrayVar(&d.Sessions, "session", nil, "a `SESSION` that worked on it (repeatable)")
	a.completeFlagWith(cmd, "decision", a.decisionIDs)
	return cmd
}

func splitCommas(s string) (out []string) {
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

func (a *commands) objectiveLinkCommand() *cobra.Command {
	var l objective.Link
	cmd := &cobra.Command{
		Use:   "link ID TASK",
		Short: "Add a task to an objective, or mark one as done",
		Long: "Add a task to an objective, or with --done mark one as done: it is named by its text, its number from 1, or a part of its text that " +
			"no other has. What is there, or done, already stays as it is.",
		Example: `  ken objective link OBJ-0001 "Write the release notes"
  ken objective link 1 design --done`,
		Args:              cli.ExactArgs("ID", "TASK"),
		ValidArgsFunction: a.completeNames(false, a.objectiveIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			l.Task = args[1]
			if l.By != "" && !l.Done {
				return cli.Usagef("--by: a task that is not done was done by nobody; give --done as well")
			}
			if l.Done {
				l.By = cmp.Or(l.By, cli.CurrentUser())
			}
			return a.withObjectives(func(s *objective.Store) error {
				o, err := s.Link(cmd.Context(), args[0], l)
				if err != nil {
					return err
				}
				return a.Show(objectiveViewOf(&o), func() { a.printProgress(&o) })
			})
		},
	}
	f := cmd.Flags()
	f.BoolVar(&l.Done, "done", false, "it is done")
	f.StringVar(&l.By, "by", "", "a `NAME`: who did it; default you")
	f.StringVar(&l.Claim, "claim", "", "the `ID` of the task's claim")
	return cmd
}

func (a *commands) objectiveUpdateCommand() *cobra.Command {
	var status, title, description, owner, tasks string
	var tags, each []string
	var u objective.Update
	cmd := &cobra.Command{
		Use:   "update ID",
		Short: "Change an objective",
		Long: "Change an objective; what is not given stays as it is. --tasks puts other tasks in place of those that remain, and leaves those " +
			"that are done. ken objective link changes a single task.",
		Example: `  ken objective update OBJ-0001 --status done
  ken objective update 1 --tasks "Test,Ship" --decision ADR-0012`,
		Args:              cli.ExactArgs("ID"),
		ValidArgsFunction: a.completeNames(false, a.objectiveIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			given := cmd.Flags().Changed
			if status != "" {
				st, err := objectiveStatus(status)
				if err != nil {
					return err
				}
				u.Status = &st
			}
			if description == "-" {
				text, err := a.ReadText(cmd.Context(), []string{"-"})
				if err != nil {
					return err
				}
				description = text
			}
			for flag, to := range map[string]struct {
				field **string
				text  *string
			}{"title": {&u.Title, &title}, "description": {&u.Description, &description}, "owned-by": {&u.Owner, &owner}} {
				if given(flag) {
					*to.field = to.text
				}
			}
			// A list must not be nil, which would leave it unchanged.
			if given("tag") {
				u.Tags = slices.DeleteFunc(append([]string{}, tags...), func(s string) bool { return s == "" }) // --tag "" gives an empty list
			}
			if given("tasks") || given("task") {
				u.Remaining = append(append([]string{}, splitCommas(tasks)...), each...)
			}
			if u.Remaining == nil && u.Status == nil && u.Title == nil && u.Description == nil && u.Owner == nil && u.Tags == nil && len(u.AddDecisions)+len(u.AddSessions) == 0 {
				return cli.Usagef("update: say what to change, with --status, --title, --description, --tasks, --tag or another flag")
			}
			return a.withObjectives(func(s *objective.Store) error {
				return a.printChangedObjective(s.Update(cmd.Context(), args[0], u))
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&status, "status", "", "the new `STATUS`: "+strings.Join(objectiveStatuses(), ", "))
	f.StringVar(&title, "title", "", "the new `TITLE`")
	f.StringVar(&description, "description", "", "the new description, a `TEXT`; - is standard input")
	f.StringVar(&owner, "owned-by", "", "a `NAME`: who it belongs to now")
	f.StringArrayVar(&tags, "tag", nil, "a `TAG`, instead of those before (repeatable)")
	f.StringVar(&tasks, "tasks", "", "what remains to be done, a `LIST` with commas, instead of what remained before")
	f.StringArrayVar(&each, "task", nil, "likewise, one task, whose `TEXT` may have commas (repeatable)")
	f.StringArrayVar(&u.AddDecisions, "decision", nil, "a `DECISION` that it hangs on as well (repeatable)")
	f.StringArrayVar(&u.AddSessions, "session", nil, "a `SESSION` that worked on it as well (repeatable)")
	a.completeFlagWith(cmd, "status", fixed(objectiveStatuses()...))
	a.completeFlagWith(cmd, "decision", a.decisionIDs)
	return cmd
}

func (a *commands) objectiveStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status ID",
		Short: "Show the progress of an objective",
		Long:  "Say how many of an objective's tasks are done, which were done last, and what remains.",
		Example: `  ken objective status OBJ-0001
  ken objective status 1 --json`,
		Args:              cli.ExactArgs("ID"),
		ValidArgsFunction: a.completeNames(false, a.objectiveIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.showObjective(cmd.Context(), args[0], a.printProgress)
		},
	}
}

func (a *commands) objectiveShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "show ID",
		Short:             "Show all of an objective",
		Long:              "Show all that an objective says: status, owner, tags, the decisions and sessions that it hangs on, its tasks with who did them and when, and its description.",
		Example:           `  ken objective show OBJ-0001`,
		Args:              cli.ExactArgs("ID"),
		ValidArgsFunction: a.completeNames(false, a.objectiveIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.showObjective(cmd.Context(), args[0], a.printObjective)
		},
	}
}

func (a *commands) showObjective(ctx context.Context, id string, show func(*objective.Objective)) error {
	return a.withObjectives(func(s *objective.Store) error {
		o, problems, err := s.Read(ctx, id)
		if err != nil {
			return err
		}
		a.noteProblems(problems)
		return a.Show(objectiveViewOf(&o), func() { show(&o) })
	})
}

func (a *commands) printProgress(o *objective.Objective) {
	p := o.Progress()
	fmt.Fprintf(a.Out, "%s  %s\n%s, %s tasks done", o.ID, cli.Cell(o.Title), o.Status, p)
	if p.Total > 0 {
		fmt.Fprintf(a.Out, " (%.0f%%)", 100*p.Share())
	}
	fmt.Fprintln(a.Out)
	a.printTasksOf(o, false)
}

// printTasksOf prints the tasks of an objective. With whole, it also prints who did them
// when.
func (a *commands) printTasksOf(o *objective.Objective, whole bool) {
	if len(o.Tasks) > 0 {
		fmt.Fprintln(a.Out)
	}
	for _, t := range o.Tasks {
		mark, behind := " ", ""
		if t.Done {
			mark = "x"
		}
		if whole {
			behind = taskNote(t)
		}
		fmt.Fprintf(a.Out, "[%s] %s%s\n", mark, cli.Cell(t.Text), behind)
	}
}

// taskNote returns the details of a task in parentheses.
func taskNote(t objective.Task) string {
	var parts []string
	if !t.DoneAt.IsZero() {
		parts = append(parts, t.DoneAt.UTC().Format(cli.TimeFormat))
	}
	if t.By != "" {
		parts = append(parts, "by "+cli.Cell(t.By))
	}
	if t.Claim != "" {
		parts = append(parts, "claim "+cli.Cell(t.Claim))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

func (a *commands) printObjective(o *objective.Objective) {
	a.PrintFields(9, "objective", o.ID, "title", o.Title, "status", string(o.Status), "done", o.Progress().String(), "owner", o.Owner,
		"tags", strings.Join(o.Tags, ", "), "decisions", strings.Join(o.Decisions, ", "), "sessions", strings.Join(o.Sessions, ", "),
		"created", minute(o.Created), "changed", minute(o.Updated), "file", o.Path)
	a.printTasksOf(o, true)
	if o.Description != "" {
		fmt.Fprintf(a.Out, "\n%s\n", cli.Printable(o.Description))
	}
}

// minute formats a time; "" for the zero time.
func minute(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(cli.TimeFormat) + " UTC"
}
