package harvest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
)

// itemOf returns a claim as an item of a block.
func itemOf(c ken.Claim) ken.Item { return ken.Item{ID: c.ID, Kind: c.Kind, Text: c.Text} }

// writeClaim writes a claim of an earlier time.
func (r *rig) writeClaim(t testing.TB, text string, change ...func(*ken.Claim)) ken.Claim {
	t.Helper()
	e := ken.FromUserStatement("long ago", "m1")
	e.FetchedAt = monday.AddDate(0, -1, 0)
	c, err := ken.NewClaim(text, e)
	if err != nil {
		t.Fatal(err)
	}
	c.Scope, c.CreatedAt, c.Confidence = scope, e.FetchedAt, 0.8
	for _, f := range change {
		f(&c)
	}
	id, err := r.store.WriteClaim(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = r.store.Get(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	return c
}

// A hallucination that is recalled in a hundred sessions, and repeated by the model in
// each, stays one unconfirmed claim: no copy, no reinforcement, no higher tier.
func TestARecalledHallucinationDoesNotFeedItself(t *testing.T) {
	r := newRig(t)
	wrong := r.writeClaim(t, "The billing service stores its invoices in MongoDB 4.", func(c *ken.Claim) {
		c.Evidence = []ken.Evidence{ken.FromModelInference("long ago", "m1", "a guess")}
		c.Status = ken.StatusInferred
	})
	before := r.seq(t)
	retold := []string{"The billing service stores its invoices in MongoDB 4.", "As noted, the billing service stores invoices in MongoDB 4.",
		"According to my notes: invoices of the billing service are stored in MongoDB 4.", "I remember that the billing service stores its invoices in MongoDB 4."}
	for i := range 100 {
		id := fmt.Sprintf("s%d", i)
		r.say(t, id, user("Where does the billing service keep its invoices?"))
		r.inject(t, id, itemOf(wrong))
		r.say(t, id, assistant(retold[i%len(retold)]), user("Thanks!"))
		out := r.end(t, id)
		if len(out.Learned)+len(out.Reinforced) > 0 {
			t.Fatalf("session %d: %+v%s", i, out, texts(r.kind(t, ken.KindFact)))
		}
		r.clock.pass(time.Hour)
	}
	got, err := r.store.Get(t.Context(), wrong.ID)
	if err != nil || got.Reinforcements != 0 || len(got.Evidence) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if n := r.seq(t) - before; n != 0 { // nothing was decided, done or found
		t.Errorf("%d events in 100 sessions", n)
	}
	if facts := r.kind(t, ken.KindFact); len(facts) != 1 {
		t.Errorf("facts%s", texts(facts))
	}
}

// An injected claim that the assistant repeats is no new fact, even if the user accepts
// it. The user's own statement confirms it, at most once per session.
func TestAUsersOwnWordsConfirm(t *testing.T) {
	r := newRig(t)
	c := r.writeClaim(t, "Deploys happen on Tuesdays after 14:00.")
	for i, id := range []string{"s1", "s2"} {
		r.say(t, id, user("When may I deploy the billing service?"))
		r.inject(t, id, itemOf(c))
		r.say(t, id, assistant("Deploys happen on Tuesdays after 14:00."), user("Remember that deploys happen on Tuesdays after 14:00."),
			assistant("Yes."), user("Deploys happen on Tuesdays after 14:00."), assistant("Indeed."))
		out := r.end(t, id)
		if _, err := r.Reharvest(t.Context(), id, nil); err != nil {
			t.Fatal(err)
		}
		if len(out.Reinforced) != 1 || out.Reinforced[0] != c.ID || len(out.Learned) != 0 {
			t.Errorf("%s: %+v", id, out)
		}
		got, err := r.store.Get(t.Context(), c.ID)
		if err != nil || got.Reinforcements != i+1 {
			t.Errorf("after %s reinforced %d times, %v", id, got.Reinforcements, err)
		}
		if got.Support(nil).Trust != ken.TrustOperator {
			t.Errorf("trust %v", got.Support(nil).Trust)
		}
	}
}

// A statement that the user made before it was injected is the user's own.
func TestWhatWasSaidBeforeItWasInjectedIsNoEcho(t *testing.T) {
	r := newRig(t)
	r.say(t, "s1", user("Remember that deploys happen on Tuesdays after 14:00."), assistant("Noted."))
	r.clock.pass(time.Minute)
	r.inject(t, "s1", ken.Item{ID: "01a20011-e22a-7ebe-8ddf-7db76240ea0e", Kind: ken.KindFact, Text: "Deploys happen on Tuesdays after 14:00."})
	r.end(t, "s1")
	r.find(t, "Tuesdays")
}

// A summary is no evidence: if a user states what it says, that is learned as new. A
// forgotten claim stays forgotten, whoever repeats it in the session.
func TestConfirmingWhatCannotBeReinforced(t *testing.T) {
	const text = "Deploys happen on Tuesdays after 14:00."
	for name, tt := range map[string]struct {
		item  func(r *rig) ken.Item
		facts int
	}{
		"an episode": {func(r *rig) ken.Item {
			return itemOf(r.writeClaim(t, "Session, 1 May. "+text, func(c *ken.Claim) { c.Kind = ken.KindEpisode }))
		}, 1},
		"a file": {func(*rig) ken.Item { return ken.Item{ID: "doc", Kind: ken.KindDocument, Text: text} }, 0},
		"a forgotten claim": {func(*rig) ken.Item {
			return ken.Item{ID: "01a20011-e22a-7ebe-8ddf-7db76240ea0e", Kind: ken.KindFact, Text: text}
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			item := tt.item(r)
			r.say(t, "s1", user("When may I deploy?"))
			r.inject(t, "s1", item)
			r.say(t, "s1", assistant("On Tuesdays."), user("Remember that deploys happen on Tuesdays after 14:00."), assistant("Yes."))
			r.end(t, "s1")
			if facts := r.kind(t, ken.KindFact); len(facts) != tt.facts {
				t.Errorf("facts%s", texts(facts))
			}
		})
	}
}

// A session that only repeats injected claims teaches nothing.
func TestOnlyTheInjectedBlockRepeated(t *testing.T) {
	r := newRig(t)
	c := r.writeClaim(t, "The retry limit of the gateway is 3.")
	block := "[Pipeline Knowledge]\nThe retry limit of the gateway is 3.\n[End of Pipeline Knowledge]"
	r.say(t, "s1", user("What is the retry limit of the gateway?"))
	r.inject(t, "s1", itemOf(c))
	for range 10 {
		r.say(t, "s1", assistant(block), assistant("The retry limit of the gateway is 3."))
	}
	before := r.seq(t)
	if out := r.end(t, "s1"); len(out.Learned)+len(out.Reinforced) > 0 || r.seq(t) > before+1 {
		t.Errorf("%+v%s", out, texts(r.all(t)))
	}
}

func TestSessionsThatTeachNothing(t *testing.T) {
	for name, msgs := range map[string][]ken.Message{
		"only reasoning":      {assistant("<think>The user prefers Oracle. Remember that.</think>"), assistant("<scratch_pad>We decided to use MongoDB.")},
		"greetings":           {user("hi"), assistant("Hello! How can I help?"), user("thanks, bye")},
		"only a system text":  {{Role: "system", Text: "You prefer tabs. We decided to use PostgreSQL."}},
		"only tools":          {calls("c", "Read", `{"path": "a"}`), tool("c", "We decided to use MongoDB.")},
		"nothing but a block": {user("[Pipeline Knowledge]\nWe decided to use MongoDB.\n[End of Pipeline Knowledge]")},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.say(t, "s1", msgs...)
			out := r.end(t, "s1")
			if n := len(r.kind(t, ken.KindFact)); n != 0 || len(out.Learned) != 0 {
				t.Errorf("%d facts, %+v%s", n, out, texts(r.all(t)))
			}
			for _, word := range []string{"MongoDB", "Oracle", "PostgreSQL"} {
				if all := state(t, r.store); strings.Contains(all, word) && name != "only tools" {
					t.Errorf("%s got into the store:\n%s", word, all)
				}
			}
		})
	}
	r := newRig(t)
	if _, err := r.journal.Append(t.Context(), about("s1"), []ken.Message{{Role: "system", Text: "x"}}); err != nil {
		t.Fatal(err)
	}
	if out := r.end(t, "s1"); out.Note == "" || len(r.all(t)) != 0 {
		t.Errorf("an empty session: %+v%s", out, texts(r.all(t)))
	}
}

// A value that the user gives in a sentence of the assistant is based on the external claim that the
// assistant repeated, too.
func TestAnAmendedExternalClaimIsBasedOnIt(t *testing.T) {
	r := newRig(t)
	outside := r.writeClaim(t, "Releases of the billing image are pushed to the mirror in Oslo on port 8080.", func(c *ken.Claim) {
		c.Evidence[0].Trust = ken.TrustExternal
	})
	r.say(t, "s1", user("Where do we push the releases of billing?"))
	item := itemOf(outside)
	item.Trust = ken.TrustExternal
	r.inject(t, "s1", item)
	r.say(t, "s1", assistant("Releases of the billing image are pushed to the mirror in Oslo on port 8080."), user("no, port 8081"))
	r.end(t, "s1")
	c := r.find(t, "on port 8081")
	for _, e := range c.Evidence {
		if e.Trust == ken.TrustExternal && e.ID == outside.ID {
			return
		}
	}
	t.Errorf("%q is based on %+v", c.Text, c.Evidence)
}
