package session_test

import (
	"fmt"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/session"
)

func TestExchanges(t *testing.T) {
	b := newBench(t, session.Options{})
	b.append(t, "s", user("Run the tests."), calls("c1", "bash", `{"command":"go test"}`), tool("c1", "ok"), assistant("They pass."), user("And now?"))
	b.append(t, "other", user("A secret."))
	for name, tt := range map[string]struct {
		place            session.Place
		question, answer string
	}{
		"first request":        {session.Place{Session: "s", Through: 1}, "Run the tests.", ""}, // the answer is a call without words
		"after a tool":         {session.Place{Session: "s", Through: 3}, "Run the tests.", "They pass."},
		"without an answer":    {session.Place{Session: "s", Through: 5}, "And now?", ""},
		"beyond the end":       {session.Place{Session: "s", Through: 9}, "", ""},
		"no position":          {session.Place{Session: "s"}, "", ""},
		"no session":           {session.Place{Through: 1}, "", ""},
		"a session that isn’t": {session.Place{Session: "s/", Through: 1}, "", ""},
	} {
		got, err := b.Exchanges(t.Context(), []session.Place{{Session: "other", Through: 1}, tt.place})
		if err != nil || len(got) != 2 || textOf(got[0].Question) != "A secret." {
			t.Fatalf("%s: %+v, %v", name, got, err)
		}
		if q, a := textOf(got[1].Question), textOf(got[1].Answer); q != tt.question || a != tt.answer {
			t.Errorf("%s: %q, %q", name, q, a)
		}
	}
	if got, err := b.Exchanges(t.Context(), []session.Place{{Session: "s", Through: 1}}); err != nil || got[0].Answer == nil || len(got[0].Answer.Message.ToolCalls) != 1 {
		t.Errorf("the call is not the answer: %+v, %v", got, err)
	}
	if err := b.Forget(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Exchanges(t.Context(), []session.Place{{Session: "s", Through: 3}}); err != nil || got[0] != (session.Exchange{}) {
		t.Errorf("after it was forgotten: %+v, %v", got, err)
	}
}

func textOf(e *session.Entry) string {
	if e == nil {
		return ""
	}
	return e.Message.Text
}

// A session carries the name of a key as long as all its turns came with that one.
func TestKeyOfASession(t *testing.T) {
	b := newBench(t, session.Options{})
	for _, tt := range []struct {
		keys []string
		want string
	}{{[]string{"ana", "ana"}, "ana"}, {[]string{"ana", "ben"}, ""}, {[]string{"ana", "ben", "ana"}, ""}, {[]string{"", "ana"}, ""}, {[]string{"ana", ""}, ""}} {
		id := fmt.Sprintf("s-%q", tt.keys)
		msgs := []ken.Message{}
		for i, key := range tt.keys {
			msgs = append(msgs, user(string(rune('a'+i))))
			if _, err := b.Append(t.Context(), session.About{ID: id, Key: key}, msgs); err != nil {
				t.Fatal(err)
			}
		}
		if got := b.info(t, id).Key; got != tt.want {
			t.Errorf("turns with %q: %q", tt.keys, got)
		}
	}
}
