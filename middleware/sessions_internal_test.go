package middleware

import (
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/session"
)

// An owner's store is opened when there is something to do for it: not while its sessions go on.
func TestWhenSessionsAreChecked(t *testing.T) {
	l := openBare(t)
	at := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	l.now = func() time.Time { return at }
	const owner = "ada"
	due := func() time.Time {
		l.sessionsMu.Lock()
		defer l.sessionsMu.Unlock()
		return l.sessions[owner].due
	}
	say := func(id string) {
		l.recordAnswer(&ken.Turn{Owner: owner, Session: id}, 0, "", func() (ken.Message, bool) { return ken.Message{Text: "The port is 8080."}, true })
		if err := l.recorder.flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	idle := l.cfg.Session.Idle
	begun := at
	say("s1")
	if want := begun.Add(idle); !due().Equal(want) {
		t.Errorf("after a message it is checked at %v, want %v", due(), want)
	}
	at = at.Add(idle / 2)
	say("s2")
	if want := begun.Add(idle); !due().Equal(want) {
		t.Errorf("a second session puts the check off to %v, want %v", due(), want)
	}
	at = begun.Add(idle)
	l.checkSessions(t.Context(), owner)
	if want := begun.Add(idle / 2).Add(idle); !due().Equal(want) {
		t.Errorf("when one is over, the next check is at %v, want %v", due(), want)
	}
	at = at.Add(idle)
	l.checkSessions(t.Context(), owner)
	if !due().IsZero() {
		t.Errorf("when both are over, it is checked at %v", due())
	}
	d := l.sessionsOf(owner)
	if _, _, err := d.queue.Add(t.Context(), jobs.New{Kind: session.JobHarvest, Key: "k", After: at.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if next, err := l.nextCheck(t.Context(), d); err != nil || !next.Equal(at) {
		t.Errorf("with a job it is checked at %v, %v", next, err)
	}
}
