package middleware

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/run/telemetry"
)

// Insertion is a block and its place in the conversation.
type Insertion struct {
	// Before is an index into the messages as the client sent them. The block goes before
	// that message or, with Merge, into it.
	Before int
	// Text is the block.
	Text string
	// Merge puts the block at the beginning of message Before, followed by an empty line.
	// Otherwise the block is a user message of its own.
	Merge bool
}

// Assembly is the result of Assemble: what to insert into a conversation, and why.
type Assembly struct {
	Insertions []Insertion // by rising Before
	Receipt    ken.Receipt

	placed   []placedBlock  // the blocks of Insertions, and the turn's own even if it is empty
	decision *turnDecision  // the turn's own block
	taints   *sessionTaints // the external claims that the session's model has read; nil for none

	// context counts what the model reads, by source. It is filled in only where an event or
	// a stored receipt needs it.
	context telemetry.Breakdown
}

// Assemble prepares one model call. It returns the blocks to insert into t.Messages and the turn's
// receipt. It never fails and never changes t.Messages; the receipt lists the stages that failed or
// were late. If ctx ends, Assemble returns at once, with the items found so far.
//
// An empty t.Owner means the configured owner. A turn with an empty t.ID gets a new id, which
// later requests of the same turn share.
func (l *Layer) Assemble(ctx context.Context, t ken.Turn) Assembly {
	t.Messages = slices.Clone(t.Messages) // stages that miss the deadline go on reading them
	return l.assemble(ctx, &t, upstreamHistory{}, time.Now())
}

// assemble is Assemble for a turn that began at start. The provider holds the part of the
// conversation that up describes. assemble fills in the fields that t leaves out. Its steps:
//
//	decide      Finds or composes the turn's block. A new block comes from the stages guard,
//	            intent, structure, retrieve and budget: see stages.go.
//	insertions  Puts that block and those of earlier turns at their places.
//	receipt     Completes the receipt and hands it to the listener, the event log and the store.
func (l *Layer) assemble(ctx context.Context, t *ken.Turn, up upstreamHistory, start time.Time) Assembly {
	l.activeTurns.begin()
	defer l.activeTurns.end()
	c := modelCall{turn: t, named: t.ID != "", up: &up, start: start}
	if !c.named {
		t.ID = l.newID()
	}
	l.fillDefaults(t)
	c.at, c.last = fingerprintsOf(t), lastUser(t.Messages)

	a := l.decide(ctx, &c)
	a.Insertions = l.insertions(t.Model, a.placed)
	l.finishReceipt(&c, &a)

	a.taints = l.observeBlocks(t, slices.Concat(up.blocks, a.placed))
	l.report(ctx, t, &a)
	l.recordTurn(t, &a)
	return a
}

// modelCall holds the state of one call of Assemble.
type modelCall struct {
	turn  *ken.Turn
	named bool             // the caller set the turn's id
	at    fingerprints     // of each of the turn's messages
	last  int              // index of the person's last message; -1 without one
	up    *upstreamHistory // what the provider holds of the conversation
	start time.Time
}

// fillDefaults sets the owner, the weight and the scopes from the configuration where the turn sets
// none.
func (l *Layer) fillDefaults(t *ken.Turn) {
	l.setOwner(t)
	fillScope(t, &l.cfg)
}

func fillScope(t *ken.Turn, cfg *config.Config) {
	t.Weight = cmp.Or(t.Weight, cfg.Retrieval.Weight)
	if t.Scopes == nil {
		t.Scopes = cfg.Retrieval.Scopes
	}
}

// decide returns the turn's block and the earlier turns' blocks that the conversation carries. A
// turn may get no block. Otherwise the provider holds its block already, or the block is found in
// memory or composed.
func (l *Layer) decide(ctx context.Context, c *modelCall) (a Assembly) {
	why := skipReason(c.turn, &l.cfg, c.last)
	switch {
	case why != "":
		a.decision, a.Receipt = &turnDecision{}, l.emptyReceipt(c.turn, why)
	case c.last < c.up.firstSent:
		a.decision = l.upstreamDecision(c, c.up.decisionAt(c.last))
		a.Receipt = a.decision.receipt
	default:
		var earlier []placedBlock
		earlier, a.decision = l.composeWithinDeadline(ctx, c)
		a.Receipt = a.decision.receipt
		if l.cfg.Middleware.Inject { // otherwise a dry run, which inserts nothing
			a.placed = append(earlier, placedBlock{c.last, a.decision})
		}
	}
	return a
}

// skipReason says why a turn gets no block; "" if it gets one. last is the index of the
// person's last message.
func skipReason(t *ken.Turn, c *config.Config, last int) string {
	switch {
	case !c.Middleware.Knowledge:
		return "switched off: middleware.knowledge is false"
	case t.Weight == ken.WeightNone && t.Policy != "":
		return t.Policy + " gives this call no knowledge"
	case t.Weight == ken.WeightNone:
		return "the agent's weight is none"
	case last < 0:
		return "there is no user message"
	}
	return ""
}

// insertions returns the blocks that have a text, at their places.
func (l *Layer) insertions(model string, blocks []placedBlock) (out []Insertion) {
	merge := l.merges(model)
	for _, p := range blocks {
		if p.text != "" {
			out = append(out, Insertion{Before: p.index, Text: p.text, Merge: merge})
		}
	}
	return out
}

// finishReceipt adds to the receipt the values that are known only after the insertions.
func (l *Layer) finishReceipt(c *modelCall, a *Assembly) {
	r := &a.Receipt
	if c.up.missing != "" {
		r.Degraded = append(slices.Clip(r.Degraded), c.up.missing)
	}
	sent := append(l.insertions(c.turn.Model, c.up.blocks), a.Insertions...)
	l.countCached(c.turn, &c.at, sent, r)
	r.MS = withEntry(r.MS, "total", since(c.start))
	if l.events != nil || l.keepsReceipt(c.turn) {
		a.context = a.breakdown(c.turn)
	}
}

// emptyReceipt returns the receipt of a turn without a block. cause is the reason.
func (l *Layer) emptyReceipt(t *ken.Turn, cause string) ken.Receipt {
	return ken.Receipt{Turn: t.ID, At: l.now().UTC(), Owner: t.Owner, Session: t.Session, Mode: ken.ModeNone, Policy: t.Policy, Cause: cause,
		Signals: ken.Signals{Keywords: []string{}, Symbols: []string{}, Failures: []string{}, Entities: []string{}},
		Items:   []ken.Item{}, Cut: []ken.Cut{}, MS: map[string]float64{}}
}

// withEntry returns a copy of m with one more entry. Other holders of a receipt share m, so it
// must not change.
func withEntry(m map[string]float64, key string, v float64) map[string]float64 {
	out := make(map[string]float64, len(m)+1)
	maps.Copy(out, m)
	out[key] = v
	return out
}
