package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/internal/knowledge/structure/edit"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

func (a *app) taskAddCommand() *cobra.Command {
	var about []string
	var expires, scope string
	cmd := &cobra.Command{
		Use:   "add [TITLE|-]",
		Short: "Create a task",
		Long:  "Create an open task and print its id. What it is about are the known names in its title unless --about says so.",
		Example: `  ken tasks add "Rotate the keys of the payments service" --expires 30d
  ken tasks add "Write the runbook" --about payments --about ledger`,
		RunE: func(cmd *cobra.Command, args []string) error {
			title, err := a.text(args)
			if err != nil {
				return err
			}
			n := edit.NewTask{Title: title, About: about}
			if n.Scope, n.ExpiresAt, err = applies(scope, expires, time.Now().UTC()); err != nil {
				return err
			}
			return a.withStore(cmd.Context(), func(l *middleware.Layer, s store.Engine) error {
				t, err := myDesk(l, s).Editor().CreateTask(cmd.Context(), n)
				if err != nil {
					return badUsage(err)
				}
				if a.json {
					return a.printJSON(t)
				}
				fmt.Fprintln(a.out, t.ID)
				if len(about) == 0 && len(t.About) > 0 {
					a.tell("about " + strings.Join(t.About, ", "))
				}
				return nil
			})
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&about, "about", nil, "an `entity` that it is about, the most important first (repeatable)")
	f.StringVar(&expires, "expires", "", "when it is no use any more: a length of `time` such as 12h or 30d, or a date")
	f.StringVar(&scope, "scope", "", "where it applies, as `type:id`; default everywhere")
	a.completeFlag(cmd, "about", entityNames)
	return cmd
}

func (a *app) taskUpdateCommand() *cobra.Command {
	var status, title, expires string
	var about []string
	cmd := &cobra.Command{
		Use:   "update ID",
		Short: "Change a task",
		Long: "Change a task's status, title, what it is about, or when it expires; what is not given stays as it is. A task that is done or " +
			"cancelled can be opened again.",
		Example: `  ken tasks update T-0001 --status done
  ken tasks update 1 --title "Rotate all keys" --expires never`,
		Args:              takes("ID"),
		ValidArgsFunction: a.completes(taskIDs),
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
				about = slices.DeleteFunc(about, func(s string) bool { return s == "" }) // --about "" is about nothing
				change.About = &about
			}
			if given("expires") {
				var at time.Time
				if expires != "never" {
					var err error
					if at, err = parseExpiry(expires, time.Now().UTC()); err != nil {
						return err
					}
				}
				change.ExpiresAt = &at
			}
			if change == (edit.TaskChange{}) {
				return usagef("update: say what to change, with --status, --title, --about or --expires")
			}
			return a.withStore(cmd.Context(), func(l *middleware.Layer, s store.Engine) error {
				t, err := myDesk(l, s).Editor().UpdateTask(cmd.Context(), args[0], change)
				if err != nil {
					return badUsage(err)
				}
				if a.json {
					return a.printJSON(t)
				}
				a.printTasks(t)
				return nil
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&status, "status", "", "the new `status`: open, in_progress, blocked, done or cancelled")
	f.StringVar(&title, "title", "", "the new `title`")
	f.StringArrayVar(&about, "about", nil, "an `entity` that it is about, instead of those before (repeatable)")
	f.StringVar(&expires, "expires", "", "when it is no use any more: a length of `time`, a date, or never")
	a.completeFlag(cmd, "status", words(statusWords()...))
	a.completeFlag(cmd, "about", entityNames)
	return cmd
}
