package session_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/session"
)

// A request is written as words: each is a user's message; x@1 is the call 1 of a
// tool, and y#1 its result.
func request(words string) []ken.Message {
	var msgs []ken.Message
	for w := range strings.FieldsSeq(words) {
		if text, id, ok := strings.Cut(w, "#"); ok {
			msgs = append(msgs, tool(id, text))
		} else if name, id, ok := strings.Cut(w, "@"); ok {
			msgs = append(msgs, calls(id, name, "{}"))
		} else {
			msgs = append(msgs, user(w))
		}
	}
	return msgs
}

func words(entries []session.Entry) (out []string) {
	for _, e := range entries {
		text := e.Message.Text
		for _, c := range e.Message.ToolCalls {
			text += c.Name + "()"
		}
		out = append(out, text)
	}
	return out
}

func TestAppendKeepsWhatIsNew(t *testing.T) {
	for name, c := range map[string]struct {
		requests []string // "restart" is a new process
		want     string
	}{
		"a client sends everything each turn":        {[]string{"a b", "a b c d", "a b c d e"}, "a b c d e"},
		"the same request again":                     {[]string{"a b", "a b", "a b"}, "a b"},
		"somebody repeats himself":                   {[]string{"yes", "yes b yes", "yes b yes yes"}, "yes b yes yes"},
		"a client sends the end alone":               {[]string{"a b", "b c", "c d"}, "a b c d"},
		"a client sends the newest alone":            {[]string{"a", "b", "c"}, "a b c"},
		"the answer is seen when it is given":        {[]string{"a", "A", "a A b", "B", "a A b B c"}, "a A b B c"},
		"the same answer twice":                      {[]string{"a", "Done.", "a Done. b", "Done.", "a Done. b Done. c"}, "a Done. b Done. c"},
		"history is compacted":                       {[]string{"a b c d", "summary c d e", "summary c d e f"}, "a b c d summary e f"},
		"said again after it was compacted away":     {[]string{"yes b c d", "summary d e", "summary d e yes"}, "yes b c d summary e yes"},
		"history comes back after a compaction":      {[]string{"a b c d", "summary d e", "a b c d e f"}, "a b c d summary e f"},
		"a message is edited and the end resent":     {[]string{"a b c", "a B c d"}, "a b c B d"},
		"a message is taken back":                    {[]string{"a b c", "a", "a d"}, "a b c d"},
		"taken back and sent again":                  {[]string{"a b c", "a", "a b", "a b c d"}, "a b c d"},
		"two conversations in turns":                 {[]string{"a b", "x", "a b c", "x y", "a b c d"}, "a b x c y d"},
		"a request overtakes the one before it":      {[]string{"a b c", "a b", "a b c d"}, "a b c d"},
		"a new process":                              {[]string{"a b", "restart", "a b c", "restart", "a b c"}, "a b c"},
		"a new process and a repetition":             {[]string{"yes b", "restart", "yes b yes"}, "yes b yes"},
		"a tool's result that the client shortened":  {[]string{"a long#1 b", "a cleared#1 b c"}, "a long b c"},
		"a call's id that is used each turn":         {[]string{"a x#0", "a x#0 b y#0", "a x#0 b y#0 c z#0"}, "a x b y c z"},
		"a call's id used anew after a compaction":   {[]string{"a f@0 x#0 b g@0 y#0", "summary g@0 y#0 c h@0 z#0"}, "a f() x b g() y summary c h() z"},
		"a call's id used anew, the newest alone":    {[]string{"f@0", "x#0", "g@0", "y#0"}, "f() x g() y"},
		"old results cleared before a compaction":    {[]string{"f@0 x#0 g@1 y#1", "f@0 -#0 g@1 y#1 b", "summary f@0 -#0 g@1 -#1 c"}, "f() x g() y b summary c"},
		"the window slides":                          {[]string{"a b c", "b c d", "c d e", "d e f"}, "a b c d e f"},
		"an edit at the start, as of a clock's time": {[]string{"a1 b c", "a2 b c d", "a3 b c d e"}, "a1 b c a2 d a3 e"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, session.Options{})
			var kept []string
			for _, r := range c.requests {
				if r == "restart" {
					b.restart(session.Options{})
					continue
				}
				kept = append(kept, words(b.append(t, "s", request(r)...))...)
			}
			if got := strings.Join(kept, " "); got != c.want {
				t.Errorf("returned %q, want %q", got, c.want)
			}
			tr := b.read(t, "s")
			if got := strings.Join(words(tr.Entries), " "); got != c.want {
				t.Errorf("kept %q, want %q", got, c.want)
			}
			for i, e := range tr.Entries {
				if e.Seq != uint64(i+1) {
					t.Errorf("entry %d has number %d", i, e.Seq)
				}
			}
		})
	}
}

func TestAppendToolLoop(t *testing.T) {
	b := newBench(t, session.Options{})
	msgs := []ken.Message{
		{Role: "system", Text: "You are a coder. It is 09:00."},
		user("run the tests"),
		calls("call_1", "bash", `{"command": "go test ./..."}`),
		tool("call_1", ""), // a command that prints nothing
	}
	b.append(t, "s", msgs...)
	// The client writes the arguments anew, and the system message has another time.
	msgs[0].Text = "You are a coder. It is 09:01."
	msgs[2].ToolCalls = []ken.ToolCall{{ID: "call_1", Name: "bash", Arguments: `{"command":"go test ./..."}`}}
	if got := b.append(t, "s", append(msgs, assistant("All pass."))...); len(got) != 1 {
		t.Errorf("kept %d more, want the answer alone: %v", len(got), texts(got))
	}
	if got := b.info(t, "s"); got.Messages != 4 || got.Last != 4 {
		t.Errorf("the journal has %d messages up to %d, want 4", got.Messages, got.Last)
	}
}

func TestAppendSaysWhoseItIs(t *testing.T) {
	b := newBench(t, session.Options{Process: "one"})
	scope := ken.Scope{Type: ken.ScopeRepo, ID: "acme/payments"}
	about := session.About{ID: "s", Project: "payments", Agent: "reviewer", Model: "small", Scope: scope, Scopes: []ken.Scope{scope}}
	if _, err := b.Append(t.Context(), about, []ken.Message{user("hello there")}); err != nil {
		t.Fatal(err)
	}
	b.clock.pass(time.Minute)
	if _, err := b.Append(t.Context(), session.About{ID: "s", Model: "large"}, []ken.Message{user("hello there"), user("again")}); err != nil {
		t.Fatal(err)
	}
	about.Model = "large"
	want := session.Info{About: about, State: session.Open, Part: 1, Process: "one", Started: monday, Active: monday.Add(time.Minute), Messages: 2, Last: 2}
	if diff := cmp.Diff(want, b.info(t, "s")); diff != "" {
		t.Errorf("info (-want +got):\n%s", diff)
	}
}

func TestAppendRefusesABadID(t *testing.T) {
	b := newBench(t, session.Options{})
	for _, id := range []string{"", "  ", "a\x00b", "a\nb", strings.Repeat("x", 257), "<think>x", "ghp_" + random36} {
		if _, err := b.Append(t.Context(), session.About{ID: id}, []ken.Message{user("x")}); !isInvalid(err) {
			t.Errorf("append to %q: %v, want it invalid", id, err)
		}
		if err := b.Injected(t.Context(), id, []ken.Item{{ID: "k", Text: "x"}}); !isInvalid(err) {
			t.Errorf("injected into %q: %v, want it invalid", id, err)
		}
	}
	if got := b.bytes(t); got != "" {
		t.Errorf("the shelf has %q", got)
	}
}

func isInvalid(err error) bool { return errors.Is(err, ken.ErrInvalid) }

// An id comes from a client. None may reach into another session's messages.
func TestIDsDoNotReachIntoEachOther(t *testing.T) {
	b := newBench(t, session.Options{})
	ids := []string{"a", "a/b", "a%2Fb", "a/", "ä b", "info/a", strings.Repeat("é", 128)}
	for i, id := range ids {
		b.append(t, id, user(fmt.Sprintf("message %d", i)))
	}
	for i, id := range ids {
		if got := texts(b.read(t, id).Entries); len(got) != 1 || got[0] != fmt.Sprintf("message %d", i) {
			t.Errorf("session %q has %q", id, got)
		}
	}
	if err := b.Forget(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids[1:] {
		if got := b.read(t, id); len(got.Entries) != 1 {
			t.Errorf("forgetting %q took from %q", "a", id)
		}
	}
}

func TestAppendAfterCancelKeepsNothing(t *testing.T) {
	b := newBench(t, session.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Append(ctx, session.About{ID: "s"}, []ken.Message{user("x")}); !errors.Is(err, context.Canceled) {
		t.Errorf("append: %v, want it cancelled", err)
	}
	if got := b.append(t, "s", user("x")); len(got) != 1 {
		t.Errorf("kept %d messages after a cancelled call, want 1", len(got))
	}
}

// More sessions than are remembered at once: each is read again.
func TestAppendToManySessions(t *testing.T) {
	b := newBench(t, session.Options{})
	for round := range 3 {
		for i := range 150 {
			msgs := request("a b c d e")[:round+2]
			if got := len(b.append(t, fmt.Sprintf("session-%d", i), msgs...)); (round == 0 && got != 2) || (round > 0 && got != 1) {
				t.Fatalf("round %d, session %d: kept %d", round, i, got)
			}
		}
	}
}

func TestAnnotate(t *testing.T) {
	type asked struct {
		text string
		call *ken.ToolCall
	}
	var got []asked
	b := newBench(t, session.Options{Annotate: func(_ context.Context, e *session.Entry, call *ken.ToolCall) {
		got = append(got, asked{e.Message.Text, call})
		e.Message.Text = "changed"
		switch {
		case call != nil:
			e.Files = map[string]string{"go.mod": "sha256:1", "a\u200bb": "sha256:2"}
		case e.Message.Text == "boom":
			panic("boom")
		}
	}})
	read := calls("call_1", "read_file", `{"path":"go.mod"}`)
	b.append(t, "s", user("read it"), read, tool("call_1", "module x"))
	b.append(t, "s", user("read it"), read, tool("call_1", "module x"), calls("call_1", "read_file", `{"path":"go.sum"}`))
	b.restart(session.Options{Annotate: func(_ context.Context, e *session.Entry, call *ken.ToolCall) {
		got = append(got, asked{e.Message.Text, call})
	}})
	b.append(t, "s", tool("call_1", "h1:"), tool("call_9", "of no call"), user("boom"))
	first, second := read.ToolCalls[0], ken.ToolCall{ID: "call_1", Name: "read_file", Arguments: `{"path":"go.sum"}`}
	want := []asked{{"read it", nil}, {"", nil}, {"module x", &first}, {"", nil}, {"h1:", &second}, {"of no call", nil}, {"boom", nil}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(asked{})); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	entries := b.read(t, "s").Entries
	if diff := cmp.Diff([]string{"read it", "", "module x", "", "h1:", "of no call", "boom"}, texts(entries)); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"go.mod": "sha256:1"}, entries[2].Files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestAnnotatePanicCostsNoMessage(t *testing.T) {
	b := newBench(t, session.Options{Annotate: func(context.Context, *session.Entry, *ken.ToolCall) { panic("boom") }})
	if got := b.append(t, "s", user("a"), user("b")); len(got) != 2 {
		t.Errorf("kept %d of 2", len(got))
	}
}
