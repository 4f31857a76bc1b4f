package harvest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/session"
)

// seq returns the number of events in the log.
func (r *rig) seq(t testing.TB) int {
	t.Helper()
	n := 0
	for _, c := range r.all(t) {
		events, err := r.store.History(t.Context(), c.ID)
		if err != nil {
			t.Fatal(err)
		}
		n += len(events)
	}
	return n
}

// sameOutcome ignores Dropped: of two equal statements, a first run drops the second,
// and a second run drops both.
var sameOutcome = cmp.Options{cmpopts.IgnoreFields(session.Outcome{}, "Dropped"), cmpopts.EquateEmpty()}

// Harvesting again in any way changes nothing and has the same outcome.
func TestHarvestingAgainChangesNothing(t *testing.T) {
	r := newRig(t)
	r.say(t, "s0", user("We decided to keep Oracle for the billing service."), assistant("Noted."), bash("x1", "make lint"), tool("x1", "Error 1\nexit code: 2"),
		bash("x2", "make lint"), tool("x2", "Error 1\nexit code: 2"), user("The staging database is pg-stage-1."), assistant("Fine."))
	r.end(t, "s0")
	r.say(t, "s1", coding()...)
	first := r.end(t, "s1")
	before, n := state(t, r.store), r.seq(t)
	check := func(how string) {
		t.Helper()
		if d := cmp.Diff(before, state(t, r.store)); d != "" {
			t.Errorf("%s changed the store (-before +after):\n%s", how, d)
		}
		if got := r.seq(t); got != n {
			t.Errorf("%s: %d events, were %d", how, got, n)
		}
	}
	r.clock.pass(time.Hour)
	out, err := r.Reharvest(t.Context(), "s1", nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(first, out, sameOutcome); d != "" {
		t.Errorf("the second outcome (-first +second):\n%s", d)
	}
	check("Again")
	tr, err := r.journal.Read(t.Context(), "s1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Harvest(t.Context(), &tr, nil); err != nil {
		t.Fatal(err)
	}
	check("Harvest")
	list, err := r.queue.List(t.Context(), jobs.Done)
	if err != nil || len(list) != 2 {
		t.Fatalf("%d jobs, %v", len(list), err)
	}
	for _, j := range list { // a job that is run although it is done
		if note, err := r.Handle(t.Context(), j, nil); err != nil || note != "harvested already" {
			t.Errorf("%q, %v", note, err)
		}
	}
	check("the job")
	// The older session once more, after the newer one.
	if _, err := r.Reharvest(t.Context(), "s0", nil); err != nil {
		t.Fatal(err)
	}
	check("the older session")
}

// A session that goes on after its harvest is harvested again: the episode gets a new
// version, new facts are learned, and no fact is stored twice.
func TestASessionThatGoesOn(t *testing.T) {
	r := newRig(t)
	r.say(t, "s1", coding()...)
	first := r.end(t, "s1")
	r.clock.pass(time.Hour)
	r.say(t, "s1", user("One more thing: the release manager is Priya."), assistant("Noted."), user("I prefer tabs over spaces in SQL files."), assistant("Yes."))
	second := r.end(t, "s1")
	if second.Episode != first.Episode {
		t.Errorf("another episode: %s, was %s", second.Episode, first.Episode)
	}
	if got := r.kind(t, ken.KindEpisode); len(got) != 1 || !strings.Contains(got[0].Text, "Priya") || !strings.Contains(got[0].Heading, "nightly export") {
		t.Errorf("episodes %s", texts(got))
	}
	r.find(t, "tabs over spaces") // once
	if got := r.find(t, "Priya"); got.Session != "s1" {
		t.Errorf("%+v", got)
	}
	for _, id := range first.Learned {
		if !strings.Contains(strings.Join(second.Learned, " "), id) {
			t.Errorf("the outcome of the whole lacks %s", id)
		}
	}
	for _, c := range r.all(t) {
		if c.Reinforcements != 0 {
			t.Errorf("%s was reinforced %d times by its own session", c.Text, c.Reinforcements)
		}
	}
}

// A session that goes on after its messages were swept begins a new part, with its own
// episode and without what the first part said.
func TestASessionThatGoesOnAfterTheSweep(t *testing.T) {
	r := newRig(t)
	r.say(t, "s1", coding()...)
	first := r.end(t, "s1")
	if n, err := r.journal.Sweep(t.Context(), 0); n != 1 || err != nil {
		t.Fatalf("swept %d, %v", n, err)
	}
	if _, err := r.Reharvest(t.Context(), "s1", nil); err == nil || ken.Hint(err) == "" {
		t.Errorf("a swept session is harvested again: %v", err)
	}
	facts := len(r.kind(t, ken.KindFact))
	r.clock.pass(24 * time.Hour)
	all := append(coding(), user("The release manager of billing is Priya."), assistant("Noted."))
	if _, err := r.journal.Append(t.Context(), about("s1"), all); err != nil {
		t.Fatal(err)
	}
	second := r.end(t, "s1")
	if second.Episode == first.Episode || len(r.kind(t, ken.KindEpisode)) != 2 {
		t.Errorf("episodes %s", texts(r.kind(t, ken.KindEpisode)))
	}
	if got := len(r.kind(t, ken.KindFact)); got != facts+1 {
		t.Errorf("%d facts, were %d:%s", got, facts, texts(r.kind(t, ken.KindFact)))
	}
}

// Another session with the same statement reinforces the claim, once.
func TestAnotherSessionReinforces(t *testing.T) {
	r := newRig(t)
	r.say(t, "s1", coding()...)
	r.end(t, "s1")
	for i, id := range []string{"s2", "s3"} {
		r.clock.pass(24 * time.Hour)
		r.say(t, id, coding()...)
		out := r.end(t, id)
		if _, err := r.Reharvest(t.Context(), id, nil); err != nil {
			t.Fatal(err)
		}
		if len(out.Learned) != 0 {
			t.Errorf("%s learned %d facts that are known", id, len(out.Learned))
		}
		for _, words := range []string{"tabs over spaces", "drop Oracle", "Shell command fails repeatedly: make lint", "Shell command succeeds: go test"} {
			if c := r.find(t, words); c.Reinforcements != i+1 {
				t.Errorf("%s: reinforced %d times after %s", c.Text, c.Reinforcements, id)
			}
		}
	}
	if got := r.kind(t, ken.KindEpisode); len(got) != 1 || got[0].Reinforcements != 2 { // they tell the same
		t.Errorf("episodes of 3 sessions: %s", texts(got))
	}
}

// The evidence of a pattern is bounded, however many sessions repeat it.
func TestEvidenceOfAPatternIsBounded(t *testing.T) {
	race.SkipLong(t)
	r := newRig(t)
	for i := range 20 {
		r.clock.pass(24 * time.Hour)
		id := "s" + string(rune('a'+i))
		r.say(t, id, coding()...)
		r.end(t, id)
	}
	for _, c := range r.kind(t, ken.KindPattern) {
		if c.Reinforcements != 19 || len(c.Evidence) > 8 {
			t.Errorf("%s: %d reinforcements, %d pieces of evidence", c.Text, c.Reinforcements, len(c.Evidence))
		}
	}
}
