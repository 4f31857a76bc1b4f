package session_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/store"
)

func first(exact string) session.First { return session.First{Exact: exact} }

// Conversations that begin alike have numbers by which they go on, also when what is known
// of them was kept and read again.
func TestOpeningTellsConversationsApart(t *testing.T) {
	var o session.Opening
	again := func() {
		b, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		o = session.Opening{}
		if err := json.Unmarshal(b, &o); err != nil {
			t.Fatal(err)
		}
	}
	for want := range 3 {
		if n := o.Begin(); n != want {
			t.Errorf("conversation %d begins as %d", want, n)
		}
		if n := o.Begin(); n != want {
			t.Errorf("conversation %d, sent again before it is answered, is %d", want, n)
		}
		if n := o.Answer(want, first(fmt.Sprint("answer ", want))); n != want {
			t.Errorf("conversation %d is answered as %d", want, n)
		}
		again()
	}
	for _, n := range []int{1, 0, 2, 1} {
		if got := o.Continue(first(fmt.Sprint("answer ", n))); got != n {
			t.Errorf("conversation %d goes on as %d", n, got)
		}
		again()
	}
	if n := o.Answer(2, first("another answer under the same number")); n != 3 {
		t.Errorf("a second answer under a number is conversation %d", n)
	}
	if n := o.Continue(first("the same in other words")); n != 3 {
		t.Errorf("an answer that comes back in other words is conversation %d, not the one that did not go on yet", n)
	}
	if n := o.Continue(first("nobody knows")); n != 4 {
		t.Errorf("what nobody knows is conversation %d", n)
	}
}

// Equal first steps, such as the same call of a tool, are told apart by the ids of the
// calls, where the client sends them back.
func TestOpeningKnowsAnswersByTheirIDs(t *testing.T) {
	var o session.Opening
	for i := range 3 {
		o.Answer(o.Begin(), session.First{Exact: fmt.Sprint("call ", i), Loose: "call"})
	}
	for i := range 3 {
		if n := o.Continue(session.First{Exact: fmt.Sprint("call ", i), Loose: "call"}); n != i {
			t.Errorf("conversation %d goes on as %d", i, n)
		}
	}
	if n := o.Continue(session.First{Exact: "call with another id", Loose: "call"}); n != 0 {
		t.Errorf("a client that changes ids goes on as %d", n)
	}
}

// What two processes know of the same beginnings comes together.
func TestOpeningMerges(t *testing.T) {
	var mine, kept session.Opening
	mine.Answer(mine.Begin(), first("a"))
	kept.Answer(kept.Begin(), first("b"))
	kept.Answer(kept.Begin(), first("c"))
	mine.Merge(&kept)
	if n := mine.Begin(); n != 2 {
		t.Errorf("the next conversation begins as %d", n)
	}
	for answer, want := range map[string]int{"b": 0, "c": 1} {
		if n := mine.Continue(first(answer)); n != want {
			t.Errorf("%q goes on as %d", answer, n)
		}
	}
}

// Openings and responses are on the shelf for as long as somebody uses them.
func TestOpeningsAreKeptAndGo(t *testing.T) {
	j := newBench(t, session.Options{})
	err := j.shelf.Update(t.Context(), func(tx store.ShelfTx) error {
		if err := j.ChangeOpening(tx, "auto-1", func(o *session.Opening) { o.Answer(o.Begin(), first("a")) }); err != nil {
			return err
		}
		return j.KeepResponse(tx, "resp_1", "s")
	})
	if err != nil {
		t.Fatal(err)
	}
	look := func() (session.Opening, string) {
		o, err := j.Opening(t.Context(), "auto-1")
		if err != nil {
			t.Fatal(err)
		}
		s, err := j.SessionOfResponse(t.Context(), "resp_1")
		if err != nil {
			t.Fatal(err)
		}
		return o, s
	}
	o, s := look()
	if want := (session.Opening{At: monday, Answered: true, Replies: map[string]*session.Reply{"a": {}}}); cmp.Diff(want, o) != "" || s != "s" {
		t.Errorf("session %q, opening (-want +got):\n%s", s, cmp.Diff(want, o))
	}
	for _, hours := range []int{1, 25} {
		j.clock.pass(time.Duration(hours) * time.Hour)
		if _, err := j.Sweep(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		o, s := look()
		if gone := len(o.Replies) == 0 && s == ""; gone != (hours == 25) {
			t.Errorf("after %d hours: session %q, opening %+v", hours, s, o)
		}
	}
}
