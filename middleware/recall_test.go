package middleware_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/middleware"
)

func TestRecall(t *testing.T) {
	l := open(t, settings())
	ids := learn(t, l, plainFact("Payments are retried three times."), plainFact("The harbour is shallow."),
		plainFact("Payments may be refunded.", func(c *ken.Claim) { c.Status = ken.StatusHypothesis }))
	a, err := l.Recall(t.Context(), middleware.RecallQuery{Question: "how are payments retried?"})
	if err != nil || a.Mode != ken.ModeHybrid || len(a.Claims) == 0 || a.Claims[0].ID != ids[0] || a.Claims[0].Tier != ken.Inferred || len(a.Signals.Keywords) == 0 {
		t.Fatalf("got %+v, %v", a, err)
	}
	for _, c := range a.Claims {
		if c.ID == ids[2] {
			t.Error("a hypothesis was recalled")
		}
	}
	q := middleware.RecallQuery{Question: "payments", Mode: ken.ModeKeyword, Limit: 1, Filter: ken.Filter{Statuses: []ken.Status{ken.StatusHypothesis}}}
	if a, err = l.Recall(t.Context(), q); err != nil || a.Mode != ken.ModeKeyword || len(a.Claims) != 1 || a.Claims[0].ID != ids[2] {
		t.Errorf("got %+v, %v", a, err)
	}
	// A recall asks for what small talk would not.
	if a, err = l.Recall(t.Context(), middleware.RecallQuery{Question: "harbour"}); err != nil || len(a.Claims) == 0 || a.Claims[0].ID != ids[1] {
		t.Errorf("got %+v, %v", a, err)
	}
	if a, err = l.Recall(t.Context(), middleware.RecallQuery{Owner: "bert", Question: "payments"}); err != nil || len(a.Claims) != 0 {
		t.Errorf("another owner: %+v, %v", a, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Recall(ctx, q); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// The mode that is promised is the one that runs, and what is less has a cause.
func TestModeOfARecall(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*config.Config)
		mode   ken.Mode
		want   ken.Mode
		cause  bool
	}{
		{"the best", func(*config.Config) {}, "", ken.ModeHybrid, false},
		{"words alone", func(*config.Config) {}, ken.ModeKeyword, ken.ModeKeyword, false},
		{"likeness alone", func(*config.Config) {}, ken.ModeVector, ken.ModeVector, false},
		{"no embedder", func(c *config.Config) { c.Knowledge.Provider = config.ProviderNone }, "", ken.ModeKeyword, false},
		{"no embedder, and one asked for", func(c *config.Config) { c.Knowledge.Provider = config.ProviderNone }, ken.ModeHybrid, ken.ModeKeyword, true},
		{"no embedder, and nothing else asked for", func(c *config.Config) { c.Knowledge.Provider = config.ProviderNone }, ken.ModeVector, ken.ModeNone, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := open(t, settings(tt.change))
			learn(t, l, plainFact("Payments are retried."))
			s, release, err := l.Store(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			defer release()
			rc := l.Recaller(s, middleware.RecallQuery{Mode: tt.mode})
			mode, cause := rc.Mode()
			a, err := rc.Ask(t.Context(), "how are payments retried?", nil)
			if err != nil || mode != tt.want || a.Mode != tt.want || (cause != "") != tt.cause || (a.Cause != "") != tt.cause {
				t.Errorf("says %s (%s), runs %s (%s), %v", mode, cause, a.Mode, a.Cause, err)
			}
		})
	}
}

// The form of ken recall --json is a contract.
func TestFormOfARecall(t *testing.T) {
	l := open(t, settings())
	learn(t, l, plainFact("Payments are retried."))
	a, err := l.Recall(t.Context(), middleware.RecallQuery{Question: "payments"})
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || got["mode"] == nil || got["cause"] == nil {
		t.Errorf("got %s", b)
	}
	c := got["claims"].([]any)[0].(map[string]any)
	for _, name := range []string{"id", "key", "text", "tier", "trust", "score", "legs", "evidence", "status"} {
		if _, ok := c[name]; !ok {
			t.Errorf("no %s in %s", name, b)
		}
	}
}
