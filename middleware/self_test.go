package middleware_test

import (
	"context"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/middleware"
)

// Ken answers questions about itself, from its own repository: real files, real
// decisions, words alone. One miss is allowed, as a regression in ranking shows in
// more than one.
func TestKenKnowsItself(t *testing.T) {
	race.SkipLong(t)
	c := settings(func(c *config.Config) {
		c.Repository.Index, c.Repository.GitCommits = true, 0
		c.Repository.Exclude = []string{"self_test.go"} // it holds the questions
		c.Knowledge.DBPath = t.TempDir()
	})
	l := open(t, c, func(o *middleware.Options) { o.Root = ".." })
	if _, err := l.Refresh(context.Background(), ""); err != nil {
		t.Fatal(err)
	}
	var missed []string
	for question, where := range map[string]string{
		"why is bleve pinned?":                                 "docs/decisions/0002",
		"how does the circuit breaker recover?":                "breaker/breaker.go",
		"why is the ignore matcher not the one of go-git?":     "docs/decisions/0004",
		"how is reciprocal rank fusion computed?":              "retriever/",
		"which evidence makes a claim Verified?":               "evidence.go",
		"how is a store opened that another process holds?":    "internal/store/bolt/holder.go",
		"what does forgetting a claim erase from the disk?":    "internal/store/bolt/forget.go",
		"which tags count as a model's reasoning?":             "guardrail/",
		"what keeps the provider's prompt cache working?":      "middleware/",
		"how long may a model call wait for retrieval?":        "config",
		"what is in the context_assembly event?":               "internal/run/telemetry/event.go",
		"how are concurrent writes committed in one go?":       "internal/store/bolt/commit.go",
		"how is a word split into the parts of an identifier?": "internal/analysis/",
	} {
		got := l.Assemble(context.Background(), asked(question)).Receipt
		if !cites(got.Items, where) {
			missed = append(missed, question+"\nnothing of "+where+" among "+sources(got.Items))
		}
	}
	t.Log(strings.Join(missed, "\n"))
	if len(missed) > 1 {
		t.Errorf("%d questions are not answered", len(missed))
	}
}

func cites(items []ken.Item, where string) bool {
	for _, it := range items {
		if strings.HasPrefix(it.Source, where) {
			return true
		}
	}
	return false
}

func sources(items []ken.Item) string {
	var out []string
	for _, it := range items {
		out = append(out, it.Source)
	}
	return strings.Join(out, ", ")
}
