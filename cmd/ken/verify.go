package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/internal/knowledge/operator"
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
			return a.move(cmd.Context(), args[0], ev.person(), func(d *operator.Desk, id string) error {
				return d.Verify(cmd.Context(), id, ev.note, evidence...)
			})
		},
	}
	ev.add(cmd.Flags())
	return cmd
}

// deskOf is where somebody decides about the claims of a store.
func deskOf(l *middleware.Layer, s store.Engine, by string) *operator.Desk {
	return operator.New(l, s, operator.Options{Name: by, Editor: currentUser()})
}

// myDesk is that of who runs the command.
func myDesk(l *middleware.Layer, s store.Engine) *operator.Desk { return deskOf(l, s, currentUser()) }

// move sends a claim through its life cycle and prints what it has become.
func (a *app) move(ctx context.Context, id, by string, decide func(d *operator.Desk, id string) error) error {
	return a.withStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		c, err := operator.Living(ctx, s, id)
		if err != nil {
			return err
		}
		if err := decide(deskOf(l, s, by), c.ID); err != nil {
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
