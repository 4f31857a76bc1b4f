package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

func (a *app) supersedeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "supersede OLD NEW",
		Short: "Replace a claim by another",
		Long: "Mark the claim OLD as replaced by NEW. OLD stays in the log with a link to NEW, and is not recalled any more. " +
			"Doing it again changes nothing.",
		Example: `  ken supersede 3f9a2c71 b04411de`,
		Args:    takes("OLD", "NEW"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.supersede(cmd.Context(), args[0], args[1])
		},
	}
}

func (a *app) supersede(ctx context.Context, oldID, newID string) error {
	return a.withStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		old, err := findClaim(ctx, s, oldID)
		if err != nil {
			return err
		}
		next, err := findClaim(ctx, s, newID)
		if err != nil {
			return err
		}
		if err := s.Supersede(ctx, old.ID, next.ID); err != nil {
			return err
		}
		if old, err = s.Get(ctx, old.ID); err != nil {
			return err
		}
		return a.printMoved(l.View(old))
	})
}
