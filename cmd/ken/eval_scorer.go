package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/evals"
	"github.com/kenlayer/ken/internal/evals/report"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

func (a *app) evalScorerCommand() *cobra.Command {
	var seed uint64
	cmd := &cobra.Command{
		Use:   "scorer",
		Short: "Compare the learned order with the plain one on logged turns",
		Long: "Replay the receipts that are kept, oldest first: on each turn both orders are compared on what the answer used of what it was " +
			"shown, and then the learned one learns from it. Print how often each did better, overall and by what the turns were about, with a " +
			"95 % interval from a paired bootstrap; what exploration says about what is left out; and whether the learned order is in force, " +
			"and why not. Nothing is changed.\n\n" +
			"structure.scorer says when it is in force: auto is once it has proved to be better, which takes at least 200 turns.",
		Example: `  ken eval scorer
  ken eval scorer --owner alice --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.evalScorer(cmd.Context(), seed) },
	}
	cmd.Flags().Uint64Var(&seed, "seed", 1, "the seed of the intervals")
	return cmd
}

func (a *app) evalScorer(ctx context.Context, seed uint64) error {
	return a.withStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		learner := l.Learner(s.Owner())
		if err := learner.Load(ctx); err != nil {
			return err
		}
		log, err := a.loggedTurns(ctx, l.Receipts(s.Owner()))
		if err != nil {
			return err
		}
		o := evals.CompareOrders(log, learner.Standing(), seed)
		if a.json {
			return a.printJSON(o)
		}
		fmt.Fprint(a.out, report.Orders(o))
		return nil
	})
}

// loggedTurns are all receipts that can be read.
func (a *app) loggedTurns(ctx context.Context, b *receipt.Book) (all []receipt.Record, err error) {
	q := receipt.Query{Limit: receipt.MaxLimit}
	for {
		page, next, err := b.List(ctx, q)
		switch {
		case errors.Is(err, ken.ErrCorrupt):
			fmt.Fprintf(a.err, "ken: %v\n", err)
		case err != nil:
			return nil, err
		}
		all = append(all, page...)
		if next == "" {
			return all, nil
		}
		q.Before = next
	}
}
