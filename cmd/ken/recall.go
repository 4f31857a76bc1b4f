package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// recallOptions are recall's flags.
type recallOptions struct {
	limit                   int
	mode, minTrust          string
	scopes, statuses, kinds []string
	documents, floor        bool
	archived                bool
	batch                   string
}

func (a *app) recallCommand() *cobra.Command {
	var o recallOptions
	cmd := &cobra.Command{
		Use:   "recall [QUESTION|-]",
		Short: "Find the claims that bear on a question",
		Long: "Find the claims that bear on a question, best first: what is observed, inferred or verified and has not expired. " +
			"It searches as a turn does, by words and by meaning, but every question counts, nothing is left out for " +
			"bearing too little on it, and a slow embedding service is waited for. With --scope, only claims of exactly those " +
			"scopes are found.\n\n" +
			"--batch reads one question a line, as text or as {\"id\": …, \"question\": …, \"scope\": \"type:id\"}, and prints one JSON " +
			"object for each, as soon as it is answered.\n\n" +
			"--archived finds what ken knowledge gc has put away instead, whatever its status; without a question, the newest of it.",
		Example: `  ken recall "how are payments retried?"
  ken recall --json --limit 3 --scope repo:github.com/acme/payments "retry policy"
  ken recall --batch questions.jsonl --mode keyword > answers.jsonl`,
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := o.query()
			if err != nil {
				return err
			}
			if o.archived {
				return a.recallArchived(cmd.Context(), args, &o, q)
			}
			if o.batch != "" {
				if len(args) > 0 {
					return usagef("--batch and a question: give one of the two")
				}
				return a.recallBatch(cmd.Context(), o.batch, q)
			}
			question, err := a.text(args)
			if err != nil {
				return err
			}
			return a.recall(cmd.Context(), question, q)
		},
	}
	f := cmd.Flags()
	f.IntVarP(&o.limit, "limit", "n", 10, "find at most this `number` of claims, rules included")
	f.StringVar(&o.mode, "mode", "", "the `mode`: keyword, vector or hybrid; default hybrid where an embedder is configured")
	f.StringArrayVar(&o.scopes, "scope", nil, "only claims of this scope, as `type:id` (repeatable)")
	f.StringArrayVar(&o.statuses, "status", nil, "only claims of this `status` (repeatable)")
	f.StringArrayVar(&o.kinds, "kind", nil, "only claims of this `kind` (repeatable)")
	f.StringVar(&o.minTrust, "min-trust", "", "the least trusted `speaker`: external, agent or operator")
	f.BoolVar(&o.documents, "documents", false, "find pieces of the repository as well, as far as they are indexed")
	f.BoolVar(&o.floor, "floor", false, "find nothing unless it bears on the question surely enough for a turn")
	f.BoolVar(&o.archived, "archived", false, "find archived claims instead")
	f.StringVar(&o.batch, "batch", "", "answer every question in this `file`; - is standard input")
	return cmd
}

// query is a recall without its question.
func (o *recallOptions) query() (*middleware.RecallQuery, error) {
	q := &middleware.RecallQuery{Limit: o.limit, Floor: o.floor}
	if o.limit < 1 {
		return nil, usagef("--limit: %d is less than 1", o.limit)
	}
	if o.mode != "" {
		var err error
		if q.Mode, err = ken.ParseMode(o.mode); err != nil {
			return nil, usage{err}
		}
	}
	if o.minTrust != "" {
		if err := q.Filter.MinTrust.UnmarshalText([]byte(o.minTrust)); err != nil {
			return nil, usage{err}
		}
		// Unknown counts as external, and is asked for as such: left at unknown, the
		// configuration would decide.
		q.Filter.MinTrust = max(q.Filter.MinTrust, ken.TrustExternal)
	}
	if err := filterFlags(&q.Filter, o.statuses, o.kinds, o.scopes); err != nil {
		return nil, err
	}
	q.Filter.ClaimsOnly = !o.documents && !slices.Contains(q.Filter.Kinds, ken.KindDocument)
	return q, nil
}

// filterFlags reads --status, --kind and --scope, each possibly repeated.
func filterFlags(f *ken.Filter, statuses, kinds, scopes []string) error {
	for _, s := range statuses {
		if !ken.Status(s).Valid() {
			return usage{&ken.Error{Code: ken.CodeInvalid, Field: "--status", Msg: fmt.Sprintf("unknown status %q", s),
				Try: fmt.Sprintf("Use some of %v.", ken.Statuses())}}
		}
		f.Statuses = append(f.Statuses, ken.Status(s))
	}
	for _, k := range kinds {
		f.Kinds = append(f.Kinds, ken.Kind(k))
	}
	for _, s := range scopes {
		scope, err := ken.ParseScope(s)
		if err != nil {
			return usage{err}
		}
		f.Scopes = append(f.Scopes, scope)
	}
	return nil
}

func (a *app) recall(ctx context.Context, question string, q *middleware.RecallQuery) error {
	return a.withStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		got, err := l.Recaller(s, *q).Ask(ctx, question, q.Filter.Scopes)
		if err != nil {
			return err
		}
		a.hintAtGaps(ctx, l, s, q)
		if a.json {
			return a.printJSON(got)
		}
		a.printRecall(got, s.Owner())
		return nil
	})
}

// hintAtGaps tells a person why something may be missing from the answer.
func (a *app) hintAtGaps(ctx context.Context, l *middleware.Layer, s store.Engine, q *middleware.RecallQuery) {
	if a.quiet {
		return
	}
	if !q.Filter.ClaimsOnly && len(l.Config().Knowledge.Shares) == 0 { // else others may have it
		if docs, err := s.DocumentHashes(ctx); err == nil && len(docs) == 0 {
			fmt.Fprintln(a.err, "ken: nothing of the repository is indexed yet: run ken index")
		}
	}
	if embedded, total := s.Coverage(); s.Embedder() != nil && q.Mode != ken.ModeKeyword && 0 < embedded && embedded < total {
		fmt.Fprintf(a.err, "ken: %d of %d records have no vector yet: run ken index\n", total-embedded, total)
	}
}

// printRecall prints what a recall of an owner found. What another owner shares begins with
// that owner's name.
func (a *app) printRecall(got middleware.RecallAnswer, owner string) {
	if got.Cause != "" {
		fmt.Fprintf(a.err, "ken: mode %s: %s\n", got.Mode, got.Cause)
	}
	if len(got.Claims) == 0 {
		fmt.Fprintln(a.err, "ken: nothing found")
		return
	}
	if got.More > 0 {
		fmt.Fprintf(a.err, "ken: %d more are rules about what the question names: see them with a larger --limit, or ken constraint list\n", got.More)
	}
	rows := make([][]string, len(got.Claims))
	for i, c := range got.Claims {
		text := headline(&c.Claim)
		if c.Owner != owner {
			text = c.Owner + ": " + text
		}
		rows[i] = []string{a.shortID(c.ID), c.Tier.String(), string(c.Kind), fmt.Sprintf("%.3f", c.Score), legs(c.Legs), text}
	}
	a.printTable([]string{"ID", "TIER", "KIND", "SCORE", "FOUND BY", "TEXT"}, rows)
}
