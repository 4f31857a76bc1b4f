package main

import (
	"context"
	"fmt"

	"github.com/kenlayer/ken/internal/knowledge/lifecycle"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// recallArchived finds archived claims, by their words.
func (a *app) recallArchived(ctx context.Context, args []string, o *recallOptions, q *middleware.RecallQuery) (err error) {
	for name, given := range map[string]bool{"--batch": o.batch != "", "--mode": o.mode != "", "--documents": o.documents, "--floor": o.floor} {
		if given {
			return usagef("--archived and %s: give one of the two", name)
		}
	}
	question := ""
	if len(args) > 0 {
		if question, err = a.text(args); err != nil {
			return err
		}
	}
	return a.withStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		found, err := lifecycle.Archived(ctx, s, question, q.Filter, q.Limit)
		if err != nil {
			return err
		}
		views := make([]claimView, len(found))
		rows := make([][]string, len(found))
		for i := range found {
			c := &found[i]
			views[i] = l.View(*c)
			rows[i] = []string{a.shortID(c.ID), string(c.Status), string(c.Kind), c.ArchivedAt.UTC().Format(minute), headline(c)}
		}
		switch {
		case a.json:
			return a.printJSON(map[string]any{"claims": views})
		case len(rows) == 0:
			fmt.Fprintln(a.err, "ken: nothing found")
		default:
			a.printTable([]string{"ID", "STATUS", "KIND", "ARCHIVED (UTC)", "TEXT"}, rows)
		}
		return nil
	})
}
