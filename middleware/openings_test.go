package middleware_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/middleware/wire"
	"github.com/kenlayer/ken/middleware"
)

// guess begins a turn of a session that is guessed, and answers it unless answer is
// "".
func guess(t *testing.T, l *middleware.Layer, answer string, items ...string) string {
	t.Helper()
	d := spoken[0]
	x, err := l.Begin(t.Context(), d.Dialect, []byte(d.body("", items...)), func(r *wire.Request) ken.Turn {
		return ken.Turn{Owner: "o", Session: wire.SessionOf("o", "", r)}
	})
	if err != nil {
		t.Fatal(err)
	}
	resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(d.whole("x", answer)))}
	if answer == "" {
		resp.StatusCode = 503
	}
	x.Listen(resp, nil)
	io.Copy(io.Discard, resp.Body)
	return x.Turn.Session
}

// Conversations that begin with the same words are told apart by what followed.
func TestConversationsThatBeginAlike(t *testing.T) {
	l := open(t, settings())
	d := spoken[0]
	hi := d.user("hi")
	a := guess(t, l, "", hi)
	if again := guess(t, l, "Hello!", hi); again != a || a == "" {
		t.Errorf("sent again after a failure: %q, then %q", a, again)
	}
	b := guess(t, l, "Good morning!", hi)
	c := guess(t, l, "Yes?", hi)
	if a == b || b == c || a == c {
		t.Errorf("three conversations: %q, %q, %q", a, b, c)
	}
	on := func(answer string) string {
		return guess(t, l, "Sure.", hi, object("role", "assistant", "content", answer), d.user("Why?"))
	}
	if got := on("Yes?"); got != c {
		t.Errorf("the newest goes on as %q, not %q", got, c)
	}
	if x, y := on("Hello!"), on("Good morning! "); x != a || y != b {
		t.Errorf("they go on as %q and %q, not %q and %q", x, y, a, b)
	}
	d4 := guess(t, l, "<think>A greeting.</think>Welcome.", hi)
	if x := on("Welcome."); x != d4 || on("Welcome.") != d4 || on("Hello!") != a {
		t.Errorf("whose client sends the answer back in other words goes on as %q, not %q", x, d4)
	}
}

// One after the other, each conversation keeps its session.
func TestAConversationKeepsItsGuessedSession(t *testing.T) {
	l := open(t, settings())
	d := spoken[0]
	hi, why := d.user("hi"), d.user("Why?")
	var sessions []string
	for _, answer := range []string{"Hello!", "Good morning!"} {
		said := object("role", "assistant", "content", answer)
		first := guess(t, l, answer, hi)
		if second, third := guess(t, l, "Sure.", hi, said, why), guess(t, l, "Bye.", hi, said, why, object("role", "assistant", "content", "Sure."), why); second != first || third != first {
			t.Errorf("%q went on as %q and %q", first, second, third)
		}
		sessions = append(sessions, first)
	}
	if sessions[0] == sessions[1] || !strings.HasPrefix(sessions[1], sessions[0]) {
		t.Errorf("sessions %q", sessions)
	}
	if s := guess(t, l, "x", d.user("another beginning")); s == sessions[0] || strings.Contains(s, ".") {
		t.Errorf("another beginning is %q", s)
	}
}
