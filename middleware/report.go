package middleware

import (
	"context"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/budgeter"
	"github.com/kenlayer/ken/internal/run/telemetry"
)

// report tells whoever listens what was assembled.
func (l *Layer) report(ctx context.Context, t *ken.Turn, a *Assembly, block *composed) {
	if l.o.OnReceipt != nil {
		l.hand(ctx, a.Receipt)
	}
	if l.events == nil || t.Incognito { // it leaves nothing on disk
		return
	}
	if err := l.events.Write(t.Session, l.event(t, a, block)); err != nil {
		l.o.Log.Warn("write event", "cause", err)
	}
}

// hand gives the receipt to the program's listener, whose panic must not cost
// the turn.
func (l *Layer) hand(ctx context.Context, r ken.Receipt) {
	defer func() {
		if p := recover(); p != nil {
			l.o.Log.Error("the receipt's listener failed", "panic", p)
		}
	}()
	l.o.OnReceipt(ctx, r)
}

func (l *Layer) event(t *ken.Turn, a *Assembly, block *composed) telemetry.ContextAssembly {
	r := &a.Receipt
	ev := telemetry.ContextAssembly{Event: "context_assembly", Timestamp: r.At, SessionID: t.Session, Turn: r.Turn,
		KnowledgeRetrieved: block.retrieved - block.memory, MemoryLoaded: block.memory, AssemblyMS: r.MS["total"],
		ToolCount: t.Tools, ToolSchemaEstTokens: t.Tools * telemetry.ToolTokens, Mode: string(r.Mode), Cause: r.Cause,
		Breakdown: a.context}
	session := 0
	for i := range r.Items {
		switch it := &r.Items[i]; {
		case !it.Memory:
			ev.KnowledgeIncluded++
		case ofSession(it):
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

// ofSession reports whether an item of the memory part tells of sessions.
func ofSession(it *ken.Item) bool {
	return it.Kind == ken.KindEpisode || it.Kind == budgeter.KindCheckpoint
}

// breakdown counts what the model reads, by where it comes from. In a dry run nothing
// comes of the layer.
func (a *Assembly) breakdown(t *ken.Turn) (b telemetry.Breakdown) {
	if len(a.Insertions) > 0 {
		for i := range a.Receipt.Items {
			switch it := &a.Receipt.Items[i]; {
			case !it.Memory:
			case ofSession(it):
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
