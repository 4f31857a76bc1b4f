package middleware_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/run/telemetry"
	"github.com/kenlayer/ken/middleware"
)

var monday = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

func recording(c *config.Config) { c.Middleware.Events = true }

// events reads what the layer wrote about a session.
func events(t testing.TB, l *middleware.Layer, session string) (out []telemetry.ContextAssembly) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(l.Root(), l.Config().Telemetry.Events, telemetry.FileName(session)))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		var ev telemetry.ContextAssembly
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		out = append(out, ev)
	}
	return out
}

func pinned(t testing.TB, text string) ken.Claim {
	c := fact(t, "%s", text)
	c.Kind = ken.KindHot
	return c
}

// Every number of a turn's event, against what the turn is known to hold:
// characters are code points, memory and knowledge are apart, and the parts add
// up to the whole.
func TestEventCountsWhatTheTurnHolds(t *testing.T) {
	l := open(t, settings(recording, func(c *config.Config) { c.Knowledge.TopK, c.Knowledge.Provider = 1, config.ProviderNone }), func(o *middleware.Options) {
		o.Now = func() time.Time { return monday }
	})
	learn(t, l, fact(t, "%s", about), fact(t, "The payments service, so Müller, retries a failed card transfer never. 你好"), pinned(t, "Reply in 日本語, please."))
	a := l.Assemble(context.Background(), ken.Turn{ID: "turn-1", Session: "s/1", Tools: 3, Messages: []ken.Message{
		{Role: "system", Text: "Sei nützlich."},             // 13 code points, 14 bytes
		{Role: "developer", Text: "Be brief."},              // 9
		{Role: "user", Text: "Grüß dich!"},                  // 10
		{Role: "assistant", Text: "👋"},                      // 1
		{Role: "tool", ToolCallID: "c", Text: "{\"ok\":1}"}, // 8
		{Role: "user", Text: question},
	}})
	var memory, knowledge int
	for _, it := range a.Receipt.Items {
		if it.Kind == ken.KindHot {
			memory += it.Chars
		}
	}
	for _, ins := range a.Insertions {
		knowledge += utf8.RuneCountInString(ins.Text)
	}
	knowledge -= memory
	if memory == 0 || len(a.Receipt.Items) != 2 || len(a.Insertions) != 1 {
		t.Fatalf("the turn is not the one that was meant: %+v", a)
	}
	history := 10 + 1 + 8 + len(question)
	want := telemetry.ContextAssembly{Event: "context_assembly", Timestamp: monday, SessionID: "s/1", Turn: "turn-1",
		KnowledgeRetrieved: 2, KnowledgeIncluded: 1, MemoryLoaded: 1, MemoryIncluded: 1, Artifacts: 2,
		SystemPromptChars: 22, ContextChars: 22 + memory + knowledge + history,
		Breakdown: telemetry.Breakdown{SystemPrompt: 22, Memory: memory, Knowledge: knowledge, History: history},
		ToolCount: 3, ToolSchemaEstTokens: 1350, Mode: "keyword", Cause: a.Receipt.Cause}
	got := events(t, l, "s/1")
	if len(got) != 1 {
		t.Fatalf("%d events for one turn", len(got))
	}
	if d := cmp.Diff(want, got[0], cmpopts.IgnoreFields(want, "AssemblyMS")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got[0].AssemblyMS <= 0 || got[0].AssemblyMS != a.Receipt.MS["total"] {
		t.Errorf("assembly_ms is %v, the receipt says %v", got[0].AssemblyMS, a.Receipt.MS["total"])
	}
	if kept, err := l.Turn(context.Background(), "", "turn-1"); err != nil || kept.Context == nil || *kept.Context != want.Breakdown {
		t.Errorf("the receipt has %+v, %v", kept.Context, err)
	}
	if !strings.Contains(got[0].Cause, "embed_provider is none") {
		t.Errorf("cause %q", got[0].Cause)
	}
}

// A turn without a block has an event too: what was not injected, and why, is
// what rival systems never tell.
func TestEventOfATurnWithoutABlock(t *testing.T) {
	l := open(t, settings(recording))
	learn(t, l, fact(t, "%s", about))
	for _, text := range []string{"thanks!", "What does the weather forecast say about Oslo?"} {
		l.Assemble(context.Background(), ken.Turn{Session: "quiet", Messages: []ken.Message{{Role: "user", Text: text}}})
	}
	got := events(t, l, "quiet")
	if len(got) != 2 {
		t.Fatalf("%d events", len(got))
	}
	for _, ev := range got {
		if ev.KnowledgeIncluded+ev.MemoryIncluded+ev.Artifacts+ev.Breakdown.Knowledge+ev.Breakdown.Memory != 0 || ev.ContextChars != ev.Breakdown.History {
			t.Errorf("%+v", ev)
		}
	}
	if got[0].Mode != "none" || got[0].Cause != "the message asks for nothing" {
		t.Errorf("small talk: mode %q, cause %q", got[0].Mode, got[0].Cause)
	}
}

// The context holds what was inserted, so a dry run adds nothing to it.
func TestEventOfADryRunCountsNoInsertedCharacters(t *testing.T) {
	l := open(t, settings(recording, func(c *config.Config) { c.Middleware.Inject = false }))
	learn(t, l, fact(t, "%s", about), pinned(t, "Reply in French."))
	l.Assemble(context.Background(), ken.Turn{Session: "dry", Messages: []ken.Message{{Role: "user", Text: question}}})
	ev := events(t, l, "dry")[0]
	if ev.ContextChars != len(question) || ev.KnowledgeIncluded != 1 || ev.MemoryIncluded != 1 {
		t.Errorf("%+v", ev)
	}
}

func TestEventsAreApartBySession(t *testing.T) {
	l := open(t, settings(recording))
	for _, session := range []string{"a", "b", "a", "../../up"} {
		l.Assemble(context.Background(), ken.Turn{Session: session, Messages: []ken.Message{{Role: "user", Text: "and " + session}}})
	}
	for session, n := range map[string]int{"a": 2, "b": 1, "../../up": 1} {
		if got := events(t, l, session); len(got) != n || got[0].SessionID != session {
			t.Errorf("%s: %d events, want %d", session, len(got), n)
		}
	}
}
