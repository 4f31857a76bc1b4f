package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/intent"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/retriever"
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
	f.IntVarP(&o.limit, "limit", "n", 10, "the `most` claims to find")
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

// recallQuery is a recall without its question.
type recallQuery struct {
	mode   ken.Mode // "": the best there is
	limit  int
	floor  bool
	filter ken.Filter // Now is set when a question is asked
	trust  bool       // filter.MinTrust was given
}

func (o *recallOptions) query() (*recallQuery, error) {
	q := &recallQuery{limit: o.limit, floor: o.floor, trust: o.minTrust != ""}
	if o.limit < 1 {
		return nil, usagef("--limit: %d is less than 1", o.limit)
	}
	if o.mode != "" {
		var err error
		if q.mode, err = ken.ParseMode(o.mode); err != nil {
			return nil, usage{err}
		}
	}
	if q.trust {
		if err := q.filter.MinTrust.UnmarshalText([]byte(o.minTrust)); err != nil {
			return nil, usage{err}
		}
	}
	if err := filterFlags(&q.filter, o.statuses, o.kinds, o.scopes); err != nil {
		return nil, err
	}
	q.filter.ClaimsOnly = !o.documents && !slices.Contains(q.filter.Kinds, ken.KindDocument)
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

// recalled is a claim that was found.
type recalled struct {
	claimView
	Key   string                  `json:"key"`   // always there, for programs
	Score float64                 `json:"score"` // what ordered them
	Legs  map[string]ken.LegScore `json:"legs"`
}

// recallAnswer is what a recall found, and how.
type recallAnswer struct {
	Mode   ken.Mode   `json:"mode"`
	Cause  string     `json:"cause"` // why the mode is less than what was asked for
	Claims []recalled `json:"claims"`
}

func (a *app) recall(ctx context.Context, question string, q *recallQuery) error {
	return a.withStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		got, err := newRecaller(l, s, q).ask(ctx, question, q.filter.Scopes)
		if err != nil {
			return err
		}
		a.hintAtGaps(ctx, s, q)
		if a.json {
			return a.printJSON(got)
		}
		a.printRecall(got)
		return nil
	})
}

// recaller asks one store the same way again and again.
type recaller struct {
	s      store.Engine
	r      *retriever.Retriever
	filter ken.Filter
	decay  int
	cause  string // why a leg that was asked for can't be
}

// patience replaces the deadline of a turn, whose model call waits: here a person
// waits, or a measurement that must not depend on the machine's load.
const patience = 30 * time.Second

// newRecaller takes what the configuration says about retrieval, the deadline and
// the floor apart.
func newRecaller(l *middleware.Layer, s store.Engine, q *recallQuery) *recaller {
	o, noVector := l.RetrievalOf(s.Owner())
	rc := &recaller{s: s, filter: q.filter, decay: o.DecayDays}
	if !q.trust {
		rc.filter.MinTrust = l.Config().Retrieval.MinTrust
	}
	o.Limits, o.Pool = maps.Clone(o.Limits), max(o.Pool, 2*q.limit)
	for leg, n := range o.Limits { // a list can't be longer than what its legs bring
		o.Limits[leg] = max(n, q.limit)
	}
	o.TopK, o.Deadline = q.limit, patience
	if !q.floor {
		o.Floor = anyEvidence
	}
	if q.mode != ken.ModeVector {
		o.Legs = append(o.Legs, retriever.Keyword(s))
	}
	switch embedded, total := s.Coverage(); {
	case q.mode == ken.ModeKeyword:
	case s.Embedder() == nil: // the layer gives the store none when the vector leg is off
		if q.mode != "" {
			rc.cause = noVector
		}
	case q.mode == "" && noVector != "": // calibrated: words alone find more
		rc.cause = noVector
	case embedded == 0 && total > 0:
		rc.cause = "nothing has a vector yet: run ken index"
	default:
		o.Legs = append(o.Legs, retriever.Vector(s, l.Embedder()))
	}
	rc.r = retriever.New(s, o)
	return rc
}

// ask answers one question within the scopes; none means every scope.
func (rc *recaller) ask(ctx context.Context, question string, scopes []ken.Scope) (recallAnswer, error) {
	f := rc.filter
	f.Scopes, f.Now = scopes, time.Now()
	found := rc.r.Retrieve(ctx, retriever.Turn{Signals: signals(question), Filter: f})
	if err := ctx.Err(); err != nil {
		return recallAnswer{}, err
	}
	out := recallAnswer{Mode: found.Mode, Cause: cmp.Or(rc.cause, found.Cause), Claims: make([]recalled, 0, len(found.Candidates))}
	for _, c := range found.Candidates {
		full, err := rc.s.Claim(ctx, c.Ref)
		if errors.Is(err, ken.ErrNotFound) { // forgotten meanwhile
			continue
		}
		if err != nil {
			return out, err
		}
		out.Claims = append(out.Claims, recalled{claimView{full, c.Tier, c.Row.Facts.Trust}, full.Key, c.Fused, c.Legs})
	}
	return out, nil
}

// fewSignals is how many names and keywords a question must yield for the rest
// of its words to be dropped.
const fewSignals = 3

// signals reads a question as intent reads a message. But who asks wants an
// answer: small talk is a question too, and one that yields little is searched
// for by all of its words.
func signals(question string) ken.Signals {
	s := intent.Analyze([]ken.Message{{Role: "user", Text: question}})
	s.Asks = true
	if len(s.Keywords)+len(s.Symbols)+len(s.Entities)+len(s.Failures) < fewSignals {
		s.Keywords = append(s.Keywords, s.Question)
	}
	return s
}

// hintAtGaps tells a person why something may be missing from the answer.
func (a *app) hintAtGaps(ctx context.Context, s store.Engine, q *recallQuery) {
	if a.quiet {
		return
	}
	if !q.filter.ClaimsOnly {
		if docs, err := s.DocumentHashes(ctx); err == nil && len(docs) == 0 {
			fmt.Fprintln(a.err, "ken: nothing of the repository is indexed yet: run ken index")
		}
	}
	if embedded, total := s.Coverage(); s.Embedder() != nil && q.mode != ken.ModeKeyword && 0 < embedded && embedded < total {
		fmt.Fprintf(a.err, "ken: %d of %d records have no vector yet: run ken index\n", total-embedded, total)
	}
}

func (a *app) printRecall(got recallAnswer) {
	if got.Cause != "" {
		fmt.Fprintf(a.err, "ken: mode %s: %s\n", got.Mode, got.Cause)
	}
	if len(got.Claims) == 0 {
		fmt.Fprintln(a.err, "ken: nothing found")
		return
	}
	rows := make([][]string, len(got.Claims))
	for i, c := range got.Claims {
		rows[i] = []string{a.shortID(c.ID), c.Tier.String(), string(c.Kind), fmt.Sprintf("%.3f", c.Score), legs(c.Legs), headline(&c.Claim)}
	}
	a.printTable([]string{"ID", "TIER", "KIND", "SCORE", "FOUND BY", "TEXT"}, rows)
}

// anyEvidence is the floor of a search by a person: whatever bears on the
// question at all, where a turn wants to be sure.
const anyEvidence = 1e-9
