// Command store shows a store of one's own: it wraps another one and prints every change.
// Its test runs the suite that each implementation of ken.Store passes.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store/memory"
)

// audited is a ken.Store that reports each change to a writer once it is made.
type audited struct {
	ken.Store // answers what is only read
	log       io.Writer
}

func (a audited) WriteClaim(ctx context.Context, c ken.Claim) (string, error) {
	id, err := a.Store.WriteClaim(ctx, c)
	if err == nil {
		fmt.Fprintln(a.log, "written:", c.Text)
	}
	return id, err
}

func (a audited) Transition(ctx context.Context, t ken.Transition) error {
	err := a.Store.Transition(ctx, t)
	if err == nil {
		fmt.Fprintln(a.log, "now", t.To)
	}
	return err
}

func (a audited) Supersede(ctx context.Context, oldID, newID string) error {
	err := a.Store.Supersede(ctx, oldID, newID)
	if err == nil {
		fmt.Fprintln(a.log, "superseded")
	}
	return err
}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "store:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	store := audited{memory.New(memory.Options{}), os.Stdout}
	claim, err := ken.NewClaim("The ledger keeps entries for seven years.", ken.FromFile("docs/retention.md", "", ""))
	if err != nil {
		return err
	}
	id, err := store.WriteClaim(ctx, claim)
	if err != nil {
		return err
	}
	return store.Transition(ctx, ken.Transition{ID: id, To: ken.StatusDisputed, Reason: "the law changed"})
}
