package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/store/forgotten"
	"github.com/kenlayer/ken/store"
)

const gate = "The harbour gate opens at six in the morning on weekdays."

func blockAt(place, turn string) *session.Block {
	return &session.Block{Place: place, Turn: turn, At: monday, Text: "[block]\n" + gate + "\n", Mode: ken.ModeHybrid,
		Items: []session.BlockItem{{ID: "claim-1", Kind: ken.KindFact, Trust: ken.TrustAgent, Hash: 7, Stored: true}}}
}

// note journals a turn that was given a block.
func (b *bench) note(t testing.TB, id string, block *session.Block, text string) session.Noted {
	t.Helper()
	n := session.Note{About: session.About{ID: id}, Block: block, Messages: []ken.Message{{Role: "user", Text: "about " + block.Turn}},
		Injected: []ken.Item{{ID: "claim-1", Kind: ken.KindFact, Text: text}}}
	got := b.Record(t.Context(), []session.Note{n}, nil)[0]
	if got.Err != nil {
		t.Fatal(got.Err)
	}
	return got
}

func (b *bench) blocks(t testing.TB, id string, places ...string) []session.Block {
	t.Helper()
	got, err := b.Blocks(t.Context(), id, places)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(got, func(x, y session.Block) int { return strings.Compare(x.Place, y.Place) })
	return got
}

// The first block at a place stands; who comes later is told.
func TestTheFirstBlockAtAPlaceStands(t *testing.T) {
	j := newBench(t, session.Options{})
	var places []string
	for i := range 20 {
		places = append(places, fmt.Sprintf("%02x", i))
		if n := j.note(t, "s", blockAt(places[i], fmt.Sprint("turn ", i)), gate); n.Standing != nil {
			t.Errorf("something stands at %s already: %+v", places[i], n.Standing)
		}
	}
	second := blockAt("03", "another turn")
	second.Text = "other bytes"
	if n := j.note(t, "s", second, gate); n.Standing == nil || n.Standing.Turn != "turn 3" || n.Standing.Place != "03" {
		t.Errorf("the second is told of %+v", n.Standing)
	}
	if n := j.note(t, "s", blockAt("04", "turn 4"), gate); n.Standing != nil {
		t.Errorf("a turn's own block is told of as another's: %+v", n.Standing)
	}
	if got := j.blocks(t, "s", "03", "nowhere"); cmp.Diff([]session.Block{*blockAt("03", "turn 3")}, got) != "" {
		t.Errorf("one by one: %+v", got)
	}
	if got := j.blocks(t, "s", places...); len(got) != 20 || cmp.Diff(*blockAt("13", "turn 19"), got[19]) != "" {
		t.Errorf("all at once: %d, %+v", len(got), got)
	}
	if got := j.blocks(t, "other", places...); len(got) != 0 {
		t.Errorf("another session has %+v", got)
	}
}

// Five minutes later, and at once where the turn was given none, the same words are a new
// question.
func TestABlockStandsForARetry(t *testing.T) {
	for _, c := range []struct {
		after time.Duration
		text  string
		want  string
	}{{time.Minute, "[block] one", "turn 1"}, {time.Minute, "", "turn 2"}, {6 * time.Minute, "[block] one", "turn 2"},
		{-48 * time.Hour, "[block] one", "turn 2"}} /* by a clock that is two days behind */ {
		j := newBench(t, session.Options{})
		one, two := blockAt("01", "turn 1"), blockAt("01", "turn 2")
		one.Text, two.At = c.text, one.At.Add(c.after)
		j.note(t, "s", one, gate)
		j.note(t, "s", two, gate)
		if got := j.blocks(t, "s", "01"); len(got) != 1 || got[0].Turn != c.want {
			t.Errorf("%s after %q: %+v", c.after, c.text, got)
		}
	}
}

// A block goes with what it tells, with its session's messages, and with the session.
func TestBlocksGo(t *testing.T) {
	for name, gone := range map[string]func(j *bench) error{
		"claim": func(j *bench) error {
			_, err := j.Expunge(context.Background(), traces(func(string) bool { return false }, "claim-1"))
			return err
		},
		"text": func(j *bench) error {
			_, err := j.Expunge(context.Background(), traces(func(s string) bool { return strings.Contains(s, gate) }))
			return err
		},
		"session": func(j *bench) error { return j.Forget(context.Background(), "s") },
	} {
		t.Run(name, func(t *testing.T) {
			j := newBench(t, session.Options{})
			j.note(t, "s", blockAt("01", "turn 1"), gate)
			if err := gone(j); err != nil {
				t.Fatal(err)
			}
			if got := j.blocks(t, "s", "01"); len(got) != 0 {
				t.Errorf("left: %+v", got)
			}
		})
	}
}

func traces(text func(string) bool, claims ...string) session.Traces {
	return session.Traces{Message: func(string, *session.Entry) bool { return false }, Text: text, Claims: claims}
}

// What was forgotten comes back in no block that was composed before.
func TestTheShelfRefusesABlockOfWhatWasForgotten(t *testing.T) {
	j := newBench(t, session.Options{})
	err := j.shelf.Update(t.Context(), func(tx store.ShelfTx) error { return forgotten.Mark(tx, "claim-1") })
	if err != nil {
		t.Fatal(err)
	}
	j.note(t, "s", blockAt("01", "turn 1"), gate)
	if got := j.blocks(t, "s", "01"); len(got) != 0 {
		t.Errorf("it is back: %+v", got)
	}
}

// A block with a secret in it is not kept.
func TestABlockWithASecretIsNotKept(t *testing.T) {
	j := newBench(t, session.Options{})
	j.note(t, "s", blockAt("01", "turn 1"), "The key is AKIA"+"Q3EGRIU7MLZ2XWNP, for the harbour.")
	j.note(t, "s", blockAt("02", "turn 2"), "Our parser strips <think> tags before it saves.\n")
	if got := j.blocks(t, "s", "01", "02"); len(got) != 1 || got[0].Place != "02" {
		t.Errorf("kept: %+v", got)
	}
}

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
