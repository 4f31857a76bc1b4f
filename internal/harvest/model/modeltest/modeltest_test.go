package modeltest_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	openai "github.com/sashabaranov/go-openai"
	"go.uber.org/goleak"

	"github.com/kenlayer/ken/internal/harvest/draft"
	"github.com/kenlayer/ken/internal/harvest/model"
	"github.com/kenlayer/ken/internal/harvest/model/modeltest"
	"github.com/kenlayer/ken/internal/run/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func extract(t *testing.T, server *modeltest.Server) (draft.Draft, error) {
	t.Helper()
	c := model.New(model.Options{BaseURL: server.URL, Model: modeltest.Model, Log: slog.New(slog.DiscardHandler)})
	defer c.Close()
	return c.Draft(t.Context(), modeltest.Session(), nil)
}

func TestScriptIsPlayedInOrderAndItsEndStays(t *testing.T) {
	server := modeltest.Serve(t, modeltest.Fails(500, "first"), modeltest.Throttled(3*time.Second), modeltest.Good())
	for i, want := range []string{"(500): first", "(429)", "", ""} {
		if _, err := extract(t, server); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("run %d: %v, want %q", i, err, want)
		}
	}
	if n := len(server.Extractions()); n != 4 {
		t.Errorf("%d requests", n)
	}
	server.Then()
	if d, err := extract(t, server); err != nil || !strings.HasPrefix(d.Summary, "The user began with") {
		t.Errorf("%v, %q: an empty script is Echo", err, d.Summary)
	}
}

// A program's own turns go to the same gateway and must not use up the script.
func TestOtherRequestsAreAnsweredBesideTheScript(t *testing.T) {
	server := modeltest.Serve(t, modeltest.Good(), modeltest.Fails(500, "over"))
	config := openai.DefaultConfig("k")
	config.BaseURL = server.URL
	client := openai.NewClientWithConfig(config)
	request := openai.ChatCompletionRequest{Model: "big", Messages: []openai.ChatCompletionMessage{
		{Role: "system", Content: "----- transcript -----\n=== message 1: user ===\n| x\n----- end of transcript -----"}, {Role: "user", Content: "Hello"}}}
	answer, err := client.CreateChatCompletion(t.Context(), request)
	if err != nil || answer.Choices[0].Message.Content != "Understood." {
		t.Fatalf("%v, %+v", err, answer)
	}
	stream, err := client.CreateChatCompletionStream(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	text := ""
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text += chunk.Choices[0].Delta.Content
	}
	if text != "Understood." {
		t.Errorf("streamed %q", text)
	}
	if d, err := extract(t, server); err != nil || len(d.Statements) != 5 {
		t.Errorf("%v: the script was used up", err)
	}
	if all, ours := server.Requests(), server.Extractions(); len(all) != 3 || len(ours) != 1 || !all[1].Stream || all[0].Key != "k" || all[0].Model != "big" {
		t.Errorf("%+v", all)
	}
	list, err := client.ListModels(context.Background())
	if err != nil || len(list.Models) != 1 || list.Models[0].ID != modeltest.Model {
		t.Errorf("%v, %+v", err, list)
	}
}

// ask sends messages to a server that echoes, as an extraction is shown.
func ask(t *testing.T, shown string) modeltest.Answer {
	t.Helper()
	server := modeltest.Serve(t, modeltest.Echo())
	config := openai.DefaultConfig("")
	config.BaseURL = server.URL
	answer, err := openai.NewClientWithConfig(config).CreateChatCompletion(t.Context(), openai.ChatCompletionRequest{Model: "m",
		Messages: []openai.ChatCompletionMessage{{Role: "user", Content: "----- transcript -----\n" + shown + "----- end of transcript -----\nReport."}}})
	if err != nil {
		t.Fatal(err)
	}
	var a modeltest.Answer
	if err := json.Unmarshal([]byte(answer.Choices[0].Message.Content), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

func TestEchoTellsWhatTheUserSays(t *testing.T) {
	got := ask(t, "=== message 3: user, 2026-05-15 ===\n| Hi! I prefer tabs in my Go code. Which editor do you like?\n| We decided on Postgres 16 for billing/db.\n"+
		"=== message 4: assistant ===\n| I prefer vim in every single case.\n=== message 5: tool bash ===\n| The answer is certainly 42.\n=== message 9: user ===\n| Never push to main, please.\n")
	want := modeltest.Answer{
		Summary: "The user began with: Hi! The last word was: Never push to main, please.",
		Facts: []modeltest.Fact{
			{Text: "The user prefers tabs in the user's Go code.", Quote: "I prefer tabs in my Go code.", Message: 3, Sort: "preference", Entities: []string{"Go"}, Confidence: 0.9},
			{Text: "The team decided on Postgres 16 for billing/db.", Quote: "We decided on Postgres 16 for billing/db.", Message: 3, Sort: "decision", Entities: []string{"Postgres", "billing/db"}, Confidence: 0.89},
			{Text: "Never push to main, please.", Quote: "Never push to main, please.", Message: 9, Sort: "instruction", Entities: []string{}, Confidence: 0.88},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for text, want := range map[string]string{
		"=== message 1: assistant ===\n| Done with all of it.\n": "The agent worked without a word of the user.",
		"=== message 1: user ===\n| Only this one sentence.\n":   "The user said: Only this one sentence.",
	} {
		if got := ask(t, text); got.Summary != want || got.Facts == nil {
			t.Errorf("%+v, want %q", got, want)
		}
	}
}

// The recordings are what their names promise, about the session that they are for.
func TestRecordings(t *testing.T) {
	for name, tt := range map[string]struct {
		play modeltest.Play
		kept int // < 0: an error
	}{
		"good": {modeltest.Good(), 5}, "thinking": {modeltest.Thinking(), 5}, "fenced": {modeltest.Fenced(), 5},
		"injected": {modeltest.Injected(), 1}, "unquoted": {modeltest.Unquoted(), 0}, "many": {modeltest.ManyFacts(60), 30},
		"prose": {modeltest.Prose(), -1}, "wrong shape": {modeltest.WrongShape(), -1}, "empty": {modeltest.Empty(), -1}, "truncated": {modeltest.Truncated(), -1},
	} {
		d, err := extract(t, modeltest.Serve(t, tt.play))
		if errors.Is(err, model.ErrUnusable) != (tt.kept < 0) || tt.kept >= 0 && (err != nil || len(d.Statements) != tt.kept) {
			t.Errorf("%s: %v, %d statements, dropped %v", name, err, len(d.Statements), d.Dropped)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a recording that does not exist was found")
		}
	}()
	modeltest.Recorded("no such")
}

// Tests change what they are given.
func TestSessionIsNewEachTime(t *testing.T) {
	a := modeltest.Session()
	a.Entries[0].Message.Text = "changed"
	b := modeltest.Session()
	if b.Entries[0].Message.Text == "changed" || len(b.Entries) < 10 || b.Info.Last != uint64(len(b.Entries)) {
		t.Errorf("%+v", b.Entries[0])
	}
	roles := map[string]bool{}
	for _, e := range b.Entries {
		roles[e.Message.Role] = true
	}
	for _, role := range []string{"user", "assistant", "tool"} {
		if !roles[role] {
			t.Errorf("no message by %s", role)
		}
	}
	if !slices.IsSortedFunc(b.Entries, func(a, b session.Entry) int { return a.At.Compare(b.At) }) {
		t.Error("not in order")
	}
}
