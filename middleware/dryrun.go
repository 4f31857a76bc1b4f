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

// dryRun is what a turn that is only tried has in place of what the layer has. It is not
// changed once made.
type dryRun struct {
	cfg         config.Config // the layer's, but for what bears on a turn
	retrieval   retriever.Options
	vectorCause string
	count       func(string) int
	handler     Handler
}

// settings is the configuration that a turn goes by.
func (l *Layer) settings(st *State) *config.Config {
	if st.dryRun != nil {
		return &st.dryRun.cfg
	}
	return &l.cfg
}

// searchSettings is how a turn searches, legs apart: the calibration of its store, nil for
// none, what that makes of the settings, and why there is no vector leg; "" when there is.
func (l *Layer) searchSettings(st *State) (c *calibrate.Calibration, o retriever.Options, noVector string) {
	t := st.dryRun
	if t == nil {
		c = l.Calibration(st.Turn.Owner)
		o, noVector = l.searchOptionsFor(c)
		return c, o, noVector
	}
	if t.cfg.Retrieval.Calibrate && t.vectorCause == "" {
		c = l.calibrationOf(l.ownerOrDefault(st.Turn.Owner)).current
	}
	o, noVector = applyCalibration(c, t.retrieval, t.cfg.Middleware.Keyword, t.vectorCause)
	return c, o, noVector
}

// Trial composes the block of a turn with other settings, to see what they would do: as
// Assemble would for a turn that is new and holds nothing yet, with what is known now
// and what its session is about now. Receipt.Block is the block; Insertions is where it
// would go, also in a dry run.
//
// It leaves no trace: no journal, receipt, event or count, nothing that a later turn is
// given, nothing learned, explored or asked to be measured, and Options.OnReceipt does
// not hear of it. Middlewares of the program run, and can tell by State.Trial. A hit
// that came late is lost. What it shares with turns are caches, the embedder behind its
// breaker, and the code, which is read again where files have changed.
//
// Of cfg it takes what bears on one turn, and everything else is as the layer has it:
//
//   - retrieval, budget and structure, whole; structure.classify changes nothing here;
//   - knowledge.top_k, knowledge.sessions, knowledge.playbooks and knowledge.embeddings;
//   - of middleware: knowledge, guard, intent, keyword, vector, pinned, sessions,
//     playbooks, graph, decisions, objectives and floor;
//   - graph.symbols and objectives.chars.
//
// What the layer was opened without stays off: vectors, the code graph, objectives. The
// receipt says so for vectors.
//
// Errors: ErrInvalid for a cfg that can't be used, with the key as the field; ctx's, since
// a trial that was cut short shows nothing.
func (l *Layer) Trial(ctx context.Context, t ken.Turn, cfg config.Config) (Assembly, error) {
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
		if t.count, err = tokens.Counter(string(c.Budget.Encoding)); err != nil {
			return nil, fmt.Errorf("load tokenizer: %w", err)
		}
	}
	t.handler = chain(l.stages(c))
	return t, nil
}

// turnConfig is the layer's configuration with what another one says that bears on a turn.
func turnConfig(c config.Config, other *config.Config) config.Config {
	c.Retrieval, c.Budget, c.Structure = other.Retrieval, other.Budget, other.Structure
	k, from := &c.Knowledge, &other.Knowledge
	k.TopK, k.Sessions, k.Playbooks, k.Embeddings = from.TopK, from.Sessions, from.Playbooks, from.Embeddings
	m := other.Middleware
	m.Inject, m.Journal, m.Harvest = c.Middleware.Inject, c.Middleware.Journal, c.Middleware.Harvest
	m.Ingest, m.Events = c.Middleware.Ingest, c.Middleware.Events
	c.Middleware = m
	c.Graph.Symbols, c.Objectives.Chars = other.Graph.Symbols, other.Objectives.Chars
	return c
}
