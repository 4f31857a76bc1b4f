package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/internal/code/codebase"
	"github.com/kenlayer/ken/internal/code/codegraph"
)

// graphStatus is how the graph stands.
type graphStatus struct {
	Counts   codegraph.Counts        `json:"counts"`
	Changed  int                     `json:"changed"` // files, since it was saved
	Removed  int                     `json:"removed"` // likewise
	Problems []codegraph.FileProblem `json:"problems"`
	Unread   int                     `json:"problems_total"`
	File     string                  `json:"file"`
	Saved    time.Time               `json:"saved,omitzero"`
	Bytes    int64                   `json:"bytes"`
}

func (a *app) graphStatusCommand(q *graphQuestion) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show how large the graph is, and what could not be read",
		Long: "Show how many files, nodes and edges the graph of the code has, how many of the edges are guesses, when it was saved and how many files have " +
			"changed since, and the places in files that could not be read.",
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.graphStatus(cmd, q)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(s)
			}
			c := &s.Counts
			fmt.Fprintf(a.out, "%d files, %d nodes (%d external packages), %s\n", c.Files, c.Nodes, c.External, count(c.Decisions, "decision"))
			fmt.Fprintf(a.out, "%d edges: %d exact, %d guesses\n", c.Edges, c.Edges-c.Guesses, c.Guesses)
			if s.Saved.IsZero() {
				fmt.Fprintln(a.out, "it is not saved yet: ken graph build does that")
			} else {
				fmt.Fprintf(a.out, "saved %s in %s, %d bytes; %d files changed since, %d removed\n", s.Saved.UTC().Format(minute), s.File, s.Bytes, s.Changed, s.Removed)
			}
			a.printUnread(&codegraph.Report{Problems: s.Problems, ProblemsTotal: s.Unread})
			return nil
		},
	}
}

func (a *app) graphStatus(cmd *cobra.Command, q *graphQuestion) (s graphStatus, err error) {
	root, err := a.project()
	if err != nil {
		return s, err
	}
	cfg, _, err := a.configuration()
	if err != nil {
		return s, err
	}
	s.File, s.Problems = filepath.Join(cfg.State(root), codebase.FileName), []codegraph.FileProblem{}
	if info, err := os.Stat(s.File); err == nil { // before it is saved again
		s.Saved, s.Bytes = info.ModTime().UTC(), info.Size()
	}
	if q.stale {
		return s, a.askGraph(cmd.Context(), q, func(v *codegraph.View) error {
			s.Counts = v.Counts()
			return nil
		})
	}
	c, report, err := a.readCodebase(cmd.Context())
	if err != nil {
		return s, err
	}
	s.Counts, s.Changed, s.Removed, s.Unread = report.Counts, report.Changed, report.Removed, report.ProblemsTotal
	s.Problems = append(s.Problems, report.Problems...)
	return s, errors.Join(err, c.Close())
}
