package middleware

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/budgeter/tokens"
	"github.com/kenlayer/ken/internal/retriever/calibrate"
	"github.com/kenlayer/ken/retriever"
)

// dryRun holds the settings that a dry run uses instead of the layer's own. It is immutable.
type dryRun struct {
	cfg         config.Config // the layer's configuration, with the settings that affect a turn replaced
	retrieval   retriever.Options
	vectorCause string
	count       func(string) int
	handler     Handler
}

// settings returns the configuration that applies to a turn.
func (l *Layer) settings(st *State) *config.Config {
	if st.dryRun != nil {
		return &st.dryRun.cfg
	}
	return &l.cfg
}

// searchSettings returns how a turn searches. c is the calibration of the owner's store, nil for
// none. o has the search options under that calibration. ask embeds the question, or has the reason
// why there is no vector search.
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
	ask.disable(noVector)
	return c, o, ask
}

// DryRun composes the block of a turn with other settings, to show their effect. It works like
// Assemble for a new turn of a conversation that holds no block. It uses the current knowledge and
// the current focus of the session. Receipt.Block is the block, and Insertions its place, even if
// middleware.inject is off.
//
// It leaves no trace. It writes no journal, receipt or event, counts nothing, and learns, explores,
// measures and keeps nothing for later turns. It does not call Options.OnReceipt. The program's
// middlewares run; State.DryRun is true for them. Hits that arrive late are lost. DryRun shares
// with turns the caches, the embedder behind its circuit breaker, and the code graph, which reads
// changed files.
//
// DryRun takes from cfg only what affects one turn, and the rest from the layer. It takes:
//   - retrieval, budget and structure, whole; structure.classify changes nothing here
//   - knowledge.top_k, knowledge.sessions, knowledge.playbooks and knowledge.embeddings
//   - of middleware: knowledge, guard, intent, keyword, vector, pinned, sessions, playbooks,
//     graph, decisions, objectives and floor
//   - graph.symbols and objectives.chars
//
// Features that the layer was opened without stay off: vectors, the code graph, objectives. For
// vectors the receipt says so.
//
// It returns ErrInvalid for a cfg that can't be used, with the key as the field. It returns ctx's
// error if ctx ends, because a dry run that was cut short shows nothing.
func (l operator) DryRun(ctx context.Context, t ken.Turn, cfg config.Config) (Assembly, error) {
	start := time.Now()
	tr, err := l.newDryRun(&cfg)
	if err != nil {
		return Assembly{}, err
	}
	t.Owner = l.ownerOrDefault(t.Owner)
	fillScope(&t, &tr.cfg)
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
	t.vectorCause = cmp.Or(t.vectorCause, vectorOff(c))
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

// turnConfig returns c with those settings of other that affect a turn.
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
