package middleware

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/embed/embedtest"
	"github.com/kenlayer/ken/internal/lru"
	"github.com/kenlayer/ken/store"
)

// tryer opens a layer with some claims and an open session.
func tryer(t *testing.T, change ...func(*Options)) *Layer {
	t.Helper()
	cfg := config.Default()
	cfg.Repository.Index = false
	cfg.Knowledge.Nearest = 0
	cfg.Retrieval.Deadline *= 100
	o := Options{Root: t.TempDir(), Config: &cfg, Foreground: true, Strict: true, Log: slog.New(slog.DiscardHandler), Embedder: embedtest.Bag{}}
	for _, f := range change {
		f(&o)
	}
	l, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	s, release, err := l.Store(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	for i, text := range []string{"The ledger service listens on port 8071.", "The ledger service retries a failed transfer three times.",
		"Deploys of the ledger happen on Tuesdays.", "Never write to the ledger by hand.", "Answer in short sentences."} {
		c, err := ken.NewClaim(text, ken.FromUserStatement("s0", fmt.Sprint(i)))
		if err != nil {
			t.Fatal(err)
		}
		c.Entities = []string{"ledger"}
		switch i {
		case 3:
			c.Constraint = true
		case 4:
			c.Kind, c.Entities = ken.KindHot, nil
		}
		if _, err := s.WriteClaim(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

func inSession(text string) ken.Turn {
	return ken.Turn{Session: "s", Messages: []ken.Message{{Role: "user", Text: text}}}
}

// footprint returns everything that a turn may leave on the shelf and in memory.
func footprint(t *testing.T, l *Layer) string {
	t.Helper()
	if err := l.Operator().Recorded(t.Context()); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	err := (ownerStore{l, l.cfg.Knowledge.Owner}).View(t.Context(), func(r store.ShelfReader) error {
		b.Reset()
		for key, v := range r.Scan("") {
			fmt.Fprintf(&b, "%s=%s\n", key, v)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(&b, "blocks", l.blocks.blocks.Len(), "traffic", contents(&l.lastRequests), "lineage", contents(&l.sessionFocus), "late", l.lateResults.Len(), "recovered", l.recoveries.Len(), "begun", l.conversationStarts.Len(),
		"heeds", l.judgements.turns.Len(), "suspicions", l.taintMemory.sessions.Len(), "counts", l.Operator().Counts(), "rendered", l.renderCache)
	return b.String()
}

// contents lists the keys and values of m, the last used first, and leaves their order as it is.
func contents[K comparable, V any](m *lru.Map[K, V]) string {
	var keys []K
	m.Drop(func(key K) bool { keys = append(keys, key); return false })
	var b strings.Builder
	for _, key := range keys {
		v, _ := m.Peek(key)
		fmt.Fprintln(&b, key, v)
	}
	return b.String()
}

// A dry run returns what a turn would get, and leaves no trace.
func TestATrialIsATurnThatLeavesNoTrace(t *testing.T) {
	heard := 0
	l := tryer(t, func(o *Options) { o.OnReceipt = func(context.Context, ken.Receipt) { heard++ } })
	first := inSession("On which port does the ledger service listen?")
	l.Assemble(t.Context(), first)
	before, told := footprint(t, l), heard
	for _, turn := range []ken.Turn{inSession("How often does the ledger retry a failed transfer?"), inSession("And how often does it retry?"),
		{Session: "new", Messages: first.Messages}, {Messages: first.Messages}} {
		if _, err := l.Operator().DryRun(t.Context(), turn, l.Config()); err != nil {
			t.Fatal(err)
		}
	}
	if after := footprint(t, l); after != before || heard != told {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
	turn := inSession("How often does the ledger retry a failed transfer, and when do we deploy it?")
	tried, err := l.Operator().DryRun(t.Context(), turn, l.Config())
	if err != nil {
		t.Fatal(err)
	}
	given := l.Assemble(t.Context(), turn)
	if tried.Receipt.Block == "" || tried.Receipt.Block != given.Receipt.Block || tried.Insertions[0] != given.Insertions[0] ||
		tried.Receipt.Mode != given.Receipt.Mode || tried.Receipt.Cause != given.Receipt.Cause {
		t.Errorf("tried %s: %+v\n%s\ngiven %s\n%s", tried.Receipt.Mode, tried.Insertions, tried.Receipt.Block, given.Receipt.Mode, given.Receipt.Block)
	}
}

// A part that is switched off in a dry run is off, and the receipt says why there is less.
func TestTrialSettings(t *testing.T) {
	l := tryer(t)
	question := "On which port does the ledger service listen, and how often does it retry?"
	for name, tt := range map[string]struct {
		change func(*config.Config)
		mode   ken.Mode
		cause  string
		check  func(*ken.Receipt) bool
	}{
		"as it is":      {func(*config.Config) {}, ken.ModeHybrid, "", func(r *ken.Receipt) bool { return r.MS["vector"] > 0 && r.MS["keyword"] > 0 && len(r.Items) > 2 }},
		"no vector":     {func(c *config.Config) { c.Middleware.Vector = false }, ken.ModeKeyword, "switched off: middleware.vector is false", lacks("vector")},
		"no embeddings": {func(c *config.Config) { c.Knowledge.Embeddings = false }, ken.ModeKeyword, "switched off: knowledge.embeddings is false", lacks("vector")},
		"no keyword":    {func(c *config.Config) { c.Middleware.Keyword = false }, ken.ModeVector, "switched off: middleware.keyword is false", lacks("keyword")},
		"no search":     {func(c *config.Config) { c.Middleware.Keyword, c.Middleware.Vector = false, false }, ken.ModeNone, "switched off: middleware.keyword is false; switched off: middleware.vector is false", lacks("keyword")},
		"no pinned": {func(c *config.Config) { c.Middleware.Pinned = false }, ken.ModeHybrid, "", func(r *ken.Receipt) bool {
			return !strings.Contains(r.Block, "short sentences")
		}},
		"no knowledge": {func(c *config.Config) { c.Middleware.Knowledge = false }, ken.ModeNone, "switched off: middleware.knowledge is false", func(r *ken.Receipt) bool { return r.Block == "" }},
		"no structure": {func(c *config.Config) { c.Structure.Enabled = false }, ken.ModeHybrid, "", func(r *ken.Receipt) bool { return len(r.Focal) == 0 }},
		"one item": {func(c *config.Config) { c.Knowledge.TopK, c.Structure.Enabled, c.Middleware.Pinned = 1, false, false }, ken.ModeHybrid, "", func(r *ken.Receipt) bool {
			return len(r.Items) == 1
		}},
		"short items": {func(c *config.Config) { c.Budget.Chars = 500 }, ken.ModeHybrid, "", func(r *ken.Receipt) bool { return r.Chars < 800 }},
		"tokens":      {func(c *config.Config) { c.Budget.Tokens = 120 }, ken.ModeHybrid, "", func(r *ken.Receipt) bool { return 0 < r.Tokens && r.Tokens <= 120 }},
		"no memory":   {func(c *config.Config) { c.Budget.MemoryChars = 0 }, ken.ModeHybrid, "", func(r *ken.Receipt) bool { return !strings.Contains(r.Block, "short sentences") }},
		"weight none": {func(c *config.Config) { c.Retrieval.Weight = ken.WeightNone }, ken.ModeNone, "the agent's weight is none", func(r *ken.Receipt) bool { return r.Block == "" }},
	} {
		cfg := l.Config()
		tt.change(&cfg)
		a, err := l.Operator().DryRun(t.Context(), inSession(question), cfg)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if r := &a.Receipt; r.Mode != tt.mode || r.Cause != tt.cause || !tt.check(r) {
			t.Errorf("%s: %s, %q, degraded %q, %v\n%s", name, r.Mode, r.Cause, r.Degraded, r.MS, r.Block)
		}
	}
	cfg := l.Config()
	cfg.Budget.Chars = 1
	var e *ken.Error
	if _, err := l.Operator().DryRun(t.Context(), inSession(question), cfg); !errors.As(err, &e) || e.Code != ken.CodeInvalid || e.Field != "budget.chars" {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Operator().DryRun(ctx, inSession(question), l.Config()); !errors.Is(err, context.Canceled) {
		t.Errorf("cut short: %v", err)
	}
}

// lacks reports that a source was not searched and found nothing.
func lacks(leg string) func(*ken.Receipt) bool {
	return func(r *ken.Receipt) bool {
		_, asked := r.MS[leg]
		for _, it := range r.Items {
			if _, found := it.Legs[leg]; found {
				return false
			}
		}
		return !asked && len(r.Items) > 0
	}
}

// What the layer was opened without can't be tried.
func TestATrialCantSwitchOnVectors(t *testing.T) {
	l := tryer(t, func(o *Options) { o.Config.Middleware.Vector = false })
	cfg := l.Config()
	cfg.Middleware.Vector = true
	a, err := l.Operator().DryRun(t.Context(), inSession("On which port does the ledger service listen?"), cfg)
	if err != nil || a.Receipt.Mode != ken.ModeKeyword || a.Receipt.Cause != "switched off: middleware.vector is false" {
		t.Errorf("%v, %s, %q", err, a.Receipt.Mode, a.Receipt.Cause)
	}
}

// A program's middleware can recognise a dry run.
func TestMiddlewaresKnowATrial(t *testing.T) {
	var trials []bool
	l := tryer(t, func(o *Options) {
		o.Use = []Middleware{func(next Handler) Handler {
			return func(ctx context.Context, st *State) error {
				trials = append(trials, st.DryRun())
				return next(ctx, st)
			}
		}}
	})
	l.Assemble(t.Context(), inSession("On which port?"))
	if _, err := l.Operator().DryRun(t.Context(), inSession("On which port?"), l.Config()); err != nil || fmt.Sprint(trials) != "[false true]" {
		t.Errorf("%v, %v", err, trials)
	}
}
