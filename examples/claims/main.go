// Command claims writes claims with evidence, recalls them, replaces one and reads its
// history, without a chat loop.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/middleware"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "claims:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	// A project of its own; a real program names its project's folder.
	root, err := os.MkdirTemp("", "ken")
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
	layer, err := middleware.Open(ctx, middleware.Options{Root: root, Foreground: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, layer.Close()) }()
	store, release, err := layer.Store(ctx, "") // "" is the configured owner
	if err != nil {
		return err
	}
	defer release()

	write := func(text string, evidence ...ken.Evidence) (string, error) {
		claim, err := ken.NewClaim(text, evidence...)
		if err != nil {
			return "", err
		}
		return store.WriteClaim(ctx, claim)
	}
	old, err := write("The ledger runs on PostgreSQL 14.", ken.FromUserStatement("s1", "m1"))
	if err != nil {
		return err
	}
	current, err := write("The ledger runs on PostgreSQL 15.", ken.FromFile("deploy/ledger.yaml", "", ""))
	if err != nil {
		return err
	}
	if err := store.Supersede(ctx, old, current); err != nil {
		return err
	}

	answer, err := layer.Recall(ctx, "Which PostgreSQL does the ledger run on?")
	if err != nil {
		return err
	}
	for _, found := range answer.Claims {
		fmt.Printf("%s: %s\n", found.Tier, found.Text)
	}
	events, err := store.History(ctx, old)
	if err != nil {
		return err
	}
	for _, e := range events {
		fmt.Println(e.Type)
	}
	return nil
}
