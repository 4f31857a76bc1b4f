package session_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/store/memory"
)

// entries numbers messages as a journal does.
func entries(msgs ...ken.Message) []session.Entry {
	out := make([]session.Entry, len(msgs))
	for i, m := range msgs {
		out[i] = session.Entry{Seq: uint64(i + 1), At: monday, Message: m}
	}
	return out
}

func digest(msgs ...ken.Message) session.Checkpoint {
	return session.Digest(nil, entries(msgs...), &session.Step{}, monday)
}

func TestDigestOfATurn(t *testing.T) {
	es := entries(
		user("Fix the flaky retry test in payments. Why does it only fail on Linux?"),
		calls("1", "read_file", `{"path":"payments/retry_test.go"}`),
		tool("1", "func TestRetry"),
		calls("2", "bash", `{"command":"go test ./payments/..."}`),
	)
	es[2].Files = map[string]string{"payments/clock.go": "sha256:1"}
	signals := ken.Signals{Entities: []string{"payments", "Linux", "Payments"}}
	got := session.Digest(nil, es, &session.Step{Signals: signals, Constraints: []string{"Never  touch\nthe ledger."},
		Focal: []string{"payments"}, Aspects: []string{"payments: testing"}}, monday)
	want := session.Checkpoint{At: monday, Seq: 4,
		Goal:        "Fix the flaky retry test in payments. Why does it only fail on Linux?",
		Entities:    []string{"payments", "Linux"},
		Files:       []string{"payments/clock.go", "payments/retry_test.go"},
		Open:        []string{"Why does it only fail on Linux?"},
		Constraints: []string{"Never touch the ledger."},
		LastStep:    "bash: go test ./payments/...",
		Focal:       []string{"payments"},
		Aspects:     []string{"payments: testing"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("digest (-want +got):\n%s", diff)
	}

	// The next turn goes on from it; what it covers is passed over.
	es = append(es, session.Entry{Seq: 5, Message: assistant("The timer is coarser there. I raised the bound. Shall I run it again?")})
	next := session.Digest(&got, es, &session.Step{Signals: ken.Signals{Entities: []string{"timer"}}, Constraints: []string{"Tests must not sleep."},
		Focal: []string{"ledger", "payments"}, Aspects: []string{"ledger: storage"}}, monday.Add(time.Minute))
	want.At, want.Seq, want.Open = monday.Add(time.Minute), 5, nil
	want.Entities = []string{"timer", "payments", "Linux"}
	want.Constraints = []string{"Tests must not sleep.", "Never touch the ledger."}
	want.Focal, want.Aspects = []string{"ledger", "payments"}, []string{"ledger: storage", "payments: testing"}
	want.LastStep = "I raised the bound."
	if diff := cmp.Diff(want, next); diff != "" {
		t.Errorf("next digest (-want +got):\n%s", diff)
	}
	if got.Entities[0] != "payments" || len(got.Open) != 1 {
		t.Errorf("the one before was changed: %+v", got)
	}
	if again := session.Digest(&next, es, &session.Step{}, monday); !cmp.Equal(next, again) {
		t.Errorf("nothing new changed it (-want +got):\n%s", cmp.Diff(next, again))
	}
}

func TestGoal(t *testing.T) {
	const retry = "Fix the flaky retry test in payments"
	done := assistant("I capped the backoff in payments/backoff.go.")
	for name, c := range map[string]struct {
		msgs []ken.Message
		want string
	}{
		"the first request":                  {[]ken.Message{user(retry)}, retry},
		"small talk is none":                 {[]ken.Message{user("hi there!"), assistant("Hello."), user(retry)}, retry},
		"nor is what says nothing by itself": {[]ken.Message{user("fix it"), user(retry)}, retry},
		"thanks change nothing":              {[]ken.Message{user(retry), done, user("thanks, that looks great!")}, retry},
		"a detail of the task":               {[]ken.Message{user(retry), done, user("make the backoff start at 100 ms")}, retry},
		"one that points back":               {[]ken.Message{user(retry), done, user("also write a changelog entry for it")}, retry},
		"a short aside":                      {[]ken.Message{user(retry), done, user("go on please")}, retry},
		"something else":                     {[]ken.Message{user(retry), done, user("Write the release notes for June")}, "Write the release notes for June"},
		"with a relative clause":             {[]ken.Message{user(retry), done, user("Write a script that exports every customer as CSV")}, "Write a script that exports every customer as CSV"},
		"said to be something else":          {[]ken.Message{user(retry), done, user("New task: remove the retry flag from the CLI")}, "New task: remove the retry flag from the CLI"},
		"and back at it":                     {[]ken.Message{user(retry), user("Write the release notes for June"), user("add the weather feature to the release notes")}, "Write the release notes for June"},
		"without what is pasted":             {[]ken.Message{user("Explain this panic:\n```\ngoroutine 1 [running]\n```\nin the scheduler")}, "Explain this panic: in the scheduler"},
		"in another script":                  {[]ken.Message{user("支払いサービスのテストを修正してください")}, "支払いサービスのテストを修正してください"},
		"the assistant has none":             {[]ken.Message{assistant("Rewrite the scheduler from scratch")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := digest(c.msgs...).Goal; got != c.want {
				t.Errorf("goal %q, want %q", got, c.want)
			}
		})
	}
}

func TestOpenQuestions(t *testing.T) {
	for name, c := range map[string]struct {
		msgs []ken.Message
		want []string
	}{
		"asked":                           {[]ken.Message{user("Which port does staging use? And who owns it?")}, []string{"Which port does staging use?", "And who owns it?"}},
		"answered":                        {[]ken.Message{user("Which port does staging use?"), assistant("8443.")}, nil},
		"a call is no answer":             {[]ken.Message{user("Which port does staging use?"), calls("1", "bash", `{"cmd":"ss"}`), tool("1", "8443")}, []string{"Which port does staging use?"}},
		"nor is what goes with it":        {[]ken.Message{user("Which port does staging use?"), {Role: "assistant", Text: "Let me look.", ToolCalls: []ken.ToolCall{{ID: "1", Name: "bash"}}}}, []string{"Which port does staging use?"}},
		"asked twice":                     {[]ken.Message{user("Which port?"), user("Which port?")}, []string{"Which port?"}},
		"an address is no question":       {[]ken.Message{user("see http://x.example/?q=port for the port. Then go on.")}, nil},
		"what asks nothing":               {[]ken.Message{user("Ok?")}, nil},
		"one in a pasted text":            {[]ken.Message{user("why does the build say\n```\nDid you mean foo?\n```")}, nil},
		"in a script without spaces":      {[]ken.Message{user("ポートは何番ですか？教えてください。")}, []string{"ポートは何番ですか？"}},
		"a list of them":                  {[]ken.Message{user("Two things:\n- who deploys staging?\n- when does staging restart?")}, []string{"who deploys staging?", "when does staging restart?"}},
		"more than there is room for":     {[]ken.Message{user("one port? two ports? three ports? four ports? five ports? six ports?")}, []string{"two ports?", "three ports?", "four ports?", "five ports?", "six ports?"}},
		"a number with a point, not two":  {[]ken.Message{user("is version 1.2.3 out?")}, []string{"is version 1.2.3 out?"}},
		"the assistant's are not open":    {[]ken.Message{user("build it"), assistant("Which target?")}, nil},
		"and what it said last is a step": {[]ken.Message{user("Which port?"), assistant("Which host do you mean?")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, digest(c.msgs...).Open); diff != "" {
				t.Errorf("open (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLastStep(t *testing.T) {
	for name, c := range map[string]struct {
		msg  ken.Message
		want string
	}{
		"a command":             {calls("1", "bash", `{"description":"run them","command":"go test ./..."}`), "bash: go test ./..."},
		"a file":                {calls("1", "edit", `{"new":"x","file_path":"a.go"}`), "edit: a.go"},
		"any argument":          {calls("1", "ask", `{"zebra":"z","n":1,"about":"y"}`), "ask: y"},
		"none":                  {calls("1", "list", `{}`), "list"},
		"broken arguments":      {calls("1", "list", `{"a"`), "list"},
		"what it said":          {assistant("I looked. It was the cache. Fixed!"), "Fixed!"},
		"but no offer":          {assistant("It was the cache. Anything else?"), "It was the cache."},
		"only an offer":         {assistant("Anything else?"), "Anything else?"},
		"the last call of many": {ken.Message{Role: "assistant", ToolCalls: []ken.ToolCall{{Name: "a"}, {Name: "b"}}}, "b"},
		"a long one":            {assistant(strings.Repeat("word ", 100)), strings.TrimSpace(strings.Repeat("word ", 59)) + " word…"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := digest(c.msg).LastStep; got != c.want {
				t.Errorf("last step %q, want %q", got, c.want)
			}
		})
	}
}

func TestFilesOfCalls(t *testing.T) {
	for args, want := range map[string][]string{
		`{"file_path":"cmd/main.go"}`:                    {"cmd/main.go"},
		`{"filePath":"./a/../b.ts"}`:                     {"b.ts"},
		`{"path":"internal/store"}`:                      nil, // a folder
		`{"path":"."}`:                                   nil,
		`{"path":"src/"}`:                                nil,
		`{"path":"Makefile"}`:                            {"Makefile"},
		`{"path":".env"}`:                                {".env"},
		`{"paths":["b.go","a.go"]}`:                      {"a.go", "b.go"},
		`{"edits":[{"path":"a.go"},{"path":"b.go"}]}`:    {"b.go", "a.go"},
		`{"target_file":"LICENSE","query":"x.go"}`:       {"LICENSE"},
		`{"path":"src\\win.go"}`:                         {"src/win.go"},
		`{"uri":"file:///home/me/a.go"}`:                 {"/home/me/a.go"},
		`{"path":"https://x.example/a.html"}`:            nil,
		`{"path":"**/*.go"}`:                             nil,
		`{"content":"a.go","command":"cat b.go"}`:        nil,
		`{"source":"a.go","destination":"b.go"}`:         {"a.go", "b.go"},
		`{"path":"` + strings.Repeat("x", 400) + `.go"}`: nil,
		`["a.go"]`: nil,
		`not JSON`: nil,
		`{"path":"a.go","file_path":"a.go","file":"A.go"}`:   {"a.go"},
		`{"absolute_path":"/r/x","notebook_path":"n.ipynb"}`: {"n.ipynb", "/r/x"},
	} {
		got := digest(calls("1", "x", args)).Files
		if strings.Contains(args, "paths\"") || strings.Contains(args, "destination") {
			got = sorted(got)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("files of %s (-want +got):\n%s", args, diff)
		}
	}
}

// Whatever comes in, a checkpoint stays small.
func TestCheckpointIsBounded(t *testing.T) {
	var c session.Checkpoint
	for turn := range 30 {
		var es []session.Entry
		for i := range 40 {
			es = append(es, session.Entry{Seq: uint64(turn*100 + i + 1), Message: user(fmt.Sprintf("what about thing %d-%d? %s", turn, i, strings.Repeat("é", 500)))},
				session.Entry{Seq: uint64(turn*100 + i + 1), Message: calls("1", "edit", fmt.Sprintf(`{"path":"f%d-%d.go"}`, turn, i))})
		}
		signals := ken.Signals{Entities: []string{fmt.Sprint("entity ", turn), strings.Repeat("x", 999)}}
		c = session.Digest(&c, es, &session.Step{Signals: signals, Constraints: []string{fmt.Sprint("rule ", turn), strings.Repeat("日", 999)},
			Focal: []string{fmt.Sprint("entity ", turn), strings.Repeat("x", 999)}, Aspects: []string{fmt.Sprint("entity: aspect ", turn)}}, monday)
	}
	for what, n := range map[string][2]int{"entities": {len(c.Entities), 10}, "files": {len(c.Files), 10}, "open": {len(c.Open), 5}, "constraints": {len(c.Constraints), 10}, "focal": {len(c.Focal), 10}, "aspects": {len(c.Aspects), 10}} {
		if n[0] > n[1] {
			t.Errorf("%d %s, at most %d", n[0], what, n[1])
		}
	}
	for _, list := range [][]string{{c.Goal, c.LastStep}, c.Entities, c.Files, c.Open, c.Constraints, c.Focal, c.Aspects} {
		for _, s := range list {
			if n := utf8.RuneCountInString(s); n > 300 || strings.Contains(s, "\n") {
				t.Errorf("%d characters: %q", n, s)
			}
		}
	}
	if c.Entities[0] != "entity 29" || c.Constraints[0] != "rule 29" {
		t.Errorf("what is newest does not come first: %v %v", c.Entities, c.Constraints)
	}
}

// A logger that does not work must not keep anybody from learning, and what it did
// not write goes elsewhere.
func TestALoggerNeverBlocksAWrite(t *testing.T) {
	for name, c := range map[string]struct {
		logger func(ctx context.Context) error
		says   string
	}{
		"it fails":               {func(context.Context) error { return errors.New("disk full") }, "disk full"},
		"it panics":              {func(context.Context) error { panic("nil map") }, "nil map"},
		"it is slow":             {func(ctx context.Context) error { <-time.After(time.Minute); return nil }, "no answer"},
		"it heeds its context":   {func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, "deadline exceeded"},
		"it is slow, not late":   {func(context.Context) error { <-time.After(900 * time.Millisecond); return nil }, ""},
		"it is slow, and panics": {func(context.Context) error { <-time.After(time.Minute); panic("late") }, "no answer"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				s := session.New(session.HandleOptions{About: about, Store: memory.New(memory.Options{}),
					Log:    slog.New(slog.NewTextHandler(&out, nil)),
					Logger: func(ctx context.Context, _ session.Action) error { return c.logger(ctx) }})
				start := time.Now()
				id, err := s.Learn(t.Context(), "payments uses sagas", sagas())
				if err != nil || id == "" {
					t.Errorf("learn: %q, %v", id, err)
				}
				if waited := time.Since(start); waited > time.Second {
					t.Errorf("it waited %v", waited)
				}
				if got, err := s.Recall(t.Context(), "sagas", session.RecallOptions{}); len(got) != 1 || err != nil {
					t.Errorf("recalled %v, %v", got, err)
				}
				if said := out.String(); c.says == "" && said != "" || !strings.Contains(said, c.says) || c.says != "" && !strings.Contains(said, id) {
					t.Errorf("the log says %q, want %q and the claim", said, c.says)
				}
				<-time.After(time.Hour) // it comes back when nobody waits
			})
		})
	}
}

// While a logger hangs, actions wait for it once. When it is back, it is told again.
func TestAHangingLoggerIsWaitedForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		backReferences := make(chan struct{})
		var told atomic.Int32
		var out bytes.Buffer
		s := session.New(session.HandleOptions{Store: memory.New(memory.Options{}), Log: slog.New(slog.NewTextHandler(&out, nil)),
			Logger: func(context.Context, session.Action) error {
				if told.Add(1) == 1 {
					<-backReferences
				}
				return nil
			}})
		start := time.Now()
		for range 20 {
			if _, err := s.Learn(t.Context(), "payments uses sagas", sagas()); err != nil {
				t.Fatal(err)
			}
		}
		if waited := time.Since(start); waited != time.Second {
			t.Errorf("20 actions waited %v", waited)
		}
		if n := strings.Count(out.String(), "claim_id="); n != 20 {
			t.Errorf("%d of 20 entries went to the log", n)
		}
		close(backReferences)
		synctest.Wait()
		if err := s.Dispute(t.Context(), "x", "y"); !errors.Is(err, ken.ErrNotFound) {
			t.Errorf("dispute: %v", err)
		}
		if told.Load() != 2 {
			t.Errorf("it was told %d times, want 2", told.Load())
		}
	})
}

func TestATellerOfRejectionsThatPanics(t *testing.T) {
	var out bytes.Buffer
	s := session.New(session.HandleOptions{Log: slog.New(slog.NewTextHandler(&out, nil)),
		Rejected: func(context.Context, session.Action, string, error) { panic("boom") }})
	if _, err := s.Learn(t.Context(), "x", nil); !isInvalid(err) {
		t.Errorf("learn: %v", err)
	}
	if !strings.Contains(out.String(), "boom") {
		t.Errorf("the log says %q", out.String())
	}
}

// Entries of many goroutines come one at a time.
func TestLoggerCallsDoNotOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var inside, told atomic.Int32
		s := session.New(session.HandleOptions{LogWait: time.Hour, Logger: func(context.Context, session.Action) error {
			if inside.Add(1) != 1 {
				t.Error("two calls at once")
			}
			<-time.After(time.Millisecond)
			inside.Add(-1)
			told.Add(1)
			return nil
		}})
		for i := range 50 {
			go func() {
				h := s
				if i%2 == 0 {
					h = s.Branch("b", session.BranchOptions{})
				}
				if _, err := h.Learn(t.Context(), "x", sagas()); err != nil {
					t.Error(err)
				}
			}()
		}
		<-time.After(time.Minute)
		if told.Load() != 50 {
			t.Errorf("told %d times", told.Load())
		}
	})
}
