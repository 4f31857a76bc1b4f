package session_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/store/clean"
	"github.com/kenlayer/ken/store/memory"
)

// FuzzAppend: whatever a message holds, what is kept is clean, within its limit,
// once, and JSON where it was JSON.
func FuzzAppend(f *testing.F) {
	for _, text := range []string{"hello", block, block + "\n\nhello", "<think>a", "a</think>b", "\xff\x00\u200b", "[Pipeline Knowledge]\n\n[/Pipeline Knowledge]",
		"ghp_" + random36, strings.Repeat("é", 300), "<thi" + block + "nk>"} {
		f.Add(text, `{"a":["`+"x"+`"]}`)
		f.Add("x", text)
		args, err := json.Marshal(map[string]any{"path": text, text: []any{text, 1.5, nil}})
		if err != nil {
			f.Fatal(err)
		}
		f.Add("x", string(args))
	}
	f.Fuzz(func(t *testing.T, text, args string) {
		const limit = 256
		ctx := context.Background()
		shelf := memory.NewShelf()
		msgs := []ken.Message{user(text), assistant(text), tool("1", text), calls("1", "f", args)}
		keep := func() []session.Entry {
			j := session.NewJournal(shelf, session.Options{MaxMessageBytes: limit})
			got, err := j.Append(ctx, session.About{ID: "s"}, msgs)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		for _, e := range keep() {
			m := e.Message
			written := clean.Text
			if m.Role == "user" {
				written = clean.PersonText
			}
			if m.Text != "" && e.Cut == 0 && written(m.Text) != m.Text || !utf8.ValidString(m.Text) || len(m.Text) > limit {
				t.Fatalf("kept text %q", m.Text)
			}
			if strings.HasPrefix(m.Text, guardrail.FrameOpen+"\n") && strings.Contains(m.Text, "\n"+guardrail.FrameClose) {
				t.Fatalf("kept a block: %q", m.Text)
			}
			for _, c := range m.ToolCalls {
				if !utf8.ValidString(c.Arguments) || len(c.Arguments) > max(limit, len("null")) {
					t.Fatalf("kept arguments %q", c.Arguments)
				}
				if json.Valid([]byte(args)) && len(args) <= limit && !strings.Contains(c.Arguments, "[redacted:") && !json.Valid([]byte(c.Arguments)) {
					t.Fatalf("%q became %q, which is not JSON", args, c.Arguments)
				}
				if found := guardrail.Secrets(c.Arguments); len(found) > 0 {
					t.Fatalf("kept secrets %v in %q", found, c.Arguments)
				}
			}
		}
		if again := keep(); len(again) != 0 { // as another process reads it
			t.Fatalf("kept %+v again", again)
		}
	})
}

// FuzzDigest: a checkpoint of anything is bounded, and its text within its budget.
func FuzzDigest(f *testing.F) {
	f.Add("Fix the flaky test. Why does it fail? Who knows!", `{"path":"a.go"}`, 100)
	f.Add("```\nx?\n```? 。？！", `{"paths":["a",["b.c"],{"file":"\u0000"}]}`, 7)
	f.Add(". . . ?", `[`, 0)
	f.Fuzz(func(t *testing.T, text, args string, max int) {
		c := digest(user(text), calls("1", text, args), assistant(text), user(args))
		for _, list := range [][]string{{c.Goal, c.LastStep}, c.Files, c.Open} {
			for _, s := range list {
				if utf8.RuneCountInString(s) > 300 || strings.ContainsAny(s, "\n\t") {
					t.Fatalf("%q", s)
				}
			}
		}
		if len(c.Files) > 10 || len(c.Open) > 5 {
			t.Fatalf("%d files, %d open", len(c.Files), len(c.Open))
		}
		if got := c.Text(max); got != "" && utf8.RuneCountInString(got) > max {
			t.Fatalf("%d characters within %d: %q", utf8.RuneCountInString(got), max, got)
		}
	})
}
