package middleware

import (
	"context"
	"fmt"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/budgeter/tokens"
	"github.com/kenlayer/ken/internal/retriever/calibrate"
	"github.com/kenlayer/ken/retriever"
)

// dryRun holds what a dry run uses in place of the layer's own settings. It never changes.
type dryRun struct {
	cfg         config.Config // the layer's, except for what affects a turn
	retrieval   retriever.Options
	vectorCause string
	count       func(string) int
	handler     Handler
}

// settings returns the configuration for a turn.
func (l *Layer) settings(st *State) *config.Config {
	if st.dryRun != nil {
		return &st.dryRun.cfg
	}
	return &l.cfg
}

// searchSettings returns how a turn searches: the calibration of its store, nil for none, the
// search options under it, and why there is no vector search; "" if there is.
func (l *Layer) searchSettings(st *State) (c *calibrate.Calibration, o retriever.Options, ask question) {
	cause, settings := l.vectorCause, l.settings(st)
	if st.dryRun != nil {
		cause = st.dryRun.vectorCause
	}
	ask = l.questionFor(st.proj, cause, settings.Retrieval.Deadline)
	retrieval := l.retrieval
	if st.dryRun == nil {
		c = l.questionCalibration(st.Turn.Owner, &ask)
	} else if retrieval = st.dryRun.retrieval; st.dryRun.cfg.Retrieval.Calibrate && cause == "" {
		if c = l.calibrationOf(l.ownerOrDefault(st.Turn.Owner)).current; ask.joined != nil {
			c = l.questionCalibration(st.Turn.Owner, &ask)
		}
	}
	o, noVector := applyCalibration(c, retrieval, settings.Middleware.Keyword, cause)
	ask.off(noVector)
	return c, o, ask
}

// DryRun composes the block of a turn with other settings, to show their effect. It works as
// Assemble for a new turn whose conversation holds no block, with what is known now and with
// the present focus of its session. Receipt.Block is the block, and Insertions is its place,
// also in a dry run.
//
// It leaves no trace: no journal, receipt, event or count; nothing is learned, explored,
// measured or kept for later turns; Options.OnReceipt is not called. Middlewares of the program
// run and can tell by State.DryRun. Late hits are lost. It shares with turns the caches, the
// embedder behind its circuit breaker, and the code, which is read again if files have changed.
//
// DryRun takes from cfg what affects one turn; the rest is the layer's:
//   - retrieval, budget and structure, whole; structure.classify changes nothing here
//   - knowledge.top_k, knowledge.sessions, knowledge.playbooks and knowledge.embeddings
//   - of middleware: knowledge, guard, intent, keyword, vector, pinned, sessions, playbooks,
//     graph, decisions, objectives and floor
//   - graph.symbols and objectives.chars
//
// What the layer was opened without stays off: vectors, the code graph, objectives. For vectors
// the receipt says so.
//
// Errors: ErrInvalid for a cfg that can't be used, with the key as the field; ctx's error,
// because a trial that was cut short shows nothing.
func (l operator) DryRun(ctx context.Context, t ken.Turn, cfg config.Config) (Assembly, error) {
	start := time.Now()
	tr, err := l.newDryRun(&cfg)
	if err != nil {
		return Assembly{}, err
	}
	t.Owner = l.ownerOrDefault(t.Owner)
	if t.Weight == ken.WeightDefault {
		t.Weight = tr.cfg.Retrieval.Weight
	}
	if t.Scopes == nil {
		t.Scopes = tr.cfg.Retrieval.Scopes
	}
	last := lastUser(t.Messages)
	if why := skipReason(&t, &tr.cfg, last); why != "" {
		return Assembly{Receipt: l.emptyReceipt(&t, why)}, ctx.Err()
	}
	t.Messages = cleanMessages(t.Messages)
	r := l.emptyReceipt(&t, "")
	st := &State{Turn: t, Read: t.Messages, Receipt: &r, dryRun: tr}
	l.runHandler(ctx, st, tr.handler)
	r.Signals = cloneSignals(r.Signals)
	r.MS["total"] = since(start)
	a := Assembly{Receipt: r}
	if r.Block != "" {
		a.Insertions = []Insertion{{Before: last, Text: r.Block, Merge: l.merges(t.Model)}}
	}
	return a, ctx.Err()
}

func (l *Layer) newDryRun(cfg *config.Config) (*dryRun, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	t := &dryRun{cfg: turnConfig(l.cfg, cfg), vectorCause: l.vectorCause}
	c := &t.cfg
	t.retrieval = retrievalOptions(c)
	if t.vectorCause == "" {
		t.vectorCause = vectorOff(c)
	}
	if l.countTokens != nil && c.Budget.Encoding == l.cfg.Budget.Encoding {
		t.count = l.countTokens
	} else if l.o.CountTokens || c.Budget.Tokens > 0 {
		var err error
		if t.count, err = tokens.Counter(c.Budget.Encoding); err != nil {
			return nil, fmt.Errorf("load tokenizer: %w", err)
		}
	}
	t.handler = chain(l.stages(c))
	return t, nil
}

// turnConfig returns the layer's configuration with the settings of another one that affect a
// turn.
func turnConfig(c config.Config, other *config.Config) config.Config {
	c.Retrieval, c.Budget, c.Structure = other.Retrieval, other.Budget, other.Structure
	k, from := &c.Knowledge, &other.Knowledge
	k.TopK, k.Nearest, k.Sessions, k.Playbooks, k.Embeddings = from.TopK, from.Nearest, from.Sessions, from.Playbooks, from.Embeddings
	m := other.Middleware
	m.Inject, m.Journal, m.Harvest = c.Middleware.Inject, c.Middleware.Journal, c.Middleware.Harvest
	m.Ingest, m.Events = c.Middleware.Ingest, c.Middleware.Events
	c.Middleware = m
	c.Graph.Symbols, c.Objectives.Chars = other.Graph.Symbols, other.Objectives.Chars
	return c
}
