package harvest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
)

// The digest of an old session stays one claim, and does not contain a value that a later
// session replaced.
func TestADigestDoesNotTellWhatWasReplaced(t *testing.T) {
	r := newRig(t)
	r.say(t, "s1", user("The nightly export is written in Go. The staging database is pg-stage-1. The workers listen on port 9000."), assistant("Noted, I changed nothing."))
	before := r.end(t, "s1")
	if e, err := r.store.Get(t.Context(), before.Episode); err != nil || !strings.Contains(e.Text, "pg-stage-1") {
		t.Fatalf("the digest: %q, %v", e.Text, err)
	}
	r.clock.pass(24 * time.Hour)
	r.say(t, "s2", user("The staging database is now pg-stage-2."), assistant("Noted."))
	if out := r.end(t, "s2"); len(out.Superseded) != 1 {
		t.Fatalf("%+v", out)
	}
	said := 0
	for _, c := range r.kind(t, ken.KindEpisode) {
		if c.Session != "s1" || c.Status == ken.StatusSuperseded {
			continue
		}
		if said++; strings.Contains(c.Text, "pg-stage-1") || !strings.Contains(c.Text, "9000") {
			t.Errorf("the digest says %q", c.Text)
		}
	}
	if said != 1 {
		t.Errorf("%d digests of the session", said)
	}
}

// "Not any more" replaces what a person was, and who left is no longer what was said of them.
func TestWhatSomebodyIsNoMoreReplacesWhatTheyWere(t *testing.T) {
	for _, tt := range []struct{ old, said, want string }{
		{"I'm vegetarian.", "I'm not vegetarian any more.", "(until 20 May 2026: I'm vegetarian)"},
		{"I'm single.", "I'm no longer single.", "(until 20 May 2026: I'm single)"},
		{"Bob owns the billing service.", "Bob left the company.", "(perhaps until 20 May 2026, now Bob left the company)"},
	} {
		r := newRig(t)
		r.say(t, "s1", user(tt.old), assistant("OK."))
		r.end(t, "s1")
		r.clock.pass(48 * time.Hour)
		r.say(t, "s2", user(tt.said), assistant("OK."))
		r.end(t, "s2")
		if got := texts(r.kind(t, ken.KindFact)); !strings.Contains(got, tt.want) {
			t.Errorf("%q: %s", tt.said, got)
		}
	}
}

// What a person disputed stays out of the digest when the session goes on and is harvested again.
func TestADigestDoesNotTellAgainWhatAPersonDisputed(t *testing.T) {
	r := newRig(t)
	r.say(t, "s1", user("The nightly export is written in Go. The workers listen on port 9000. The staging database is pg-stage-1."), assistant("Noted."))
	r.end(t, "s1")
	c := r.find(t, "workers listen")
	if err := r.store.Transition(t.Context(), ken.Transition{ID: c.ID, To: ken.StatusDisputed, Reason: "it is 9100", Actor: ken.Actor{Type: "user", ID: "ada"}}); err != nil {
		t.Fatal(err)
	}
	r.say(t, "s1", user("The reports are sent by Mailgun."), assistant("Noted."))
	out := r.end(t, "s1")
	e, err := r.store.Get(t.Context(), out.Episode)
	if err == nil { // the newest version
		e, err = r.store.ByKey(t.Context(), e.Key)
	}
	if err != nil || strings.Contains(e.Text, "9000") || !strings.Contains(e.Text, "pg-stage-1") {
		t.Errorf("the digest says %q, %v", e.Text, err)
	}
}
