package middleware

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/budgeter"
	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/internal/middleware/wire"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/internal/run/telemetry"
	"github.com/kenlayer/ken/store"
)

// Receipts returns the receipts of an owner's turns; "" means the configured owner. The newest
// session.receipts of them are kept, for at most as long as the messages of a harvested session. A
// receipt is stored a moment after its turn: see Recorded. An Incognito turn has none.
func (l operator) Receipts(owner string) *receipt.Book { return l.sessionsOf(owner).receipts }

// receiptOptions returns how long and how many receipts of an owner are kept.
func (l *Layer) receiptOptions() receipt.Options {
	count := l.cfg.Session.Receipts
	count = cmp.Or(count, -1)
	return receipt.Options{Count: count, Age: l.lifecyclePolicy().JournalGrace(), Now: l.now, Log: l.o.Log}
}

// Recorded waits until all records of earlier turns and answers are in the journals and receipts,
// or until ctx ends. If it is called in Options.OnMessage, it returns at once.
func (l operator) Recorded(ctx context.Context) error { return l.recorder.flush(ctx) }

// Turn returns the receipt of one of the owner's turns, with the current texts of its items; ""
// means the configured owner. It returns ErrNotFound if the turn has no receipt, or no longer has
// one.
func (l operator) Turn(ctx context.Context, owner, turn string) (inspect.Turn, error) {
	s, release, err := l.storeWhenRecorded(ctx, owner)
	if err != nil {
		return inspect.Turn{}, err
	}
	defer release()
	rec, err := l.Receipts(owner).Get(ctx, turn)
	if err != nil {
		return inspect.Turn{}, err
	}
	out := inspect.Turn{Record: rec, Items: make([]inspect.Item, len(rec.Items))}
	for i := range rec.Items {
		if out.Items[i], err = l.currentItem(ctx, s, &rec, i); err != nil {
			return inspect.Turn{}, err
		}
	}
	return out, nil
}

// currentItem looks up item i of a receipt.
func (l *Layer) currentItem(ctx context.Context, s store.Engine, rec *receipt.Record, i int) (inspect.Item, error) {
	it := inspect.Item{Item: rec.Items[i], State: inspect.Same}
	if !isID(it.ID) {
		it.State = inspect.Made
		return it, nil
	}
	c, err := l.claimOfItem(ctx, s, &it.Item)
	if errors.Is(err, ken.ErrNotFound) && it.Kind == ken.KindDecision { // it may come from a decision file
		if d, ok := l.fileDecision(it.ID); ok {
			c, err = d, nil
		}
	}
	switch {
	case errors.Is(err, ken.ErrNotFound):
		it.State = inspect.Forgotten
		return it, nil
	case err != nil:
		return it, err
	case c.UpdatedAt.After(rec.At):
		it.State = inspect.Changed
	}
	it.Key, it.Source, it.Heading, it.Text = c.Key, c.Source, c.Heading, c.Text
	it.Entities, it.Aspect = c.Entities, c.Aspect
	return it, nil
}

// report passes a turn's result to Options.OnReceipt and writes it to the event log.
func (l *Layer) report(ctx context.Context, t *ken.Turn, a *Assembly) {
	if l.o.OnReceipt != nil {
		l.guarded("the receipt's listener failed", func() { l.o.OnReceipt(ctx, a.Receipt) })
	}
	if l.events == nil || t.Incognito { // an incognito turn writes nothing to disk
		return
	}
	if err := l.logEvent(t.Owner, t.Session, l.assemblyEvent(t, a)); err != nil {
		l.o.Log.Warn("write event", "cause", err)
	}
}

func (l *Layer) assemblyEvent(t *ken.Turn, a *Assembly) telemetry.ContextAssembly {
	r := &a.Receipt
	ev := telemetry.ContextAssembly{Event: "context_assembly", Timestamp: r.At, SessionID: t.Session, Turn: r.Turn,
		KnowledgeRetrieved: a.decision.retrievedCount - a.decision.memoryCount, MemoryLoaded: a.decision.memoryCount, AssemblyMS: r.MS["total"],
		ToolCount: t.Tools, ToolSchemaEstTokens: t.Tools * telemetry.ToolTokens, Mode: string(r.Mode), Cause: r.Cause,
		Breakdown: a.context}
	session := 0
	for i := range r.Items {
		if it := &r.Items[i]; it.Memory && budgeter.Made(it.Kind) && !isSessionItem(it) {
			ev.MemoryLoaded++ // for example the objectives, which the retriever does not know
		}
		switch it := &r.Items[i]; {
		case !it.Memory:
			ev.KnowledgeIncluded++
		case isSessionItem(it):
			session++
		default:
			ev.MemoryIncluded++
		}
	}
	for _, items := range []int{ev.KnowledgeIncluded, ev.MemoryIncluded, session} {
		if items > 0 {
			ev.Artifacts++
		}
	}
	b := &a.context
	ev.SystemPromptChars = b.SystemPrompt
	ev.ContextChars = b.SystemPrompt + b.Memory + b.SessionContext + b.Knowledge + b.History
	return ev
}

// reportAnswer writes the events of a turn's answer: the end of the turn and, if the model
// reasoned, how much. The events contain no text of the answer.
func (l *Layer) reportAnswer(t *ken.Turn, h *wire.Observed) {
	a := &h.Answer
	said := guardrail.StripReasoning(a.Message.Text)
	now := l.now()
	thought := telemetry.Reasoning{Event: "reasoning", Timestamp: now, SessionID: t.Session, Turn: t.ID, ReasoningTokens: a.Usage.Reasoning,
		ReasoningChars: a.Thought + max(0, utf8.RuneCountInString(a.Message.Text)-utf8.RuneCountInString(said))}
	end := telemetry.TurnEnd{Event: "turn_end", Timestamp: now, SessionID: t.Session, Turn: t.ID, AnswerChars: utf8.RuneCountInString(said),
		ToolCalls: len(a.Message.ToolCalls), Finish: finishReason(a.Finish), Failed: !h.OK || a.Err != "", InputTokens: a.Usage.Input, CachedTokens: a.Usage.Cached,
		OutputTokens: a.Usage.Output}
	events := []any{end}
	if thought.ReasoningChars+thought.ReasoningTokens > 0 {
		events = []any{thought, end}
	}
	for _, ev := range events {
		if err := l.logEvent(t.Owner, t.Session, ev); err != nil && !errors.Is(err, telemetry.ErrClosed) {
			l.o.Log.Warn("write event", "cause", err)
			return
		}
	}
}

// finishReason returns the reason why a model stopped if it is one short word; "" otherwise.
func finishReason(s string) string {
	if len(s) > 40 || strings.ContainsFunc(s, func(r rune) bool { return r != '_' && r != '-' && !unicode.IsLetter(r) }) {
		return ""
	}
	return s
}

// isSessionItem reports whether an item of the memory part describes a session.
func isSessionItem(it *ken.Item) bool {
	return it.Kind == ken.KindEpisode || it.Kind == budgeter.KindCheckpoint
}

// breakdown counts the characters that the model reads, by source. A dry run has no insertions.
func (a *Assembly) breakdown(t *ken.Turn) (b telemetry.Breakdown) {
	if len(a.Insertions) > 0 {
		for i := range a.Receipt.Items {
			switch it := &a.Receipt.Items[i]; {
			case !it.Memory:
			case isSessionItem(it):
				b.SessionContext += it.Chars
			default:
				b.Memory += it.Chars
			}
		}
	}
	for _, ins := range a.Insertions {
		b.Knowledge += utf8.RuneCountInString(ins.Text)
	}
	b.Knowledge = max(0, b.Knowledge-b.Memory-b.SessionContext)
	for _, m := range t.Messages {
		n := utf8.RuneCountInString(m.Text)
		for _, c := range m.ToolCalls {
			n += utf8.RuneCountInString(c.Name) + utf8.RuneCountInString(c.Arguments)
		}
		if m.Role == "system" || m.Role == "developer" {
			b.SystemPrompt += n
		} else {
			b.History += n
		}
	}
	return b
}
