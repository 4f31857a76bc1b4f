package main

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/internal/code/objective"
)

func (a *app) objectiveCreateCommand() *cobra.Command {
	var d objective.Draft
	var tasks string
	var each []string
	cmd := &cobra.Command{
		Use:   "create [TITLE|-]",
		Short: "Set an objective",
		Long:  "Write a new objective, which is active, with the next free number, and print it. The title is --title, the arguments, or standard input.",
		Example: `  ken objective create --title "Ship auth refactor" --tasks "Design,Implement,Test"
  ken objective create "Ship auth refactor" --task "Design, and talk about it" --decision ADR-0012`,
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			switch {
			case d.Title != "" && len(args) > 0:
				return usagef("create: give --title or TITLE")
			case d.Title == "" && d.Description == "-" && len(args) == 0:
				return usagef("-: standard input is read once; give the title with --title")
			case d.Title == "":
				if d.Title, err = a.text(args); err != nil {
					return err
				}
			}
			if d.Description == "-" {
				if d.Description, err = a.text([]string{"-"}); err != nil {
					return err
				}
			}
			d.Tasks = append(commas(tasks), each...)
			return a.withObjectives(func(s *objective.Store) error {
				o, err := s.Create(cmd.Context(), d)
				if err != nil {
					return err
				}
				return a.printObjectives(o)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&d.Title, "title", "", "what is to be reached, in a few `words`")
	f.StringVar(&tasks, "tasks", "", "the tasks that lead there, a `list` with commas")
	f.StringArrayVar(&each, "task", nil, "a task, whose `text` may have commas (repeatable)")
	f.StringVar(&d.Description, "description", "", "more about it, a `text`; - is standard input")
	f.StringVar(&d.Owner, "owned-by", "", "`who` it belongs to")
	f.StringArrayVar(&d.Tags, "tag", nil, "a `tag` (repeatable)")
	f.StringArrayVar(&d.Decisions, "decision", nil, "a `decision` that it hangs on (repeatable)")
	f.StringArrayVar(&d.Sessions, "session", nil, "a `session` that worked on it (repeatable)")
	a.offer(cmd, "decision", a.decisionIDs)
	return cmd
}

// commas cuts a list.
func commas(s string) (out []string) {
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

func (a *app) objectiveLinkCommand() *cobra.Command {
	var l objective.Link
	cmd := &cobra.Command{
		Use:   "link ID TASK",
		Short: "Add a task to an objective, or mark one as done",
		Long: "Add a task to an objective, or with --done mark one as done: it is named by its text, its number from 1, or a part of its text that " +
			"no other has. What is there, or done, already stays as it is.",
		Example: `  ken objective link OBJ-0001 "Write the release notes"
  ken objective link 1 design --done`,
		Args:              takes("ID", "TASK"),
		ValidArgsFunction: a.named(false, a.objectiveIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			l.Task = args[1]
			if l.By != "" && !l.Done {
				return usagef("--by: a task that is not done was done by nobody; give --done as well")
			}
			if l.Done {
				l.By = cmp.Or(l.By, currentUser())
			}
			return a.withObjectives(func(s *objective.Store) error {
				o, err := s.Link(cmd.Context(), args[0], l)
				if err != nil {
					return err
				}
				return a.printLinked(&o)
			})
		},
	}
	f := cmd.Flags()
	f.BoolVar(&l.Done, "done", false, "it is done")
	f.StringVar(&l.By, "by", "", "`who` did it; default you")
	f.StringVar(&l.Claim, "claim", "", "the `id` of the task's claim")
	return cmd
}

func (a *app) printLinked(o *objective.Objective) error {
	if a.json {
		return a.printJSON(objectiveViewOf(o))
	}
	a.printProgress(o)
	return nil
}

func (a *app) objectiveUpdateCommand() *cobra.Command {
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
		Args:              takes("ID"),
		ValidArgsFunction: a.named(false, a.objectiveIDs),
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
				text, err := a.text([]string{"-"})
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
			if given("tag") {
				u.Tags = slices.DeleteFunc(tags, func(s string) bool { return s == "" }) // --tag "" is none
				if u.Tags == nil {
					u.Tags = []string{}
				}
			}
			if given("tasks") || given("task") {
				u.Remaining = append(append([]string{}, commas(tasks)...), each...) // nil would leave what there is
			}
			if u.Remaining == nil && u.Status == nil && u.Title == nil && u.Description == nil && u.Owner == nil && u.Tags == nil && len(u.AddDecisions)+len(u.AddSessions) == 0 {
				return errNothingToChange
			}
			return a.withObjectives(func(s *objective.Store) error {
				o, err := s.Update(cmd.Context(), args[0], u)
				if err != nil {
					return err
				}
				return a.printObjectives(o)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&status, "status", "", "the new `status`: "+strings.Join(objectiveStatuses(), ", "))
	f.StringVar(&title, "title", "", "the new `title`")
	f.StringVar(&description, "description", "", "the new description, a `text`; - is standard input")
	f.StringVar(&owner, "owned-by", "", "`who` it belongs to now")
	f.StringArrayVar(&tags, "tag", nil, "a `tag`, instead of those before (repeatable)")
	f.StringVar(&tasks, "tasks", "", "what remains to be done, a `list` with commas, instead of what remained before")
	f.StringArrayVar(&each, "task", nil, "likewise, one task, whose `text` may have commas (repeatable)")
	f.StringArrayVar(&u.AddDecisions, "decision", nil, "a `decision` that it hangs on as well (repeatable)")
	f.StringArrayVar(&u.AddSessions, "session", nil, "a `session` that worked on it as well (repeatable)")
	a.offer(cmd, "status", fixed(objectiveStatuses()...))
	a.offer(cmd, "decision", a.decisionIDs)
	return cmd
}

var errNothingToChange = usage{errors.New("update: say what to change, with --status, --title, --description, --tasks, --tag or another flag")}
