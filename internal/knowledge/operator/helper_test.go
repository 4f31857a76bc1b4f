package operator_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/harvest/memoryfile"
	"github.com/kenlayer/ken/internal/knowledge/operator"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var now = time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)

// kit is ana's desk over a store on disk.
type kit struct {
	testing.TB
	store.Engine
	layer *middleware.Layer
	desk  *operator.Desk
}

func newKit(t testing.TB) *kit {
	t.Helper()
	cfg := config.Default()
	cfg.Retrieval.Deadline = 30 * time.Second // a busy machine must not change what is found
	cfg.Repository.Index, cfg.Middleware.Events = false, false
	l, err := middleware.Open(context.Background(), middleware.Options{Root: t.TempDir(), Config: &cfg, Foreground: true, Strict: true,
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatalf("open layer: %v", err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close layer: %v", err)
		}
	})
	s, release, err := l.Store(context.Background(), "")
	if err != nil {
		t.Fatalf("store: %v", err)
	}
	t.Cleanup(release)
	k := &kit{TB: t, Engine: s, layer: l}
	k.desk = k.sit("ana", s)
	return k
}

// sit returns somebody's desk over the store.
func (k *kit) sit(name string, s store.Engine) *operator.Desk {
	return operator.New(k.layer, s, operator.Options{Name: name, Now: func() time.Time { return now }})
}

// write writes a claim and returns its id.
func (k *kit) write(text string, change ...func(*ken.Claim)) string {
	k.Helper()
	c := ken.Claim{Kind: ken.KindFact, Text: text, Confidence: 0.9, Importance: 0.4, Evidence: []ken.Evidence{ken.FromToolResult("call", "")}}
	for _, f := range change {
		f(&c)
	}
	id, err := k.WriteClaim(k.Context(), c)
	if err != nil {
		k.Fatal(err)
	}
	return id
}

func is(s ken.Status) func(*ken.Claim)      { return func(c *ken.Claim) { c.Status = s } }
func ofKind(kind ken.Kind) func(*ken.Claim) { return func(c *ken.Claim) { c.Kind = kind } }

// candidate writes a pattern that waits for a review.
func (k *kit) candidate(text string) string {
	k.Helper()
	return k.write(text, ofKind(ken.KindPattern), is(ken.StatusHypothesis))
}

func (k *kit) get(id string) ken.Claim {
	k.Helper()
	c, err := k.Get(k.Context(), id)
	if err != nil {
		k.Fatalf("%s: %v", id, err)
	}
	return c
}

func (k *kit) status(id string, want ken.Status) {
	k.Helper()
	if c := k.get(id); c.Status != want {
		k.Errorf("%q is %s, want %s", c.Text, c.Status, want)
	}
}

// last is the newest event of a claim's history.
func (k *kit) last(id string) ken.ClaimEvent {
	k.Helper()
	events, err := k.History(k.Context(), id)
	if err != nil || len(events) == 0 {
		k.Fatalf("history of %s: %d events, %v", id, len(events), err)
	}
	return events[len(events)-1]
}

// texts are those of all claims that there are.
func (k *kit) texts() map[string]ken.Status {
	k.Helper()
	out := map[string]ken.Status{}
	for c, err := range k.Claims(k.Context()) {
		if err != nil {
			k.Fatal(err)
		}
		out[c.Text] = c.Status
	}
	return out
}

func (k *kit) memoryFile() string {
	return filepath.Join(k.layer.Root(), memoryfile.Dir, memoryfile.Name)
}

func (k *kit) memory() string {
	k.Helper()
	b, err := os.ReadFile(k.memoryFile())
	if err != nil {
		k.Fatal(err)
	}
	return string(b)
}

func (k *kit) writeMemory(text string) {
	k.Helper()
	if err := os.WriteFile(k.memoryFile(), []byte(text), 0o644); err != nil {
		k.Fatal(err)
	}
}

func (k *kit) sync() {
	k.Helper()
	if err := k.desk.SyncMemory(k.Context()); err != nil {
		k.Fatal(err)
	}
}
