package middleware_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	auxiliary "github.com/kenlayer/ken/internal/harvest/model"
	"github.com/kenlayer/ken/internal/harvest/model/modeltest"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/middleware"
)

// longTalk is a session of 45 messages, with tools and something decided in every third.
func longTalk(l *middleware.Layer, id string) {
	var all []ken.Message
	for i := range 15 {
		call := fmt.Sprintf("c%d", i)
		all = append(all,
			ken.Message{Role: "user", Text: fmt.Sprintf("We decided that service%d listens on port %d because the old range is full.", i, 7000+i)},
			ken.Message{Role: "assistant", Text: "I look.", ToolCalls: []ken.ToolCall{{ID: call, Name: "Bash", Arguments: fmt.Sprintf(`{"command":"go test ./service%d"}`, i)}}},
			ken.Message{Role: "tool", ToolCallID: call, Text: fmt.Sprintf("ok  \tacme/service%d\t0.1s\n%s", i, strings.Repeat("a line of output that says little\n", 60))})
	}
	l.Assemble(context.Background(), ken.Turn{Session: id, Messages: append(all, ken.Message{Role: "user", Text: "That is all, thanks."})})
}

// harvested ends a session and returns the outcome of its harvest.
func harvested(t *testing.T, l *middleware.Layer, id string) session.Outcome {
	t.Helper()
	ctx := context.Background()
	if err := l.Operator().Recorded(ctx); err != nil {
		t.Fatal(err)
	}
	if err := l.End(ctx, "", id); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Harvest(ctx, ""); err != nil {
		t.Fatal(err)
	}
	tr, err := l.Operator().Journal("").Read(ctx, id)
	if err != nil || tr.Info.Outcome == nil {
		t.Fatalf("%+v, %v", tr.Info, err)
	}
	return *tr.Info.Outcome
}

// A long session costs three requests at most: the extraction, one repair of it, and one that
// files all of its claims.
func TestASessionCostsThreeRequests(t *testing.T) {
	race.SkipLong(t)
	for name, script := range map[string][]modeltest.Play{
		"a good answer": {modeltest.Echo()}, "a faulty one first": {modeltest.WrongShape(), modeltest.Echo()}, "none that can be used": {modeltest.WrongShape()},
	} {
		server := modeltest.Serve(t, script...)
		l := open(t, settings(func(c *config.Config) {
			c.Upstream.BaseURL, c.Upstream.Model = server.URL, modeltest.Model // named once
		}))
		longTalk(l, "first")
		out := harvested(t, l, "first")
		n := len(server.Requests())
		if n > 3 || n < 2 || (out.Model == modeltest.Model) != (name != "none that can be used") || len(out.Learned) < 5 {
			t.Errorf("%s: %d requests, model %q, %d facts, note %q", name, n, out.Model, len(out.Learned), out.Note)
		}
		byModel := 0
		for _, id := range out.Learned {
			c, err := engine(t, l, "").Get(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if c.AssignedBy == ken.AssignedByModel {
				byModel++
			}
		}
		if byModel < len(out.Learned)*9/10 {
			t.Errorf("%s: %d of %d facts are filed by the model", name, byModel, len(out.Learned))
		}
		server.Then(modeltest.Echo())
		longTalk(l, "second")
		harvested(t, l, "second")
		if more := len(server.Requests()) - n; more > 3 {
			t.Errorf("%s: the second session costs %d requests", name, more)
		}
	}
}

// Past the day's budget rules do the work, nothing is sent, and the outcome says so; off is off.
func TestBudgetAndOff(t *testing.T) {
	race.SkipLong(t)
	for name, tt := range map[string]struct {
		change func(*config.Config)
		note   string
	}{
		"used up":  {func(c *config.Config) { c.Harvest.Tokens = 500 }, "the model could not be used: " + auxiliary.ErrBudget.Msg},
		"off":      {func(c *config.Config) { c.Harvest.Model = config.HarvestOff }, ""},
		"no model": {func(c *config.Config) { c.Upstream.Model = "" }, auxiliary.Without},
	} {
		server := modeltest.Serve(t)
		l := open(t, settings(func(c *config.Config) {
			c.Upstream.BaseURL, c.Upstream.Model = server.URL, modeltest.Model
			tt.change(c)
		}))
		longTalk(l, "s")
		out := harvested(t, l, "s")
		if n := len(server.Requests()); n != 0 || out.Model != "" || !strings.Contains(out.Note, tt.note) || tt.note == "" && out.Note != "" || len(out.Learned) == 0 {
			t.Errorf("%s: %d requests, model %q, note %q", name, n, out.Model, out.Note)
		}
		longTalk(l, "t")
		if again := harvested(t, l, "t"); name == "no model" && strings.Contains(again.Note, auxiliary.Without) {
			t.Errorf("said twice: %q", again.Note)
		}
	}
}
