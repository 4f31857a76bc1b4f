package session_test

import (
	"testing"
	"time"

	"github.com/kenlayer/ken/internal/run/session"
)

// A clock that was years ahead and is set right again: entries stay in order, and
// the session still ends when it is idle.
func TestTimeDoesNotGoBackwardsInASession(t *testing.T) {
	b := newBench(t, session.Options{})
	b.append(t, "s", user("a"))
	b.clock.pass(3 * 365 * 24 * time.Hour)
	b.append(t, "s", user("a"), user("b"))
	b.clock.pass(-3 * 365 * 24 * time.Hour)
	b.restart(session.Options{})
	b.append(t, "s", user("a"), user("b"), user("c"))
	entries := b.read(t, "s").Entries
	for i := 1; i < len(entries); i++ {
		if entries[i].At.Before(entries[i-1].At) {
			t.Errorf("entry %d is of %v, the one before it of %v", i, entries[i].At, entries[i-1].At)
		}
	}
	if got := b.info(t, "s").Active; !got.Equal(monday) {
		t.Errorf("active at %v, want the time that the clock has now", got)
	}
}

func TestIdleAfterTheClockWasSetBack(t *testing.T) {
	b := newBench(t, session.Options{})
	b.clock.pass(365 * 24 * time.Hour)
	b.append(t, "s", user("a"))
	b.clock.pass(-365 * 24 * time.Hour)
	for _, want := range []int{0, 0, 1} {
		ids, err := b.EndIdle(t.Context(), 30*time.Minute)
		if len(ids) != want || err != nil {
			t.Fatalf("at %v ended %d, %v; want %d", b.clock.now(), len(ids), err, want)
		}
		b.clock.pass(15 * time.Minute)
	}
}

func TestGraceAfterTheClockWasSetBack(t *testing.T) {
	b := newBench(t, session.Options{})
	b.append(t, "s", user("a"))
	b.end(t, "s", session.Closed)
	b.clock.pass(365 * 24 * time.Hour)
	if err := b.Harvested(t.Context(), "s", 1, session.Outcome{}); err != nil {
		t.Fatal(err)
	}
	b.clock.pass(-365 * 24 * time.Hour)
	for _, want := range []int{0, 0, 1} {
		n, err := b.Sweep(t.Context(), 30*time.Minute)
		if n != want || err != nil {
			t.Fatalf("at %v swept %d, %v; want %d", b.clock.now(), n, err, want)
		}
		b.clock.pass(15 * time.Minute)
	}
}

// A clock that leaps ahead ends what was open; whoever goes on loses nothing.
func TestAClockThatLeapsAhead(t *testing.T) {
	b := newBench(t, session.Options{})
	b.append(t, "s", user("a"))
	b.clock.pass(100 * 365 * 24 * time.Hour)
	if ids, err := b.EndIdle(t.Context(), time.Hour); len(ids) != 1 || err != nil {
		t.Fatalf("ended %v, %v", ids, err)
	}
	b.clock.pass(-100 * 365 * 24 * time.Hour)
	b.append(t, "s", user("a"), user("b"))
	if info := b.info(t, "s"); info.State != session.Open || info.Part != 1 || info.Messages != 2 {
		t.Errorf("%+v", info)
	}
}
