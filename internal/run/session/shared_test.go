package session_test

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/store"
)

// living is for Options.Alive: these processes live.
func living(processes ...string) func(string) bool {
	return func(p string) bool { return slices.Contains(processes, p) }
}

// A session of another process is that one's business for as long as it lives.
func TestEndIdleLeavesTheLivingAlone(t *testing.T) {
	b := newBench(t, session.Options{Process: "dead"})
	b.append(t, "left", user("a"))
	b.restart(session.Options{Process: "other"})
	b.append(t, "theirs", user("a"))
	b.append(t, "shared", user("a"))
	b.restart(session.Options{Process: "dead"})
	b.append(t, "both", user("a"))
	b.restart(session.Options{Process: "other"})
	b.append(t, "both", user("a"), user("b"))
	b.restart(session.Options{Process: "me", Alive: living("me", "other")})
	b.append(t, "shared", user("a"), user("b"))
	b.append(t, "mine", user("a"))
	end := func(want ...string) {
		t.Helper()
		ids, err := b.EndIdle(t.Context(), 30*time.Minute)
		if diff := cmp.Diff(want, ids); diff != "" || err != nil {
			t.Errorf("ended (-want +got), %v:\n%s", err, diff)
		}
	}
	end("left")
	b.clock.pass(29 * time.Minute)
	end()
	b.clock.pass(time.Minute)
	end("mine", "shared")
	b.clock.pass(29 * time.Minute)
	end()
	b.clock.pass(time.Minute) // whoever has them had its time
	end("both", "theirs")
	for id, want := range map[string]session.Reason{"left": session.Died, "mine": session.Idle, "theirs": session.Idle} {
		if got := b.info(t, id).Reason; got != want {
			t.Errorf("%s ended as %s, want %s", id, got, want)
		}
	}
}

// A process that shuts down ends what it alone had. The other one of a shared
// session goes on with it, and ends it in its turn.
func TestAProcessDoesNotEndWhatAnotherSharesWithIt(t *testing.T) {
	b := newBench(t, session.Options{})
	process := func(name string) *session.Journal {
		return session.NewJournal(b.shelf, session.Options{Process: name, Alive: living("one", "two"), Now: b.clock.now})
	}
	one, two := process("one"), process("two")
	say := func(j *session.Journal, id string, msgs ...ken.Message) {
		t.Helper()
		if _, err := j.Append(t.Context(), session.About{ID: id}, msgs); err != nil {
			t.Fatal(err)
		}
	}
	say(one, "shared", user("a"))
	say(two, "shared", user("a"), user("b"))
	say(two, "own", user("x"))
	ids, err := two.EndAll(t.Context(), session.Shutdown)
	if diff := cmp.Diff([]string{"own"}, ids); diff != "" || err != nil {
		t.Errorf("two ended (-want +got), %v:\n%s", err, diff)
	}
	if info := b.info(t, "shared"); info.State != session.Open || info.Process != "one" {
		t.Errorf("%+v", info)
	}
	say(one, "shared", user("a"), user("b"), user("c"))
	ids, err = one.EndAll(t.Context(), session.Shutdown)
	if diff := cmp.Diff([]string{"shared"}, ids); diff != "" || err != nil {
		t.Errorf("one ended (-want +got), %v:\n%s", err, diff)
	}
	if got := jobsOf(t, b); len(got) != 2 {
		t.Errorf("jobs: %+v", got)
	}
}

// Two processes with one session take turns in a conversation: nobody reads it from
// its start for what the other added, and no word is lost or doubled.
func TestTwoProcessesTakeTurnsInOneSession(t *testing.T) {
	s, err := bolt.Open(t.Context(), filepath.Join(t.TempDir(), "o"), bolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	shelf := &scanned{Shelf: s.Shelf()}
	journals := []*session.Journal{
		session.NewJournal(shelf, session.Options{Process: "one", Alive: living("one", "two")}),
		session.NewJournal(shelf, session.Options{Process: "two", Alive: living("one", "two")}),
	}
	var all []ken.Message
	var want []string
	for i := range 40 {
		text := fmt.Sprintf("message %d", i%7) // the same words come again
		all, want = append(all, user(text)), append(want, text)
		fresh, err := journals[i%2].Append(t.Context(), session.About{ID: "s"}, all)
		if err != nil || len(fresh) != 1 {
			t.Fatalf("turn %d: %d new, %v", i, len(fresh), err)
		}
	}
	tr, err := journals[0].Read(t.Context(), "s")
	if diff := cmp.Diff(want, texts(tr.Entries)); diff != "" || err != nil {
		t.Errorf("kept (-want +got), %v:\n%s", err, diff)
	}
	if n := shelf.messages; n > 4 { // its first turn, each, and Read
		t.Errorf("the messages were scanned %d times in 40 turns", n)
	}
}

// scanned counts the scans of messages.
type scanned struct {
	store.Shelf
	mu       sync.Mutex // guards messages
	messages int
}

func (s *scanned) View(ctx context.Context, fn func(store.ShelfReader) error) error {
	return s.Shelf.View(ctx, func(r store.ShelfReader) error { return fn(&scanning{r, s}) })
}

type scanning struct {
	store.ShelfReader
	s *scanned
}

func (r *scanning) Scan(prefix string) iter.Seq2[string, []byte] {
	if len(prefix) > 16 && prefix[:16] == "session/message/" {
		r.s.mu.Lock()
		r.s.messages++
		r.s.mu.Unlock()
	}
	return r.ShelfReader.Scan(prefix)
}

// Two processes get the same turns at the same time, as when a client retries with
// another gateway, on a shelf that runs functions twice.
func TestTwoProcessesWithOneSessionAtOnce(t *testing.T) {
	b := newBench(t, session.Options{Process: "one", Alive: living("one", "two")})
	other := session.NewJournal(b.shelf, session.Options{Process: "two", Alive: living("one", "two"), Now: b.clock.now})
	var all []ken.Message
	var want []string
	for i := range 60 {
		want = append(want, fmt.Sprintf("message %d", i))
		all = append(all, user(want[i]))
	}
	var wg sync.WaitGroup
	for _, j := range []*session.Journal{b.Journal, other} {
		wg.Go(func() {
			for n := 1; n <= len(all); n++ {
				notes := []session.Note{note("s", all[:n]...)}
				if n%3 == 0 { // with another session in the same record
					notes = append(notes, note("t", all[:n]...))
				}
				for _, noted := range j.Record(context.Background(), notes, nil) {
					if noted.Err != nil {
						t.Error(noted.Err)
					}
				}
				if n%10 == 0 {
					if _, err := j.EndIdle(context.Background(), time.Hour); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	for _, id := range []string{"s", "t"} {
		tr := b.read(t, id)
		if diff := cmp.Diff(want, texts(tr.Entries)); diff != "" {
			t.Errorf("%s: kept (-want +got):\n%s", id, diff)
		}
		if tr.Info.State != session.Open {
			t.Errorf("%s is %s", id, tr.Info.State)
		}
	}
}

// However busy another process is with the session, each record gets its turn, with
// what was found out about its messages, and what the other one kept is not new.
func TestAnotherProcessIsAlwaysFaster(t *testing.T) {
	var other *session.Journal
	n := 0
	b := newBench(t, session.Options{Process: "one", Alive: living("one", "two"), Annotate: func(ctx context.Context, e *session.Entry, _ *ken.ToolCall) {
		e.Files = map[string]string{e.Message.Text + ".go": "1"}
		if n++; n > 40 {
			t.Fatal("it is looked at again and again")
		}
		both := user("both 1")
		if _, err := other.Append(ctx, session.About{ID: "s"}, []ken.Message{both, user(fmt.Sprintf("two's %d", n))}); err != nil {
			t.Error(err)
		}
	}})
	other = session.NewJournal(b.shelf, session.Options{Process: "two", Alive: living("one", "two"), Now: b.clock.now})
	got := b.append(t, "s", user("one's 1"), user("both 1"), user("one's 2"))
	if diff := cmp.Diff([]string{"one's 1", "one's 2"}, texts(got)); diff != "" {
		t.Errorf("new (-want +got):\n%s", diff)
	}
	tr := b.read(t, "s")
	if diff := cmp.Diff([]string{"both 1", "two's 1", "two's 2", "two's 3", "one's 1", "one's 2"}, texts(tr.Entries)); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	for _, e := range tr.Entries[4:] {
		if e.Files[e.Message.Text+".go"] != "1" {
			t.Errorf("%s has lost its files: %v", e.Message.Text, e.Files)
		}
	}
}

// A process that only repeats what another one kept is at the session all the same.
func TestAProcessThatSaysNothingNewIsAtTheSession(t *testing.T) {
	b := newBench(t, session.Options{Process: "one", Alive: living("one", "two")})
	b.append(t, "s", user("a"))
	other := session.NewJournal(b.shelf, session.Options{Process: "two", Alive: living("one", "two"), Now: b.clock.now})
	if fresh, err := other.Append(t.Context(), session.About{ID: "s"}, []ken.Message{user("a")}); len(fresh) != 0 || err != nil {
		t.Fatalf("%+v, %v", fresh, err)
	}
	if ids, err := b.EndAll(t.Context(), session.Shutdown); len(ids) != 0 || err != nil {
		t.Errorf("ended %v, %v", ids, err)
	}
	if ids, err := other.EndAll(t.Context(), session.Shutdown); len(ids) != 1 || err != nil {
		t.Errorf("ended %v, %v", ids, err)
	}
}
