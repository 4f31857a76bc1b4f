package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/internal/code/repository"
	"github.com/kenlayer/ken/middleware"
)

func (a *app) indexCommand() *cobra.Command {
	var rebuild bool
	cmd := &cobra.Command{
		Use:   "index",
		Short: "Bring the repository's content up to date, and embed what has no vector",
		Long: "Read what changed in the project's files and git history since the last time, and embed what has no vector. " +
			"ken ask and ken chat do this by themselves.",
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.mayRead(); err != nil {
				return err
			}
			p := a.progress()
			defer p.done()
			l, err := a.layer(cmd.Context(), p)
			if err != nil {
				return err
			}
			report, err := a.index(cmd.Context(), l, rebuild)
			p.done()
			if err == nil {
				err = a.printIndexed(report)
			}
			return errors.Join(err, l.Close())
		},
	}
	cmd.Flags().BoolVar(&rebuild, "rebuild", false, "first fold the claims and the keyword index from the log again")
	return cmd
}

// indexed is what an index run did, and what there is now.
type indexed struct {
	repository.Report
	Records  int `json:"records"`
	Embedded int `json:"embedded"`
}

func (a *app) index(ctx context.Context, l *middleware.Layer, rebuild bool) (indexed, error) {
	s, release, err := l.Store(ctx, a.owner)
	if err != nil {
		return indexed{}, err
	}
	defer release()
	if rebuild {
		if err := s.Rebuild(ctx); err != nil {
			return indexed{}, err
		}
	}
	report, err := l.Refresh(ctx, a.owner)
	if err != nil {
		return indexed{}, err
	}
	if _, err := l.Calibrate(ctx, a.owner); err != nil {
		return indexed{}, err
	}
	embedded, total := s.Coverage()
	return indexed{report, total, embedded}, nil
}

func (a *app) printIndexed(r indexed) error {
	if a.json {
		return a.printJSON(r)
	}
	fmt.Fprintf(a.out, "%d files: %d changed, %d unchanged, %d removed; %d commits, %d new; %s\n",
		r.Files, r.Changed, r.Unchanged, r.Removed, r.Commits, r.CommitsNew, r.Duration.Round(time.Millisecond))
	if r.History != "" {
		fmt.Fprintf(a.out, "no git history: %s\n", r.History)
	}
	for _, why := range sortedKeys(r.Skipped) {
		fmt.Fprintf(a.out, "skipped %d: %s\n", r.Skipped[why], why)
	}
	for _, w := range r.Withheld {
		fmt.Fprintf(a.out, "withheld %s:%d: looks like a secret (%s)\n", cell(w.Path), w.Line, w.What)
	}
	fmt.Fprintf(a.out, "%d records, %d with a vector\n", r.Records, r.Embedded)
	return nil
}
