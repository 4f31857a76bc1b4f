package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/operator"
	"github.com/kenlayer/ken/internal/store/forgotten"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

func (a *app) forgetCommand() *cobra.Command {
	var reason string
	var yes bool
	cmd := &cobra.Command{
		Use:   "forget ID",
		Short: "Erase a claim and everything derived from it",
		Long: "Erase a claim, and every claim that was derived from it or says the same again: texts, evidence, vectors and index entries, " +
			"in the log and on the disk. Messages of sessions that it came from go too, and an episode that tells it is written anew without " +
			"it. What is left is a note of when, by whom and why. It can't be undone, so it asks first.\n\n" +
			"It says which turns had been given the claim, as far as receipts are kept, and what it looked through. What can't be erased at once, " +
			"as on a full disk, is noted, and done by itself when the store is opened next; the exit status is 1 until then. Doing it again with the " +
			"same ID goes on where it ended.",
		Example: `  ken forget 3f9a2c71 --reason "asked for by the customer"`,
		Args:    takes("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.forget(cmd.Context(), args[0], reason, yes)
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "`why`; kept in the log, so name nothing that must be forgotten")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "don't ask")
	return cmd
}

func (a *app) forget(ctx context.Context, id, reason string, yes bool) error {
	return a.withStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		c, err := operator.Living(ctx, s, id)
		before := errors.Is(err, ken.ErrNotFound) // it may have been forgotten: that goes on, and is no news
		if before {
			c.ID, err = id, nil
		}
		if err != nil {
			return err
		}
		if !yes && !before {
			if err := a.confirm(ctx, l, s.Owner(), c.ID); err != nil {
				return err
			}
		}
		// Not through a desk, which would not stop when somebody presses Ctrl-C. Some may
		// be gone although an error follows: they are told either way.
		gone, failed := l.Forget(ctx, s.Owner(), c.ID, reason, ken.Actor{Type: "user", ID: currentUser()})
		switch {
		case a.json && (failed == nil || len(gone.Claims) > 0):
			if err := a.printJSON(gone); err != nil {
				return err
			}
		default:
			for _, id := range gone.Claims {
				fmt.Fprintln(a.out, id)
			}
			if gone.Messages > 0 {
				fmt.Fprintf(a.err, "ken: %d messages of sessions went with it\n", gone.Messages)
			}
			for _, id := range gone.Redacted {
				fmt.Fprintf(a.err, "ken: an episode was written anew without it: %s\n", id)
			}
			a.printGiven(gone.Given)
			for _, file := range gone.Files {
				fmt.Fprintf(a.err, "ken: %s is yours, and still says it\n", file)
			}
			if len(gone.Looked) > 0 {
				fmt.Fprintf(a.err, "ken: looked through, and clean: %s\n", strings.Join(gone.Looked, ", "))
			}
		}
		return failed
	})
}

// givenLines is how many turns are told one by one.
const givenLines = 20

// printGiven tells which turns had been given a claim.
func (a *app) printGiven(given []forgotten.Given) {
	if len(given) == 0 {
		return
	}
	fmt.Fprintf(a.err, "ken: turns whose models had been given it: %d\n", len(given))
	for _, g := range given[max(0, len(given)-givenLines):] {
		fmt.Fprintf(a.err, "  %s  session %s  turn %s\n", g.At.Local().Format(time.DateTime), cmp.Or(g.Session, "-"), g.Turn)
	}
}

// confirm shows what would go, and asks a person. Without one it refuses.
func (a *app) confirm(ctx context.Context, l *middleware.Layer, owner, id string) error {
	would, err := l.WouldForget(ctx, owner, id)
	if err != nil {
		return err
	}
	fmt.Fprintln(a.err, "To be forgotten:")
	for i := range would.Claims {
		c := &would.Claims[i]
		fmt.Fprintf(a.err, "  %s  %s\n", c.ID, fit(cell(headline(&c.Claim)), 100))
		if i > 0 {
			fmt.Fprintf(a.err, "    %s\n", c.Why)
		}
	}
	if would.Messages > 0 {
		fmt.Fprintf(a.err, "  messages of sessions: %d\n", would.Messages)
	}
	a.printGiven(would.Given)
	if would.Memory {
		fmt.Fprintln(a.err, "  MEMORY.md is written anew")
	}
	return a.agree("Erase for good?", "Nothing was forgotten.")
}

// agree asks a person, and returns an error unless the answer is yes: one that was
// told already, with what did not happen. Where nobody can be asked, it refuses.
func (a *app) agree(question, otherwise string) error {
	if !isTerminal(a.in) {
		return usage{&ken.Error{Code: ken.CodeRefused, Msg: strings.ToLower(otherwise[:1]) + strings.TrimSuffix(otherwise[1:], ".") + ": there is nobody to ask",
			Try: "Look at the list above, then add --yes."}}
	}
	fmt.Fprint(a.err, question+" [y/N] ")
	reply, err := bufio.NewReader(a.in).ReadString('\n')
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if reply = strings.ToLower(strings.TrimSpace(reply)); reply != "y" && reply != "yes" {
		fmt.Fprintln(a.err, otherwise)
		return errTold
	}
	return nil
}
