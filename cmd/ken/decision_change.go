package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	adr "github.com/kenlayer/ken/internal/code/decision"
)

func (a *app) decisionAcceptCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "accept ID…",
		Short:             "Accept proposed decisions",
		Long:              "Accept decisions: ken decision status ID accepted, for each.",
		Example:           `  ken decision accept ADR-0042`,
		Args:              some("ID"),
		ValidArgsFunction: a.named(true, a.decisionIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.changeDecisions(cmd.Context(), args, func(ctx context.Context, r *adr.Registry, id string) (adr.Record, error) {
				return r.SetStatus(ctx, id, adr.Accepted)
			})
		},
	}
}

func (a *app) decisionStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status ID STATUS",
		Short: "Change the status of a decision",
		Long: "Change the status of a decision to proposed, accepted, rejected or deprecated, where its file has it and as it is written there. " +
			"ken decision supersede is for what has a successor.",
		Example:           `  ken decision status 42 deprecated`,
		Args:              takes("ID", "STATUS"),
		ValidArgsFunction: a.named(false, a.decisionIDs, fixed(decisionStatuses(false)...)),
		RunE: func(cmd *cobra.Command, args []string) error {
			to, err := decisionStatus(args[1], false)
			if err != nil {
				return err
			}
			return a.changeDecisions(cmd.Context(), args[:1], func(ctx context.Context, r *adr.Registry, id string) (adr.Record, error) {
				return r.SetStatus(ctx, id, to)
			})
		},
	}
}

func (a *app) decisionArchiveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "archive ID…",
		Short: "Move decisions that hold no more into the archive",
		Long: "Move decisions that are superseded, deprecated or rejected into a folder named archive beside them, with the links that lead to " +
			"them. They stay in lists and searches, marked, and reach no turn by themselves.",
		Example:           `  ken decision archive ADR-0007 ADR-0009`,
		Args:              some("ID"),
		ValidArgsFunction: a.named(true, a.decisionIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.changeDecisions(cmd.Context(), args, func(ctx context.Context, r *adr.Registry, id string) (adr.Record, error) {
				return r.Archive(ctx, id)
			})
		},
	}
}

// changeDecisions changes decisions one by one, up to the first that can't be changed, and
// prints those that were.
func (a *app) changeDecisions(ctx context.Context, ids []string, change func(context.Context, *adr.Registry, string) (adr.Record, error)) error {
	return a.withDecisions(ctx, func(r *adr.Registry) error {
		var done []adr.Record
		for _, id := range ids {
			d, err := change(ctx, r, id)
			if err != nil {
				if len(done) > 0 {
					err = errors.Join(a.printChanged(r, done...), err)
				}
				return err
			}
			done = append(done, d)
		}
		return a.printChanged(r, done...)
	})
}
