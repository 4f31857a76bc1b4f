package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

func (a *app) sessionsForgetCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "forget ID",
		Short: "Delete a session's messages without harvesting them",
		Long: "Delete what the journal holds of a session, also on the disk: its messages, and the note that it was there. Nothing more is " +
			"learned from it. Claims that came of it stay; ken forget erases those. It can't be undone, so it asks first.",
		Args:              takes("ID"),
		ValidArgsFunction: a.completes(sessionIDs),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.forgetSession(cmd.Context(), args[0], yes) },
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "don't ask")
	return cmd
}

func (a *app) forgetSession(ctx context.Context, id string, yes bool) error {
	return a.withStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		info, err := l.Journal(a.owner).Find(ctx, id)
		if err != nil {
			return err
		}
		if !yes {
			fmt.Fprintf(a.err, "To be deleted:\n  session %s, %s, %d messages, %s to %s UTC\n", cell(info.ID), info.State, info.Messages,
				info.Started.UTC().Format(minute), info.Active.UTC().Format(minute))
			if err := a.agree("Delete for good?", "Nothing was deleted."); err != nil {
				return err
			}
		}
		if err := forgetJournal(ctx, l, s, info.ID); err != nil {
			return err
		}
		if a.json {
			return a.printJSON(map[string]any{"forgotten": []string{info.ID}})
		}
		fmt.Fprintln(a.out, cell(info.ID))
		return nil
	})
}

// forgetJournal deletes what is kept of a session, and then from the disk: the
// pages that held it are free, and still full of it.
func forgetJournal(ctx context.Context, l *middleware.Layer, s store.Engine, id string) error {
	if err := l.ForgetSession(ctx, s.Owner(), id); err != nil {
		return err
	}
	if err := s.Compact(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("clear the disk of session %s: %w", id, err)
	}
	return nil
}
