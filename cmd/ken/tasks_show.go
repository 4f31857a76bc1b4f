package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/internal/knowledge/structure/task"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

func (a *app) taskShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "show ID",
		Short:             "Show a task",
		Long:              "Show a task, whatever became of it. ken history with its claim's id shows what happened to it.",
		Example:           `  ken tasks show T-0001`,
		Args:              takes("ID"),
		ValidArgsFunction: a.completes(taskIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withStore(cmd.Context(), func(l *middleware.Layer, s store.Engine) error {
				t, err := myDesk(l, s).Editor().Task(cmd.Context(), args[0])
				if err != nil {
					return badUsage(err)
				}
				if a.json {
					return a.printJSON(t)
				}
				a.printTask(&t)
				return nil
			})
		},
	}
}

func (a *app) printTask(t *task.Task) {
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
	line("task", t.ID)
	line("title", t.Title)
	state := string(t.Status)
	if t.Expired {
		state += ", expired"
	}
	line("status", state)
	line("about", strings.Join(t.About, ", "))
	at("created", t.CreatedAt)
	at("changed", t.UpdatedAt)
	at("expires", t.ExpiresAt)
	at("over", t.CompletedAt)
	at("kept till", t.RetentionUntil)
	line("claim", t.ClaimID)
}
