package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	adr "github.com/kenlayer/ken/internal/code/decision"
)

// decisionFilter is which decisions are looked at.
type decisionFilter struct {
	statuses     []string
	tag, governs string
	since, until string
	noArchive    bool
	limit        int // 0 lists all
}

func (a *app) decisionFilterFlags(cmd *cobra.Command, o *decisionFilter) {
	f := cmd.Flags()
	f.StringArrayVar(&o.statuses, "status", nil, "only those of this `status`: "+strings.Join(decisionStatuses(true), ", ")+" (repeatable)")
	f.StringVar(&o.tag, "tag", "", "only those with this `tag`")
	f.StringVar(&o.governs, "governs", "", "only those that govern this `path` or symbol, as they list it or their text names it")
	f.StringVar(&o.since, "since", "", "only those of this `day`, as YYYY-MM-DD, or later")
	f.StringVar(&o.until, "until", "", "only those of this `day` or earlier")
	f.BoolVar(&o.noArchive, "no-archive", false, "leave out what is in the archive")
	a.offer(cmd, "status", fixed(decisionStatuses(true)...))
}

func (a *app) decisionListCommand() *cobra.Command {
	var o decisionFilter
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the decisions by number",
		Long:  "List the decisions by their numbers: id, status, date, file and title. What could not be read is counted; ken decision check says why.",
		Example: `  ken decision list --status accepted --status proposed
  ken decision list --governs internal/store/file.go`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.listDecisions(cmd.Context(), "", &o) },
	}
	a.decisionFilterFlags(cmd, &o)
	return cmd
}

func (a *app) decisionSearchCommand() *cobra.Command {
	var o decisionFilter
	cmd := &cobra.Command{
		Use:   "search WORDS…",
		Short: "Search the decisions",
		Long: "Search title, tags and text of all decisions, those in the archive as well, and list what fits best first. Any of the words may " +
			"be there; the more, the better.",
		Example: `  ken decision search how do we retry
  ken decision search --governs store.Shelf --status accepted cache`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := a.text(args)
			if err != nil {
				return err
			}
			if o.limit < 1 || o.limit > 200 {
				return usagef("--limit: %d is outside 1..200", o.limit)
			}
			return a.listDecisions(cmd.Context(), text, &o)
		},
	}
	a.decisionFilterFlags(cmd, &o)
	cmd.Flags().IntVar(&o.limit, "limit", 20, "list at most so `many`")
	return cmd
}

func (a *app) listDecisions(ctx context.Context, text string, o *decisionFilter) error {
	q := adr.Query{Words: text, Tag: o.tag, Governs: o.governs, NoArchive: o.noArchive, Limit: o.limit}
	for _, s := range o.statuses {
		st, err := decisionStatus(s, true)
		if err != nil {
			return err
		}
		q.Statuses = append(q.Statuses, st)
	}
	var err error
	if q.Since, err = dayFlag("--since", o.since); err != nil {
		return err
	}
	if q.Until, err = dayFlag("--until", o.until); err != nil {
		return err
	}
	return a.withDecisions(ctx, func(r *adr.Registry) error {
		var found []adr.Hit
		total := 0
		for more := true; more; {
			page := r.Search(q)
			found, total = append(found, page.Hits...), page.Total
			q.Offset += len(page.Hits)
			more = o.limit == 0 && len(page.Hits) > 0
		}
		if n := len(r.Problems()); n > 0 {
			a.tell(count(n, "problem") + " in the files of decisions; see ken decision check")
		}
		views := make([]decisionRow, len(found))
		for i := range found {
			views[i] = rowOf(&found[i].Record)
			views[i].Score = found[i].Score
		}
		switch {
		case a.json:
			return a.printJSON(map[string]any{"decisions": views, "total": total})
		case len(views) == 0:
			fmt.Fprintln(a.err, "ken: there are no such decisions")
			return nil
		}
		a.printDecisions(views...)
		return nil
	})
}

// decisionRow is a decision in a list.
type decisionRow struct {
	ID       string   `json:"id"`
	Title    string   `json:"title"`
	Status   string   `json:"status"`
	Date     string   `json:"date,omitempty"`
	Path     string   `json:"path"`
	Tags     []string `json:"tags,omitempty"`
	Archived bool     `json:"archived,omitempty"`
	Score    float64  `json:"score,omitempty"` // of a search, comparable within it
}

func rowOf(r *adr.Record) decisionRow {
	return decisionRow{ID: r.Handle, Title: r.Title.Text, Status: string(r.Status), Date: day(r.Date), Path: r.Path, Tags: textsOf(r.Tags), Archived: r.Archived}
}

func (a *app) printDecisions(list ...decisionRow) {
	rows := make([][]string, len(list))
	for i, d := range list {
		status := d.Status
		if d.Archived {
			status += ", archived"
		}
		rows[i] = []string{d.ID, status, d.Date, d.Path, d.Title}
	}
	a.printTable([]string{"ID", "STATUS", "DATE", "FILE", "TITLE"}, rows)
}

func textsOf(values []adr.Value) (out []string) {
	for _, v := range values {
		out = append(out, v.Text)
	}
	return out
}

// decisionStatus reads a status in any case; superseded only where it may be asked for.
func decisionStatus(s string, superseded bool) (adr.Status, error) {
	st := adr.Status(strings.ToLower(strings.TrimSpace(s)))
	if slices.Contains(decisionStatuses(superseded), string(st)) {
		return st, nil
	}
	e := &ken.Error{Code: ken.CodeInvalid, Field: "status", Msg: fmt.Sprintf("%q is no status of a decision", s), Try: "Use one of " + strings.Join(decisionStatuses(superseded), ", ") + "."}
	if st == adr.Superseded {
		e.Msg, e.Try = "a decision is superseded by another one", "Use ken decision supersede OLD --by NEW."
	}
	return "", usage{e}
}

// dayFlag reads a day; zero for none.
func dayFlag(flag, s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return t, usage{&ken.Error{Code: ken.CodeInvalid, Field: flag, Msg: fmt.Sprintf("%q is no day", s), Try: "Write it as 2026-11-22."}}
	}
	return t, nil
}
