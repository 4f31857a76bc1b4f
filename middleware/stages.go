package middleware

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/budgeter"
	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/intent"
	"github.com/kenlayer/ken/retriever"
)

// guardWindow is how many of the last messages guard cleans: more than intent
// looks at, and few enough that a conversation of thousands costs nothing.
const guardWindow = 32

// guard takes the model's reasoning and the layer's own blocks out of what the
// stages after it read. The request itself stays as it is.
func (l *Layer) guard(_ context.Context, st *State) error {
	st.Read = make([]ken.Message, 0, guardWindow)
	msgs := st.Turn.Messages
	for _, m := range msgs[max(0, len(msgs)-guardWindow):] {
		if budgeter.IsBlock(m.Text) {
			continue
		}
		if m.Role == "assistant" {
			m.Text = guardrail.StripReasoning(m.Text)
		}
		st.Read = append(st.Read, m)
	}
	return nil
}

// intent reads the signals. Switched off, the last user message is the question
// as it stands.
func (l *Layer) intent(_ context.Context, st *State) error {
	if l.cfg.Middleware.Intent {
		st.Signals = intent.Analyze(st.Read)
	} else {
		q := ""
		if i := lastUser(st.Read); i >= 0 {
			q = st.Read[i].Text
		}
		st.Signals = ken.Signals{Keywords: strings.Fields(q), Symbols: []string{}, Failures: []string{}, Entities: []string{},
			Question: q, Asks: q != ""}
	}
	st.Receipt.Signals = st.Signals
	return nil
}

// retrieve asks the legs. A turn that asks for nothing still gets what is pinned.
func (l *Layer) retrieve(ctx context.Context, st *State) error {
	o := l.retrieval
	o.Legs = l.legs(st.p, st.Signals.Asks)
	now := l.now().UTC()
	st.Found = retriever.New(st.p, o).Retrieve(ctx, retriever.Turn{
		Signals: st.Signals,
		Late:    st.late,
		Filter:  ken.Filter{Scopes: st.Turn.Scopes, Unscoped: true, Now: now, MinTrust: l.cfg.Retrieval.MinTrust},
	})
	r := st.Receipt
	r.Mode = st.Found.Mode
	r.Cut = append(r.Cut, st.Found.Cut...)
	r.Degraded = append(r.Degraded, st.Found.Degraded...)
	for leg, t := range st.Found.MS {
		r.MS[leg] = t
	}
	if have, total := st.p.Coverage(); l.vectorCause == "" && st.Signals.Asks && have < total {
		st.degrade("vector", fmt.Errorf("only %d of %d records have a vector of this model yet", have, total))
	}
	switch {
	case !st.Signals.Asks:
		r.Mode, r.Cause = ken.ModeNone, "the message asks for nothing"
	case st.Found.Cause != "":
		r.Cause = st.Found.Cause
	case r.Mode != ken.ModeHybrid:
		r.Cause = l.vectorCause
	}
	return nil
}

// budget fills the block.
func (l *Layer) budget(ctx context.Context, st *State) error {
	cands := make([]budgeter.Candidate, len(st.Found.Candidates))
	for i := range st.Found.Candidates {
		c := &st.Found.Candidates[i]
		cands[i] = budgeter.Candidate{
			Memory: c.Memory,
			Item: ken.Item{ID: c.Row.ID, Kind: c.Row.Facts.Kind, Tier: c.Tier, Trust: c.Row.Facts.Trust, Fused: c.Fused,
				Legs: c.Legs, Signals: c.Signals, CreatedAt: c.Row.CreatedAt, Constraint: c.Row.Constraint},
			Load: func(ctx context.Context) (ken.Claim, error) { return st.p.Claim(ctx, c.Ref) },
		}
	}
	b := l.cfg.Budget
	memory := b.MemoryChars
	if memory == 0 {
		memory = -1 // the configuration's 0 leaves memory out, the budgeter's is its default
	}
	st.Block = budgeter.Compose(ctx, cands, budgeter.Options{Chars: b.Chars, MemoryChars: memory, Tokens: b.Tokens,
		Count: l.count, MinTier: st.Turn.Weight.MinTier(), Seen: st.seen, MaxItemChars: b.ItemChars})
	r := st.Receipt
	r.Block, r.Chars, r.Tokens = st.Block.Text, st.Block.Chars, st.Block.Tokens
	r.Items = append(r.Items, st.Block.Items...)
	r.Cut = append(r.Cut, st.Block.Cut...)
	r.OverflowedConstraints = st.Block.OverflowedConstraints
	return nil
}

// stages is the chain that the configuration asks for.
func (l *Layer) stages() []Middleware {
	out := append([]Middleware{}, l.o.Use...)
	if l.cfg.Middleware.Guard {
		out = append(out, stage("guard", l.guard))
	}
	return append(out, stage("intent", l.intent), stage("retrieve", l.retrieve), stage("budget", l.budget))
}

func lastUser(msgs []ken.Message) int {
	for i := len(msgs) - 1; i >= 0; i-- {
		if msgs[i].Role == "user" && !budgeter.IsBlock(msgs[i].Text) {
			return i
		}
	}
	return -1
}

func since(start time.Time) float64 { return ms(time.Since(start)) }
