// Command documents imports documents: files of the project's folder, which Refresh indexes,
// and pages from elsewhere, such as a wiki, which become claims with a key. Both can be
// imported again: what did not change stays, and what changed replaces what was there.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/middleware"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "documents:", err)
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
	runbook := "# Restart\n\nDrain the load balancer before you restart the ledger.\n"
	if err := os.WriteFile(filepath.Join(root, "runbook.md"), []byte(runbook), 0o644); err != nil {
		return err
	}
	layer, err := middleware.Open(ctx, middleware.Options{Root: root, Foreground: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, layer.Close()) }()

	report, err := layer.Refresh(ctx, "") // a layer without Foreground does this by itself
	if err != nil {
		return err
	}
	fmt.Println("files read:", report.Files)

	pages := map[string]string{"wiki/releases": "Releases leave on Tuesdays at ten.", "wiki/oncall": "The phone of the team on call is in room 4."}
	for range 2 { // again changes nothing
		for name, text := range pages {
			if _, err := layer.Remember(ctx, text, func(c *ken.Claim) { c.Key, c.Source = name, name }); err != nil {
				return err
			}
		}
	}

	for _, question := range []string{"What do I do before I restart the ledger?", "When do releases leave?"} {
		answer, err := layer.Recall(ctx, question, func(q *middleware.RecallQuery) { q.Limit = 1 })
		if err != nil {
			return err
		}
		for _, c := range answer.Claims {
			fmt.Printf("%s (%s)\n", c.Text, c.Source)
		}
	}
	return nil
}
