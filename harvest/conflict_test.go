package harvest_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/store/memory"
)

// attention returns the items that people are asked to look at.
func (r *rig) attention(t testing.TB) []attention.Item {
	t.Helper()
	items, err := attention.List(context.Background(), r.store.(memory.Store), r.store.Shelf(), attention.Options{Now: r.clock.now()})
	if err != nil {
		t.Fatal(err)
	}
	return items
}

// A session that contradicts a verified claim is recorded, but changes nothing.
func TestContradictingWhatAPersonVerified(t *testing.T) {
	r := newRig(t)
	c := r.writeClaim(t, "The retry limit of the gateway is 3.")
	err := r.store.Transition(t.Context(), ken.Transition{ID: c.ID, To: ken.StatusVerified, Evidence: []ken.Evidence{ken.FromHumanAssertion("ada", monday, "checked")}})
	if err != nil {
		t.Fatal(err)
	}
	r.say(t, "s1", user("The retry limit of the gateway is 5."), assistant("Noted."))
	out := r.end(t, "s1")
	old, err := r.store.Get(t.Context(), c.ID)
	if err != nil || old.Status != ken.StatusVerified {
		t.Errorf("the verified claim is %s, %v", old.Status, err)
	}
	next := r.find(t, "is 5")
	if next.Status != ken.StatusDisputed || !slices.Contains(out.Disputed, next.ID) {
		t.Errorf("the new claim is %s; %+v", next.Status, out)
	}
	items := r.attention(t)
	if len(items) != 1 || !slices.Contains(items[0].Claims, next.ID) {
		t.Errorf("attention %+v", items)
	}
}

// A user's later statement replaces an earlier one of the same trust, and the log says
// which and why.
func TestAnUpdateSupersedes(t *testing.T) {
	r := newRig(t)
	r.say(t, "s1", user("The staging database is pg-stage-1."), assistant("Noted."))
	r.end(t, "s1")
	r.clock.pass(24 * time.Hour)
	r.say(t, "s2", user("The staging database is now pg-stage-2."), assistant("Noted."))
	out := r.end(t, "s2")
	old, next := r.find(t, "is pg-stage-1"), r.find(t, "is now pg-stage-2. (was pg-stage-1 until 19 May 2026)")
	if old.Status != ken.StatusSuperseded || old.SupersededBy != next.ID || next.Supersedes != old.ID || !slices.Equal(out.Superseded, []string{old.ID}) {
		t.Errorf("old %s by %q, new %s; %+v", old.Status, old.SupersededBy, next.ID, out)
	}
	events, err := r.store.History(t.Context(), old.ID)
	if err != nil {
		t.Fatal(err)
	}
	if last := events[len(events)-1]; last.Type != ken.EventSuperseded || last.Reason == "" {
		t.Errorf("the log says %+v", last)
	}
}

// The newest finding about a file wins, whichever session is harvested first. A finding
// that a person rejected is not stored again in the same words.
func TestFindingsOfSeveralSessions(t *testing.T) {
	edit := func(id, text string) []ken.Message {
		return []ken.Message{user("Change the export of the billing service, please."), calls(id, "Write", `{"file_path": "billing/export.go", "content": "`+text+`"}`),
			tool(id, "File created successfully at: billing/export.go"), assistant("Done.")}
	}
	r := newRig(t)
	r.say(t, "s1", edit("a", `package billing\n\nfunc ExportRows() {}\n`)...)
	r.clock.pass(24 * time.Hour)
	r.say(t, "s2", edit("b", `package billing\n\nfunc StreamRows() {}\n`)...)
	r.end(t, "s2")
	if out := r.end(t, "s1"); out.Dropped["older than what is known"] == 0 {
		t.Errorf("%+v", out)
	}
	change := r.kind(t, ken.KindFinding)
	if len(change) != 1 || change[0].Session != "s2" {
		t.Fatalf("findings%s", texts(change))
	}
	r.clock.pass(24 * time.Hour)
	r.say(t, "s3", edit("c", `package billing\n\nfunc CopyRows() {}\n`)...)
	r.end(t, "s3")
	if change = r.kind(t, ken.KindFinding); len(change) != 1 || change[0].Session != "s3" {
		t.Fatalf("a newer finding does not replace an older one:%s", texts(change))
	}
	if err := r.store.Transition(t.Context(), ken.Transition{ID: change[0].ID, To: ken.StatusDisputed, Reason: "wrong"}); err != nil {
		t.Fatal(err)
	}
	r.clock.pass(24 * time.Hour)
	r.say(t, "s4", edit("d", `package billing\n\nfunc CopyRows() {}\n`)...)
	if out := r.end(t, "s4"); out.Dropped["rejected before"] == 0 {
		t.Errorf("%+v", out)
	}
	if got := r.kind(t, ken.KindFinding)[0]; got.Status != ken.StatusDisputed {
		t.Errorf("a refused finding is %s again", got.Status)
	}
}

// A rejected candidate stays rejected, and an approved one is reinforced.
func TestPatternsThatPeopleDecidedAbout(t *testing.T) {
	r := newRig(t)
	r.say(t, "s1", coding()...)
	r.end(t, "s1")
	bad, good := r.find(t, "fails repeatedly: make lint"), r.find(t, "succeeds: go test")
	for id, to := range map[string]ken.Status{bad.ID: ken.StatusDisputed, good.ID: ken.StatusObserved} {
		err := r.store.Transition(t.Context(), ken.Transition{ID: id, To: to, Reason: "review", Evidence: []ken.Evidence{ken.FromHumanAssertion("ada", monday, "review")}})
		if err != nil {
			t.Fatal(err)
		}
	}
	r.clock.pass(24 * time.Hour)
	r.say(t, "s2", coding()...)
	out := r.end(t, "s2")
	bad, good = r.find(t, "fails repeatedly: make lint"), r.find(t, "succeeds: go test")
	if bad.Status != ken.StatusDisputed || bad.Reinforcements != 0 || out.Dropped["rejected before"] != 1 {
		t.Errorf("rejected: %s, %d times; %+v", bad.Status, bad.Reinforcements, out)
	}
	if good.Status != ken.StatusObserved || good.Reinforcements != 1 {
		t.Errorf("approved: %s, %d times", good.Status, good.Reinforcements)
	}
}
