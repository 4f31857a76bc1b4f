package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/internal/store/forgotten"
	"github.com/kenlayer/ken/middleware"
)

// ConfirmForget shows what would be erased and asks the user. Without a terminal it returns an
// error.
func (a *App) ConfirmForget(ctx context.Context, would *inspect.Blast) error {
	fmt.Fprintln(a.Err, "To be forgotten:")
	line := func(c *inspect.Claim) {
		fmt.Fprintf(a.Err, "  %s  %s\n", c.ID, Truncate(Cell(Headline(&c.Claim)), 100))
	}
	for i := range would.Claims {
		c := &would.Claims[i]
		line(&c.Claim)
		if c.Why != inspect.Itself && c.Why != inspect.OnlySaid {
			fmt.Fprintf(a.Err, "    %s\n", c.Why)
		}
	}
	if would.Messages > 0 {
		fmt.Fprintf(a.Err, "  messages of sessions: %d\n", would.Messages)
	}
	a.printGiven(would.Given)
	if would.Memory {
		fmt.Fprintln(a.Err, "  MEMORY.md is rewritten")
	}
	for _, rest := range []struct {
		says   string
		claims []inspect.Claim
	}{{"Kept, because something else supports them, too:", would.Kept}, {"Replaced by one of these, and not restored:", would.Replaced}} {
		if len(rest.claims) > 0 {
			fmt.Fprintln(a.Err, rest.says)
		}
		for i := range rest.claims {
			line(&rest.claims[i])
		}
	}
	return a.Confirm(ctx, "Erase for good?", "Nothing was forgotten.")
}

// PrintForgotten prints what was erased, also if erasing failed.
func (a *App) PrintForgotten(gone middleware.Forgotten, failed error) error {
	if a.JSON {
		if failed != nil && len(gone.Claims) == 0 {
			return nil
		}
		return a.PrintJSON(gone)
	}
	for _, id := range gone.Claims {
		fmt.Fprintln(a.Out, id)
	}
	if gone.Messages > 0 {
		fmt.Fprintf(a.Err, "ken: %d messages of sessions went with it\n", gone.Messages)
	}
	for _, id := range gone.Redacted {
		fmt.Fprintf(a.Err, "ken: an episode was rewritten without it: %s\n", id)
	}
	a.printGiven(gone.Given)
	for _, file := range gone.Files {
		fmt.Fprintf(a.Err, "ken: %s is your own file, and still contains it\n", file)
	}
	for _, id := range gone.Kept {
		fmt.Fprintf(a.Err, "ken: kept, because something else supports it, too: %s\n", id)
	}
	for _, id := range gone.Replaced {
		fmt.Fprintf(a.Err, "ken: replaced by one of these, and not restored: %s\n", id)
	}
	if len(gone.Looked) > 0 {
		fmt.Fprintf(a.Err, "ken: searched, and clean: %s\n", strings.Join(gone.Looked, ", "))
	}
	return nil
}

// givenLines is how many turns are listed.
const givenLines = 20

func (a *App) printGiven(given []forgotten.Given) {
	if len(given) == 0 {
		return
	}
	fmt.Fprintf(a.Err, "ken: turns whose models received it: %d\n", len(given))
	for _, g := range given[max(0, len(given)-givenLines):] {
		fmt.Fprintf(a.Err, "  %s  session %s  turn %s\n", g.At.Local().Format(time.DateTime), cmp.Or(g.Session, "-"), g.Turn)
	}
}
