package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

func (a *app) verifyCommand() *cobra.Command {
	var ev evidenceFlags
	cmd := &cobra.Command{
		Use:   "verify ID",
		Short: "Vouch for a claim",
		Long: "Mark a claim as verified by a person, who is the current user unless --by names another. " +
			"The claim's tier becomes Verified, and stays so for knowledge.decay_days.",
		Example: `  ken verify 3f9a2c71 --note "read the handler and its tests"`,
		Args:    takes("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			root, err := a.project()
			if err != nil {
				return err
			}
			now := time.Now().UTC()
			evidence, err := ev.mechanical(root, now)
			if err != nil {
				return err
			}
			return a.move(cmd.Context(), args[0], ken.Transition{To: ken.StatusVerified,
				Evidence: append(evidence, ev.assertion(now)), Reason: ev.note, Actor: ken.Actor{Type: "user", ID: ev.person()}})
		},
	}
	ev.add(cmd.Flags())
	return cmd
}

// move sends a claim through its life cycle and prints what it has become.
func (a *app) move(ctx context.Context, id string, t ken.Transition) error {
	return a.withStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		c, err := findClaim(ctx, s, id)
		if err != nil {
			return err
		}
		t.ID = c.ID
		if c.Status == ken.StatusVerified && t.To == ken.StatusVerified { // again, which keeps it from decaying
			err = s.Reinforce(ctx, t.ID, t.Evidence, t.Actor)
		} else {
			err = s.Transition(ctx, t)
		}
		if err != nil {
			return err
		}
		if c, err = s.Get(ctx, c.ID); err != nil {
			return err
		}
		return a.printMoved(l.View(c))
	})
}

func (a *app) printMoved(v claimView) error {
	if a.json {
		return a.printJSON(v)
	}
	a.printTable([]string{"ID", "STATUS", "TIER", "TEXT"}, [][]string{
		{a.shortID(v.ID), string(v.Status), v.Tier.String(), headline(&v.Claim)}})
	return nil
}

// findClaim finds a claim by its id or a part of it. Pieces of the repository have
// ids too, and no life cycle.
func findClaim(ctx context.Context, s store.Engine, id string) (ken.Claim, error) {
	c, err := s.Get(ctx, id)
	if err == nil && c.Kind == ken.KindDocument {
		err = &ken.Error{Code: ken.CodeRefused, Field: "id", Msg: id + " is a piece of the repository, not a claim",
			Try: "Change the file itself: the index follows."}
	}
	return c, err
}

// takes asks for exactly the arguments named.
func takes(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return fmt.Errorf("%s: %s is missing", cmd.Name(), names[len(args)])
		case len(args) > len(names):
			return fmt.Errorf("%s: %q is one argument too many", cmd.Name(), args[len(names)])
		}
		return nil
	}
}
