package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/objective"
)

// objectiveCommand groups what is about long goals. None of it opens the store: the files
// are all there is.
func (a *app) objectiveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "objective",
		Short: "Keep goals that outlast a session, and how far each has come",
		Long: "Keep goals that outlast a session, each as a YAML file in .ken/knowledge/objectives or where objectives.folder says, with the tasks " +
			"that lead there. Progress is computed from the tasks. Those that are active are told to every turn, in few words. A change " +
			"edits the lines that it must; a file that is broken is left alone.",
		Example: `  ken objective create --title "Ship auth refactor" --tasks "Design,Implement,Test"
  ken objective link OBJ-0001 Design --done`,
		Args: onlySubcommands,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.objectiveCreateCommand(), a.objectiveListCommand(), a.objectiveStatusCommand(), a.objectiveShowCommand(), a.objectiveLinkCommand(),
		a.objectiveUpdateCommand())
	return cmd
}

// withObjectives runs fn on the project's objectives.
func (a *app) withObjectives(fn func(*objective.Store) error) error {
	root, err := a.project()
	if err != nil {
		return err
	}
	cfg, _, err := a.configuration()
	if err != nil {
		return err
	}
	s, err := objective.Open(root, objective.Options{Folder: cfg.Objectives.Folder})
	if err != nil {
		return badUsage(err)
	}
	return errors.Join(badUsage(fn(s)), s.Close())
}

// objectiveIDs are the ids of all objectives; files that can't be read offer nothing.
func (a *app) objectiveIDs(ctx context.Context) (out []string) {
	_ = a.withObjectives(func(s *objective.Store) error {
		list, _, err := s.List(ctx)
		for _, o := range list {
			out = append(out, o.ID+"\t"+fit(cell(o.Title), 60))
		}
		return err
	})
	return out
}

func objectiveStatuses() (out []string) {
	for _, s := range objective.Statuses() {
		out = append(out, string(s))
	}
	return out
}

func objectiveStatus(s string) (objective.Status, error) {
	st := objective.Status(strings.ToLower(strings.TrimSpace(s)))
	if !st.Valid() {
		return "", usage{&ken.Error{Code: ken.CodeInvalid, Field: "--status", Msg: fmt.Sprintf("%q is no status of an objective", s),
			Try: "Use one of " + strings.Join(objectiveStatuses(), ", ") + "."}}
	}
	return st, nil
}

func (a *app) objectiveListCommand() *cobra.Command {
	var statuses []string
	var all bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List objectives: those that are active or paused",
		Long:  "List objectives by their numbers, with how many of their tasks are done: those that are active or paused, unless --status or --all asks for others.",
		Example: `  ken objective list
  ken objective list --status done`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			want := []objective.Status{objective.Active, objective.Paused}
			if all && len(statuses) > 0 {
				return usagef("--all and --status: give one of the two")
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
				a.tellProblems(problems)
				return a.printObjectives(list...)
			})
		},
	}
	cmd.Flags().StringArrayVar(&statuses, "status", nil, "only those of this `status`: "+strings.Join(objectiveStatuses(), ", ")+" (repeatable)")
	cmd.Flags().BoolVar(&all, "all", false, "also those that are over")
	a.offer(cmd, "status", fixed(objectiveStatuses()...))
	return cmd
}

// tellProblems says what could not be read, beside the output.
func (a *app) tellProblems(list []objective.Problem) {
	for _, p := range list {
		a.tell(fileProblem(p).String())
	}
}

// objectiveView is an objective as programs read it.
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

// goalTask is one step of an objective.
type goalTask struct {
	Text   string     `json:"text"`
	Done   bool       `json:"done"`
	DoneAt *time.Time `json:"done_at,omitempty"`
	By     string     `json:"by,omitempty"`
	Claim  string     `json:"claim,omitempty"`
}

func objectiveViewOf(o *objective.Objective) objectiveView {
	p := o.Progress()
	v := objectiveView{ID: o.ID, Title: o.Title, Status: string(o.Status), Progress: progressView{p.Done, p.Total, p.Share()}, Owner: o.Owner, Tags: o.Tags,
		Decisions: o.Decisions, Sessions: o.Sessions, Description: o.Description, Created: whenever(o.Created), Updated: whenever(o.Updated), Path: o.Path, Tasks: []goalTask{}}
	for _, t := range o.Tasks {
		v.Tasks = append(v.Tasks, goalTask{t.Text, t.Done, whenever(t.DoneAt), t.By, t.Claim})
	}
	return v
}

// whenever is a time, or nothing for none.
func whenever(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// printObjectives prints objectives as a table.
func (a *app) printObjectives(list ...objective.Objective) error {
	views := make([]objectiveView, len(list))
	rows := make([][]string, len(list))
	for i := range list {
		o := &list[i]
		views[i] = objectiveViewOf(o)
		changed := slices.MaxFunc([]time.Time{o.Created, o.Updated}, time.Time.Compare)
		rows[i] = []string{o.ID, string(o.Status), o.Progress().String(), day(changed), o.Title}
	}
	switch {
	case a.json:
		return a.printJSON(map[string]any{"objectives": views})
	case len(rows) == 0:
		fmt.Fprintln(a.err, "ken: there are no such objectives")
		return nil
	}
	a.printTable([]string{"ID", "STATUS", "DONE", "CHANGED", "TITLE"}, rows)
	return nil
}
