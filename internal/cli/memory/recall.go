package memory

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/knowledge/lifecycle"
	"github.com/kenlayer/ken/internal/knowledge/operator"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

type recallOptions struct {
	limit                   int
	mode, minTrust          string
	scopes, statuses, kinds []string
	documents, floor        bool
	archived                bool
	batch                   string
}

func (a *commands) recallCommand() *cobra.Command {
	var o recallOptions
	cmd := &cobra.Command{
		Use:        "recall [QUESTION|-]",
		SuggestFor: []string{"list", "ls", "search", "find", "show", "get", "query"},
		Short:      "Find the claims that match a question",
		Long: "Find the claims that match a question, best first: those that are observed, inferred or verified and have not expired. " +
			"It searches as a turn does, by keywords and by meaning, but it searches for any text, leaves nothing out for " +
			"a weak match, and waits for a slow embedding service. With --scope, only claims of exactly those " +
			"scopes are found.\n\n" +
			"--batch reads one question a line, as text or as {\"id\": …, \"question\": …, \"scope\": \"type:id\"}, and prints one JSON " +
			"object for each, as soon as it is answered.\n\n" +
			"--archived finds the claims that ken knowledge gc has archived instead, with any status; without a question, the newest of them.",
		Example: `  ken recall "how are payments retried?"
  ken recall --json --limit 3 --scope repo:acme/payments "retry policy"
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
					return cli.Usagef("--batch and a question: give one of the two")
				}
				return a.recallBatch(cmd.Context(), o.batch, q)
			}
			question, err := a.ReadText(cmd.Context(), args)
			if err != nil {
				return err
			}
			return a.recall(cmd.Context(), question, q)
		},
	}
	f := cmd.Flags()
	f.IntVarP(&o.limit, "limit", "n", 10, "find at most `N` claims, rules included")
	f.StringVar(&o.mode, "mode", "", "the `MODE`: keyword, vector or hybrid; default hybrid where an embedder is configured")
	f.StringArrayVar(&o.scopes, "scope", nil, "only claims of this scope, as `TYPE:ID` (repeatable)")
	f.StringArrayVar(&o.statuses, "status", nil, "only claims of this `STATUS` (repeatable)")
	f.StringArrayVar(&o.kinds, "kind", nil, "only claims of this `KIND` (repeatable)")
	f.StringVar(&o.minTrust, "min-trust", "", "the least trusted `SPEAKER`: external, agent or operator")
	f.BoolVar(&o.documents, "documents", false, "find pieces of the repository as well, as far as they are indexed")
	f.BoolVar(&o.floor, "floor", false, "find nothing unless the match is strong enough for a turn")
	f.BoolVar(&o.archived, "archived", false, "find archived claims instead")
	completeFilter(cmd)
	cli.CompleteWords(cmd, "mode", "keyword", "vector", "hybrid")
	cli.CompleteWords(cmd, "min-trust", "external", "agent", "operator")
	f.StringVar(&o.batch, "batch", "", "answer every question in this `FILE`; - is standard input")
	return cmd
}

// query returns the query from the flags, without its question.
func (o *recallOptions) query() (*middleware.RecallQuery, error) {
	q := &middleware.RecallQuery{Limit: o.limit, Floor: o.floor}
	if o.limit < 1 {
		return nil, cli.Usagef("--limit: %d is less than 1", o.limit)
	}
	if o.mode != "" {
		var err error
		if q.Mode, err = ken.ParseMode(o.mode); err != nil {
			return nil, cli.UsageError(err)
		}
	}
	if o.minTrust != "" {
		if err := q.Filter.MinTrust.UnmarshalText([]byte(o.minTrust)); err != nil {
			return nil, cli.UsageError(err)
		}
		// Unknown counts as external and must be set as external: left as unknown, the
		// configuration would decide.
		q.Filter.MinTrust = max(q.Filter.MinTrust, ken.TrustExternal)
	}
	if err := cli.FilterFlags(&q.Filter, o.statuses, o.kinds, o.scopes); err != nil {
		return nil, err
	}
	q.Filter.ClaimsOnly = !o.documents && !slices.Contains(q.Filter.Kinds, ken.KindDocument)
	return q, nil
}

func (a *commands) recall(ctx context.Context, question string, q *middleware.RecallQuery) error {
	return a.ReadStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		got, err := l.Operator().Recaller(s, *q).Ask(ctx, question, q.Filter.Scopes)
		if err != nil {
			return err
		}
		a.hintAtGaps(ctx, l, s, q)
		return a.Show(got, func() { a.printRecall(got, s.Owner()) })
	})
}

// hintAtGaps prints why the answer may be incomplete.
func (a *commands) hintAtGaps(ctx context.Context, l *middleware.Layer, s store.Engine, q *middleware.RecallQuery) {
	if a.Quiet {
		return
	}
	if !q.Filter.ClaimsOnly && len(l.Config().Knowledge.Shares) == 0 { // otherwise other owners may have it
		if docs, err := s.DocumentHashes(ctx); err == nil && len(docs) == 0 {
			fmt.Fprintln(a.Err, "ken: nothing of the repository is indexed yet: run ken index")
		}
	}
	if embedded, total := s.Coverage(); s.Embedder() != nil && q.Mode != ken.ModeKeyword && 0 < embedded && embedded < total {
		fmt.Fprintf(a.Err, "ken: %d of %d records have no vector yet: run ken index\n", total-embedded, total)
	}
}

// printRecall prints the results of a recall. Results that another owner shares begin with
// that owner's name.
func (a *commands) printRecall(got middleware.RecallAnswer, owner string) {
	if got.Cause != "" {
		fmt.Fprintf(a.Err, "ken: mode %s: %s\n", got.Mode, got.Cause)
	}
	if len(got.Claims) == 0 {
		fmt.Fprintln(a.Err, "ken: nothing found")
		return
	}
	if got.More > 0 {
		fmt.Fprintf(a.Err, "ken: %d more are rules about what the question names: see them with a larger --limit, or ken constraint list\n", got.More)
	}
	a.PrintTable([]string{"ID", "TIER", "KIND", "SCORE", "FOUND BY", "TEXT"}, cli.Map(got.Claims, func(c *middleware.Recalled) []string {
		text := cli.Headline(&c.Claim)
		if c.Owner != owner {
			text = c.Owner + ": " + text
		}
		return []string{a.ShortID(c.ID), c.Tier.String(), string(c.Kind), fmt.Sprintf("%.3f", c.Score), cli.SourceScores(c.Legs), text}
	}))
}

func (a *commands) recallArchived(ctx context.Context, args []string, o *recallOptions, q *middleware.RecallQuery) (err error) {
	for name, given := range map[string]bool{"--batch": o.batch != "", "--mode": o.mode != "", "--documents": o.documents, "--floor": o.floor} {
		if given {
			return cli.Usagef("--archived and %s: give one of the two", name)
		}
	}
	question := ""
	if len(args) > 0 {
		if question, err = a.ReadText(ctx, args); err != nil {
			return err
		}
	}
	return a.ReadStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		found, err := lifecycle.Archived(ctx, s, question, q.Filter, q.Limit)
		if err != nil {
			return err
		}
		return a.ShowTable(map[string]any{"claims": views(l, found)}, "nothing found", []string{"ID", "STATUS", "KIND", "ARCHIVED (UTC)", "TEXT"},
			cli.Map(found, func(c *ken.Claim) []string {
				return []string{a.ShortID(c.ID), string(c.Status), string(c.Kind), c.ArchivedAt.UTC().Format(cli.TimeFormat), cli.Headline(c)}
			}))
	})
}

type batchQuestion struct {
	ID       json.RawMessage `json:"id,omitempty"` // any JSON value, returned unchanged
	Question string          `json:"question"`
	Scope    string          `json:"scope,omitempty"`
}

type batchAnswer struct {
	batchQuestion
	middleware.RecallAnswer
}

func (a *commands) recallBatch(ctx context.Context, file string, q *middleware.RecallQuery) error {
	in, err := a.OpenInput(ctx, file)
	if err != nil {
		return err
	}
	defer in.Close()
	return a.ReadStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		a.hintAtGaps(ctx, l, s, q)
		rc := l.Operator().Recaller(s, *q)
		enc := json.NewEncoder(a.Out)
		enc.SetEscapeHTML(false)
		asked, failed := 0, 0
		for line := range untilDone(ctx, readLines(in)) {
			if line.err == nil && strings.TrimSpace(line.text) == "" {
				continue
			}
			asked++
			if err := answerLine(ctx, rc.Ask, line, q.Filter.Scopes, enc); err != nil {
				if ctx.Err() != nil {
					break
				}
				failed++
				fmt.Fprintf(a.Err, "%s:%d: %v\n", file, line.n, err)
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if failed > 0 {
			return &ken.Error{Code: ken.CodeInvalid, Msg: fmt.Sprintf("%d of %d questions were not answered", failed, asked),
				Try: "Write a question a line, or {\"id\": 1, \"question\": \"…\"}."}
		}
		return nil
	})
}

// answerLine writes the answer to one line to enc.
func answerLine(ctx context.Context, ask func(context.Context, string, []ken.Scope) (middleware.RecallAnswer, error), line textLine, scopes []ken.Scope, enc *json.Encoder) error {
	if line.err != nil {
		return line.err
	}
	q, err := parseQuestion(line.text)
	if err != nil {
		return err
	}
	if q.Scope != "" {
		scopes = make([]ken.Scope, 1)
		if scopes[0], err = ken.ParseScope(q.Scope); err != nil {
			return err
		}
	}
	got, err := ask(ctx, q.Question, scopes)
	if err != nil {
		return err
	}
	return enc.Encode(batchAnswer{q, got})
}

func parseQuestion(line string) (q batchQuestion, err error) {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "{") {
		return batchQuestion{Question: line}, nil
	}
	dec := json.NewDecoder(strings.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&q); err != nil {
		return q, fmt.Errorf("read question: %w", err)
	}
	if strings.TrimSpace(q.Question) == "" {
		return q, &ken.Error{Code: ken.CodeInvalid, Field: "question", Msg: "empty"}
	}
	return q, nil
}

// textLine is a line of a file, counted from 1.
type textLine struct {
	n    int
	text string
	err  error // error of the reader; only in the last line
}

const maxQuestionLine = 1 << 20

func readLines(r io.Reader) iter.Seq[textLine] {
	return func(yield func(textLine) bool) {
		s := bufio.NewScanner(r)
		s.Buffer(nil, maxQuestionLine)
		n := 1
		for ; s.Scan(); n++ {
			if !yield(textLine{n: n, text: string(bytes.TrimPrefix(s.Bytes(), []byte("\ufeff")))}) {
				return
			}
		}
		if err := s.Err(); err != nil {
			yield(textLine{n: n, err: err})
		}
	}
}

func (a *commands) historyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "history ID",
		Short: "Show what happened to a claim",
		Long: "Show what happened to a claim, oldest first: when it was written, revised, verified, disputed or superseded, by whom " +
			"and on what evidence. Of a forgotten claim, found by its whole id, only the times are left.",
		Example: `  ken history 3f9a2c71`,
		Args:    cli.ExactArgs("ID"),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.history(cmd.Context(), args[0]) },

		ValidArgsFunction: a.Complete(cli.ClaimIDs),
	}
}

func (a *commands) history(ctx context.Context, id string) error {
	return a.ReadStore(ctx, func(_ *middleware.Layer, s store.Engine) error {
		switch c, err := operator.Living(ctx, s, id); {
		case err == nil:
			id = c.ID
		case !errors.Is(err, ken.ErrNotFound): // a forgotten claim still has events
			return err
		}
		events, err := s.History(ctx, id)
		if err != nil {
			return err
		}
		if a.JSON {
			return a.PrintJSON(struct {
				ID      string           `json:"id"`
				History []ken.ClaimEvent `json:"history"`
			}{id, events})
		}
		a.PrintTable([]string{"SEQ", "AT (UTC)", "EVENT", "STATUS", "BY", "DETAIL"}, cli.Map(events, func(ev *ken.ClaimEvent) []string {
			return []string{fmt.Sprint(ev.Seq), ev.At.Format(time.DateTime), string(ev.Type), eventStatus(ev), ev.Actor.ID, a.eventDetail(ev)}
		}))
		return nil
	})
}

// eventStatus returns the status of the claim after an event.
func eventStatus(ev *ken.ClaimEvent) string {
	if ev.From != "" && ev.To != "" {
		return string(ev.From) + " → " + string(ev.To)
	}
	return string(ev.To)
}

// eventDetail returns the reason of an event, the other claim, and the evidence.
func (a *commands) eventDetail(ev *ken.ClaimEvent) string {
	if ev.Erased {
		return "forgotten"
	}
	var parts []string
	if ev.Reason != "" {
		parts = append(parts, ev.Reason)
	}
	if ev.Other != "" {
		parts = append(parts, a.ShortID(ev.Other))
	}
	for _, e := range ev.Evidence {
		parts = append(parts, cli.EvidenceLabel(e))
	}
	return strings.Join(parts, " · ")
}
