package middleware

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/budgeter"
	"github.com/kenlayer/ken/config"
)

// recovering opens a layer whose sessions stand where text says.
func recovering(t *testing.T, change func(*config.Config), recovery func(context.Context, *ken.Turn) (string, time.Time, bool)) *Layer {
	t.Helper()
	c := config.Default()
	c.Repository.Index, c.Middleware.Events = false, false
	change(&c)
	l, err := Open(context.Background(), Options{Root: t.TempDir(), Config: &c, Foreground: true, Strict: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	l.recovery = recovery
	s, release, err := l.Store(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	hot, err := ken.NewClaim("Answer in French, always.", ken.FromUserStatement("s", "m"))
	if err != nil {
		t.Fatal(err)
	}
	hot.Kind = ken.KindHot
	if _, err := s.WriteClaim(context.Background(), hot); err != nil {
		t.Fatal(err)
	}
	return l
}

func resumed(text string) ken.Turn {
	return ken.Turn{Session: "s-1", Weight: ken.WeightLow, Messages: []ken.Message{{Role: "user", Text: text}}}
}

// What a session was about comes before everything else in memory, whatever the
// agent's weight and however little is asked, and stays with its conversation.
func TestRecoveryComesFirst(t *testing.T) {
	at := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	asked := 0
	l := recovering(t, func(*config.Config) {}, func(_ context.Context, turn *ken.Turn) (string, time.Time, bool) {
		asked++
		return "Focus: " + turn.Session + ".", at, true
	})
	first := l.Assemble(context.Background(), resumed("Where were we with the ledger?"))
	items := first.Receipt.Items
	if len(items) == 0 || items[0].Kind != budgeter.KindCheckpoint || !items[0].Memory || items[0].Text != "Focus: s-1." || !items[0].CreatedAt.Equal(at) {
		t.Fatalf("items %+v", items)
	}
	if !strings.Contains(first.Receipt.Block, "Assumed memory | 2026-03-02 | session s-1 | Where this session stands\nFocus: s-1.") {
		t.Errorf("block\n%s", first.Receipt.Block)
	}
	again := l.Assemble(context.Background(), resumed("Where were we with the ledger?"))
	if again.Receipt.Block != first.Receipt.Block || asked != 1 {
		t.Errorf("asked %d times; the second time\n%s", asked, again.Receipt.Block)
	}
	next := resumed("Where were we with the ledger?")
	next.Messages = append(next.Messages, ken.Message{Role: "assistant", Text: "There."}, ken.Message{Role: "user", Text: "And the gateway?"})
	if a := l.Assemble(context.Background(), next); strings.Contains(a.Receipt.Block, "Focus") || len(a.Insertions) != 1 || !strings.Contains(a.Insertions[0].Text, "Focus") {
		t.Errorf("the next turn: %+v", a.Insertions)
	}
	if r := l.Assemble(context.Background(), resumed("thanks!")).Receipt; !strings.Contains(r.Block, "Focus: s-1.") {
		t.Errorf("small talk in a session that was cut: %+v", r)
	}
}

// When room is short, the start of the checkpoint, where its structure is, is what
// stays.
func TestRecoveryInATightBudget(t *testing.T) {
	text := "Focus: ledger.\nFiles: a.go.\n" + strings.Repeat("And then there was more to tell. ", 100)
	l := recovering(t, func(c *config.Config) { c.Budget.MemoryChars = 200 }, func(context.Context, *ken.Turn) (string, time.Time, bool) {
		return text, time.Time{}, true
	})
	r := l.Assemble(context.Background(), resumed("Where were we with the ledger?")).Receipt
	if len(r.Items) != 1 || !strings.HasPrefix(r.Items[0].Text, "Focus: ledger.\nFiles: a.go.") || r.Items[0].Chars > 200 {
		t.Errorf("items %+v", r.Items)
	}
}

// A turn never fails because its past does.
func TestRecoveryFailsOpen(t *testing.T) {
	for name, recovery := range map[string]func(context.Context, *ken.Turn) (string, time.Time, bool){
		"panics":        func(context.Context, *ken.Turn) (string, time.Time, bool) { panic("boom") },
		"knows nothing": func(context.Context, *ken.Turn) (string, time.Time, bool) { return "no", time.Time{}, false },
		"says nothing":  func(context.Context, *ken.Turn) (string, time.Time, bool) { return "", time.Time{}, true },
		"not there":     nil,
	} {
		l := recovering(t, func(*config.Config) {}, recovery)
		turn := resumed("Where were we with the ledger?")
		turn.Weight = ken.WeightDefault
		r := l.Assemble(context.Background(), turn).Receipt
		if len(r.Items) != 1 || r.Items[0].Kind != ken.KindHot {
			t.Errorf("%s: items %+v", name, r.Items)
		}
		if degraded := len(r.Degraded) == 1 && r.Degraded[0] == "recovery: panic: boom"; degraded != (name == "panics") {
			t.Errorf("%s: degraded %q", name, r.Degraded)
		}
	}
}
