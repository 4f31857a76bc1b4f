package telemetry_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/run/telemetry"
	"github.com/kenlayer/ken/middleware"
)

// The words of a receipt's cause are made in other packages. Should they change
// there, the label must follow.
func TestCausesOfARealLayerHaveAClass(t *testing.T) {
	user := []ken.Message{{Role: "user", Text: "Which port does the billing service listen on?"}}
	for _, c := range []struct {
		want   string
		change func(*config.Config)
		turn   ken.Turn
	}{
		{"none", func(*config.Config) {}, ken.Turn{Messages: user}},
		{"switched_off", func(c *config.Config) { c.Middleware.Knowledge = false }, ken.Turn{Messages: user}},
		{"switched_off", func(c *config.Config) { c.Middleware.Keyword = false }, ken.Turn{Messages: user}},
		{"switched_off", func(c *config.Config) { c.Knowledge.Provider = config.ProviderNone }, ken.Turn{Messages: user}},
		{"weight", func(*config.Config) {}, ken.Turn{Messages: user, Weight: ken.WeightNone}},
		{"no_question", func(*config.Config) {}, ken.Turn{Messages: []ken.Message{{Role: "system", Text: "Be kind."}}}},
		{"asks_nothing", func(*config.Config) {}, ken.Turn{Messages: []ken.Message{{Role: "user", Text: "thanks!"}}}},
		{"store", func(c *config.Config) { c.Knowledge.DBPath = filepath.Join(os.DevNull, "below") }, ken.Turn{Messages: user}},
	} {
		cfg := config.Default()
		cfg.Repository.Index, cfg.Middleware.Events = false, false
		c.change(&cfg)
		l, err := middleware.Open(context.Background(), middleware.Options{Root: t.TempDir(), Config: &cfg, Foreground: true, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		if r := l.Assemble(context.Background(), c.turn).Receipt; telemetry.CauseClass(r.Cause) != c.want {
			t.Errorf("cause %q has class %s, want %s", r.Cause, telemetry.CauseClass(r.Cause), c.want)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestCauseClasses(t *testing.T) {
	for cause, want := range map[string]string{
		"": "none",
		"vector: not there within 150ms; keyword: the index is closed":                                    "deadline",
		"vector: embeddings: stopped after 5 failures in a row, tried again every 30s; the last: refused": "breaker",
		"vector: " + errors.New("dial tcp: connection refused").Error():                                   "vector",
		"keyword: the index is closed":                                                                    "keyword",
		"vector: only 3 of 10 records have a vector of this model yet":                                    "coverage",
		"keyword: the turn ended first: context canceled":                                                 "cancelled",
		"turn: too many are composed at once (retrieval.at_once)":                                         "busy",
		"something that nobody has thought of, with 1234 and /a/path in it":                               "other",
	} {
		if got := telemetry.CauseClass(cause); got != want {
			t.Errorf("%q: %s, want %s", cause, got, want)
		}
	}
}
