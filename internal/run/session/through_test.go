package session_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/store"
)

// A note is told the number of the message that it ends with, in time for what is written
// beside it, whether that message is new or not.
func TestThroughIsTheNumberOfTheLastMessage(t *testing.T) {
	b := newBench(t, session.Options{})
	first, answer, second := user("How is the port set?"), assistant("In config.yaml."), user("Thanks, and the host?")
	var told []uint64
	record := func(notes ...session.Note) (through []uint64) {
		t.Helper()
		noted := b.Record(t.Context(), notes, func(_ store.ShelfTx, noted []session.Noted) error {
			told = nil
			for _, n := range noted {
				told = append(told, n.Through)
			}
			return nil
		})
		for _, n := range noted {
			if n.Err != nil {
				t.Error(n.Err)
			}
			through = append(through, n.Through)
		}
		if !slices.Equal(told, through) {
			t.Errorf("beside it %v, afterwards %v", told, through)
		}
		return through
	}
	want := func(got []uint64, want ...uint64) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
	want(record(note("s", first), note("t", user("Hello.")), note("s", first, answer, second)), 1, 1, 3)
	want(record(note("s", first), note("s", first, answer, second), note("s", first, answer)), 1, 3, 2) // asked again
	unkept := note("s", user("Nobody's business."))
	unkept.Unkept = true
	want(record(unkept, note("s")), 0, 0)
	_, err := b.Expunge(t.Context(), session.Traces{Text: func(string) bool { return false },
		Message: func(_ string, e *session.Entry) bool { return strings.Contains(e.Message.Text, "config.yaml") }})
	if err != nil {
		t.Fatal(err)
	}
	want(record(note("s", first, answer, second), note("s", first, answer), note("s", first)), 3, 0, 1) // numbers stay, and what went has none
}

// What is said to go is what goes.
func TestHoldsIsWhatExpungeTakesOut(t *testing.T) {
	b := newBench(t, session.Options{})
	secret := func(_ string, e *session.Entry) bool { return strings.Contains(e.Message.Text, "secret") }
	traces := session.Traces{Message: secret, Text: func(text string) bool { return strings.Contains(text, "secret") }, Claims: []string{"k"}}
	b.Record(t.Context(), []session.Note{note("a", user("The secret is out."), assistant("Oh.")), note("b", user("Hello.")), note("c", user("A secret, too."))}, nil)
	if err := b.Injected(t.Context(), "b", []ken.Item{{ID: "k", Text: "something"}}); err != nil {
		t.Fatal(err)
	}
	b.step(t, "b", "the secret")
	would, err := b.Holds(t.Context(), traces)
	if err != nil || would.Messages != 2 || !slices.Equal(would.Sessions, []string{"a", "c"}) || !slices.Contains(would.Injected, "b") || !slices.Contains(would.Checkpoint, "b") {
		t.Errorf("%+v, %v", would, err)
	}
	if again, err := b.Holds(t.Context(), traces); err != nil || again.Messages != would.Messages {
		t.Errorf("looking changed something: %+v, %v", again, err)
	}
	did, err := b.Expunge(t.Context(), traces)
	if err != nil || did.Messages != would.Messages || !slices.Equal(did.Sessions, would.Sessions) {
		t.Errorf("%+v, %v", did, err)
	}
	if left, err := b.Holds(t.Context(), traces); err != nil || left.Messages+len(left.Sessions)+len(left.Injected)+len(left.Checkpoint) != 0 {
		t.Errorf("%+v, %v", left, err)
	}
}
