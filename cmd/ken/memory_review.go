package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/operator"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

const reviewKeys = "[a]pprove  [r]eject  [e]dit  [s]kip  [q]uit"

func (a *app) memoryReviewCommand() *cobra.Command {
	var all, list bool
	cmd := &cobra.Command{
		Use:   "review",
		Short: "Go through the candidates, most reinforced first",
		Long: "Show what Ken wants to believe, most reinforced first, and decide with one key: " + reviewKeys + ". What was approved is in " +
			"every turn from then on; what was rejected does not come back. Each decision is carried out at once. Without a terminal, each " +
			"line of standard input is a key, an empty one skips, and the line after an e is the new text.",
		Example: `  ken memory review
  ken memory review --list --all`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.review(cmd.Context(), all, list) },
	}
	cmd.Flags().BoolVar(&all, "all", false, "what was approved, too")
	cmd.Flags().BoolVar(&list, "list", false, "only list them; --json does so as well")
	return cmd
}

func (a *app) review(ctx context.Context, all, list bool) error {
	return a.withStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		desk := myDesk(l, s)
		if !list && !a.json { // what was decided in the file comes first
			if err := desk.SyncMemory(ctx); err != nil {
				return err
			}
		}
		claims, err := desk.Memory(ctx, all)
		switch {
		case err != nil:
			return err
		case a.json:
			views := make([]claimView, len(claims))
			for i := range claims {
				views[i] = l.View(claims[i])
			}
			return a.printJSON(map[string]any{"memory": views})
		case len(claims) == 0:
			fmt.Fprintln(a.err, "ken: there is nothing to review")
			return nil
		case list:
			rows := make([][]string, len(claims))
			for i := range claims {
				c := &claims[i]
				rows[i] = []string{a.shortID(c.ID), kindOf(c), string(c.Status), fmt.Sprint(c.Reinforcements + 1), c.Text}
			}
			a.printTable([]string{"ID", "KIND", "STATUS", "SEEN", "TEXT"}, rows)
			return nil
		}
		r := reviewer{a: a, desk: desk, in: a.keyReader()}
		err = r.decideEach(ctx, claims)
		if r.changed { // also when somebody stopped half way
			err = errors.Join(err, desk.SyncMemory(context.WithoutCancel(ctx)))
		}
		return err
	})
}

// reviewer asks about claims.
type reviewer struct {
	a       *app
	desk    *operator.Desk
	in      *keyReader
	changed bool // something was decided
}

// decideEach asks about one claim after the other, until the input ends or somebody
// quits.
func (r *reviewer) decideEach(ctx context.Context, claims []ken.Claim) error {
	for i := range claims {
		r.show(&claims[i], i+1, len(claims))
		for done := false; !done; {
			key, err := r.in.key(ctx, func() { fmt.Fprint(r.a.out, reviewKeys+" › ") })
			if errors.Is(err, io.EOF) || err == nil && (key == 'q' || key == ctrlC || key == ctrlD) {
				fmt.Fprintln(r.a.out)
				return nil
			}
			did := ""
			if err == nil {
				did, err = r.obey(ctx, key, &claims[i])
			}
			if err != nil {
				fmt.Fprintln(r.a.out)
				return err
			}
			fmt.Fprintln(r.a.out, did)
			done = did != ""
		}
	}
	return nil
}

// kindOf names what is decided about.
func kindOf(c *ken.Claim) string {
	if c.RuleCandidate {
		return "candidate rule"
	}
	return string(c.Kind)
}

// show prints a claim, and what speaks for it.
func (r *reviewer) show(c *ken.Claim, n, of int) {
	fmt.Fprintf(r.a.out, "\n%d of %d  %s, %s, seen %s\n  %s\n", n, of, kindOf(c), c.Status, seen(c), printable(c.Text))
	const some = 4
	for _, e := range c.Evidence[:min(len(c.Evidence), some)] {
		fmt.Fprintf(r.a.out, "  · %s\n", cell(evidenceLabel(e)+" "+e.Detail))
	}
	if more := len(c.Evidence) - some; more > 0 {
		fmt.Fprintf(r.a.out, "  · and %d more\n", more)
	}
}

// obey does what a key asks for and says so; "" for a key that asks for nothing.
func (r *reviewer) obey(ctx context.Context, key rune, c *ken.Claim) (did string, err error) {
	v := operator.Verdict{ID: c.ID}
	switch key {
	case 'a':
		if did, v.Decision = "approved", operator.Approve; c.Status != ken.StatusHypothesis {
			return "was approved before", nil
		}
	case 'r':
		did, v.Decision = "rejected", operator.Reject
	case 'e':
		fmt.Fprint(r.a.out, "\nnew text › ")
		text, err := r.in.line(ctx)
		if errors.Is(err, io.EOF) {
			err = &ken.Error{Code: ken.CodeInvalid, Msg: "the input ended where a new text was expected", Try: "Give the text on the line after the e."}
		}
		if err != nil {
			return "", err
		}
		if text = strings.TrimSpace(text); text == "" || text == c.Text {
			return "", nil // asks again
		}
		did, v.Decision, v.Text = "edited and approved", operator.Rewrite, text
	case 's', '\r', '\n':
		return "skipped", nil
	default:
		if !r.in.person() { // one wrong line would shift all decisions after it
			return "", usage{&ken.Error{Code: ken.CodeInvalid, Msg: fmt.Sprintf("%q is no key", key), Try: "Use a, r, e, s or q."}}
		}
		return "", nil
	}
	if out := r.desk.Decide(ctx, v); out.Err != nil {
		return "", out.Err
	}
	r.changed = true
	return did, nil
}

// seen says how often a claim was seen, and when last.
func seen(c *ken.Claim) string {
	last := c.UpdatedAt
	if !c.ReinforcedAt.IsZero() {
		last = c.ReinforcedAt
	}
	if c.Reinforcements == 0 {
		return "once, " + last.UTC().Format(time.DateOnly)
	}
	return fmt.Sprintf("%d times, last %s", c.Reinforcements+1, last.UTC().Format(time.DateOnly))
}
