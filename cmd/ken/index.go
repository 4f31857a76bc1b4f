package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/repository"
	"github.com/kenlayer/ken/store/bolt"
)

func (a *app) indexCommand() *cobra.Command {
	var rebuild bool
	cmd := &cobra.Command{
		Use:   "index",
		Short: "Bring the repository's content up to date, and embed what has no vector",
		Long: "Read what changed in the project's files and git history since the last time. Other commands that need it do this " +
			"by themselves. --rebuild also folds the claims and the keyword index from the log again.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			return a.withStore(ctx, func(l *middleware.Layer, s *bolt.Store) error {
				if rebuild {
					if err := s.Rebuild(ctx); err != nil {
						return err
					}
				}
				report, err := l.Refresh(ctx, a.owner)
				if err != nil {
					return err
				}
				embedded, total := s.Coverage()
				if a.json {
					return a.printJSON(struct {
						repository.Report
						Records  int `json:"records"`
						Embedded int `json:"embedded"`
					}{report, total, embedded})
				}
				a.printIndexReport(report, embedded, total)
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&rebuild, "rebuild", false, "throw the projections away and fold them from the log first")
	return cmd
}

func (a *app) printIndexReport(r repository.Report, embedded, total int) {
	fmt.Fprintf(a.out, "%d files: %d changed, %d unchanged, %d removed; %d commits, %d new; %s\n",
		r.Files, r.Changed, r.Unchanged, r.Removed, r.Commits, r.CommitsNew, r.Duration.Round(time.Millisecond))
	if r.History != "" {
		fmt.Fprintf(a.out, "no git history: %s\n", r.History)
	}
	for _, why := range sortedKeys(r.Skipped) {
		fmt.Fprintf(a.out, "skipped %d: %s\n", r.Skipped[why], why)
	}
	for _, w := range r.Withheld {
		fmt.Fprintf(a.out, "withheld %s:%d: looks like a secret (%s)\n", w.Path, w.Line, w.What)
	}
	fmt.Fprintf(a.out, "%d records, %d with a vector\n", total, embedded)
}
