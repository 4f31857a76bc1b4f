package session_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/store"
	"github.com/kenlayer/ken/store/memory"
)

// counted counts the updates of a shelf.
type counted struct {
	store.Shelf
	updates atomic.Int64
}

func (c *counted) Update(ctx context.Context, fn func(store.ShelfTx) error) error {
	c.updates.Add(1)
	return c.Shelf.Update(ctx, fn)
}

func note(id string, msgs ...ken.Message) session.Note {
	return session.Note{About: session.About{ID: id}, Messages: msgs, Step: &session.Step{}}
}

// What several turns leave, with what was injected, the checkpoints, and what
// somebody else writes with it, is one transaction: one sync, and all or nothing.
func TestRecordIsOneTransaction(t *testing.T) {
	shelf := &counted{Shelf: memory.NewShelf()}
	b := &bench{shelf: shelf, clock: newClock()}
	b.restart(session.Options{Process: "one"})
	turn := note("a", user("How is the port set?"))
	turn.Injected = []ken.Item{{ID: "k", Text: "The port is 8080."}}
	turn.Step.Signals.Entities = []string{"port"}
	again := note("a", user("How is the port set?"), assistant("In config.yaml."), user("Thanks, and the host?"))
	again.Injected = turn.Injected
	noted := b.Record(t.Context(), []session.Note{turn, note("b", user("Hello there.")), note("a", assistant("In config.yaml.")), again},
		func(tx store.ShelfTx, _ []session.Noted) error { return tx.Put("beside/it", nil) })
	if n := shelf.updates.Load(); n != 1 {
		t.Errorf("%d transactions", n)
	}
	var got [][]string
	for _, n := range noted {
		if n.Err != nil {
			t.Error(n.Err)
		}
		got = append(got, texts(n.Entries))
	}
	want := [][]string{{"How is the port set?"}, {"Hello there."}, {"In config.yaml."}, {"Thanks, and the host?"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("new (-want +got):\n%s", diff)
	}
	tr := b.read(t, "a")
	if diff := cmp.Diff([]string{"How is the port set?", "In config.yaml.", "Thanks, and the host?"}, texts(tr.Entries)); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	if len(tr.Injected) != 1 || tr.Checkpoint == nil || tr.Checkpoint.Seq != 3 || !slices.Contains(tr.Checkpoint.Entities, "port") {
		t.Errorf("injected %+v, checkpoint %+v", tr.Injected, tr.Checkpoint)
	}
	if len(b.keys(t, "beside/")) != 1 {
		t.Error("what was written beside it is not there")
	}

	// The same once more is nothing new, and nothing to write.
	before := b.bytes(t)
	if noted := b.Record(t.Context(), []session.Note{again}, nil); noted[0].Err != nil || len(noted[0].Entries) != 0 {
		t.Errorf("again: %+v", noted[0])
	}
	if b.bytes(t) != before {
		t.Error("it changed the shelf")
	}
}

// A turn of which nothing can be kept costs the other turns nothing.
func TestASessionThatFailsFailsAlone(t *testing.T) {
	b := newBench(t, session.Options{})
	b.append(t, "broken", user("a"))
	err := b.shelf.Update(t.Context(), func(tx store.ShelfTx) error { return tx.Put("session/info/broken", []byte("{")) })
	if err != nil {
		t.Fatal(err)
	}
	noted := b.Record(t.Context(), []session.Note{note("good", user("a")), note("broken", user("b")), note("", user("c")), note("good", user("a"), user("d"))}, nil)
	if !errors.Is(noted[1].Err, ken.ErrCorrupt) || !errors.Is(noted[2].Err, ken.ErrInvalid) || noted[0].Err != nil || noted[3].Err != nil {
		t.Fatalf("%+v", noted)
	}
	if diff := cmp.Diff([]string{"a", "d"}, texts(b.read(t, "good").Entries)); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	if got := b.bytes(t); !strings.Contains(got, "session/info/broken\n{\n") || strings.Contains(got, `"text":"b"`) {
		t.Errorf("the broken one was written over:\n%s", got)
	}
}

// What the shelf refused is not taken for kept: it comes again with the next turn.
func TestWhatCouldNotBeKeptIsKeptLater(t *testing.T) {
	b := newBench(t, session.Options{})
	full := errors.New("the disk is full")
	b.append(t, "s", user("a"))
	noted := b.Record(t.Context(), []session.Note{note("s", user("a"), user("b")), note("t", user("x"))}, func(store.ShelfTx, []session.Noted) error { return full })
	if !errors.Is(noted[0].Err, full) || !errors.Is(noted[1].Err, full) || len(noted[0].Entries) != 0 {
		t.Fatalf("%+v", noted)
	}
	if fresh := b.append(t, "s", user("a"), user("b"), user("c")); len(fresh) != 2 || fresh[0].Seq != 2 {
		t.Errorf("kept later: %+v", fresh)
	}
	if fresh := b.append(t, "t", user("x")); len(fresh) != 1 {
		t.Errorf("kept later: %+v", fresh)
	}
	// Word for word what was said before the failure is known by its place, still.
	if fresh := b.append(t, "s", user("a"), user("b"), user("c"), user("a")); len(fresh) != 1 {
		t.Errorf("a repeated message after a failure: %+v", fresh)
	}
}

// An incognito turn is in no journal, nor is it once the client sends the whole
// conversation again in a turn that is not.
func TestUnkeptMessagesAreNeverKept(t *testing.T) {
	b := newBench(t, session.Options{Process: "one"})
	open := []ken.Message{user("What is the port?"), assistant("It is 8080.")}
	b.append(t, "s", open...)
	b.Release()
	secret := append(slices.Clone(open), user("My sister is ill."))
	n := note("s", secret...)
	n.Unkept, n.Injected = true, []ken.Item{{ID: "k", Text: "about illness"}}
	before := b.bytes(t)
	answer := note("s", assistant("I am sorry to hear that."))
	answer.Unkept = true
	for _, n := range []session.Note{n, answer} {
		if noted := b.Record(t.Context(), []session.Note{n}, nil); noted[0].Err != nil || len(noted[0].Entries) != 0 {
			t.Fatalf("%+v", noted)
		}
	}
	b.Release() // what was said between is known by nobody else
	if b.bytes(t) != before {
		t.Error("it left something on the shelf")
	}
	all := append(secret, assistant("I am sorry to hear that."), user("Back to work: which host?"))
	if fresh := b.append(t, "s", all...); len(fresh) != 1 || fresh[0].Message.Text != "Back to work: which host?" {
		t.Errorf("kept %q", texts(fresh))
	}
	if got := b.bytes(t); strings.Contains(got, "sister") || strings.Contains(got, "sorry") {
		t.Errorf("on the shelf:\n%s", got)
	}
	// A session that is incognito from its start is not there at all.
	n.About.ID = "t"
	b.Record(t.Context(), []session.Note{n}, nil)
	if _, err := b.Info(t.Context(), "t"); !errors.Is(err, ken.ErrNotFound) {
		t.Errorf("%v", err)
	}
}

// The result of a tool finds its call although both came in one transaction.
func TestAnnotateFindsACallOfTheSameRecord(t *testing.T) {
	var found []string
	b := newBench(t, session.Options{Annotate: func(_ context.Context, e *session.Entry, call *ken.ToolCall) {
		if call != nil {
			found = append(found, e.Message.ToolCallID+"="+call.Name)
		}
	}})
	b.Record(t.Context(), []session.Note{note("s", user("a"), calls("1", "read", `{}`)), note("u", calls("2", "other", `{}`)),
		note("s", user("a"), calls("1", "read", `{}`), tool("1", "x"), calls("2", "write", `{}`), tool("2", "y")), note("s", tool("3", "z"))}, nil)
	if diff := cmp.Diff([]string{"1=read", "2=write"}, found); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
}

// More sessions than are remembered, and one of more messages than are: each message
// is still kept once.
func TestForgottenMemosAreReadAgain(t *testing.T) {
	b := newBench(t, session.Options{})
	const sessions = 1100
	for round := 1; round <= 2; round++ {
		var notes []session.Note
		for i := range sessions {
			var msgs []ken.Message
			for n := range round {
				msgs = append(msgs, user(fmt.Sprintf("message %d of %d", n, i)))
			}
			notes = append(notes, note(fmt.Sprint("s", i), msgs...))
		}
		for i, n := range b.Record(t.Context(), notes, nil) {
			if n.Err != nil || len(n.Entries) != 1 {
				t.Fatalf("round %d, session %d: %+v", round, i, n)
			}
		}
	}
}
