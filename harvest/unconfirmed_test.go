package harvest_test

import (
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/model/modeltest"
)

// When the model extracts the whole session, claims that the rules learned during the
// session are withdrawn unless the model reports them.
func TestWhatTheModelDoesNotReportIsWithdrawn(t *testing.T) {
	r := newModelRig(t, modeltest.Serve(t, modeltest.Reply(modeltest.Answer{Summary: "The team talked.", Facts: []modeltest.Fact{
		{Text: "The exports are stored in the bucket ledger-exports.", Quote: "We decided to store the exports in the bucket ledger-exports", Message: 1, Sort: "decision", Confidence: 0.9}}})))
	r.say(t, "s", user("We decided to store the exports in the bucket ledger-exports because the share is full."),
		user("The old share has been slow since Monday 4 May."), user("Never restart the mailer on a Friday."))
	tr, err := r.journal.Read(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.HarvestStatements(t.Context(), &tr, 1); err != nil {
		t.Fatal(err)
	}
	if kept := r.kind(t, ken.KindFact); len(kept) != 3 {
		t.Fatalf("kept at once:%s", texts(kept))
	}
	out := r.end(t, "s")
	if out.Dropped["unconfirmed"] != 2 {
		t.Errorf("%+v", out)
	}
	stands := map[string]bool{}
	for _, c := range r.kind(t, ken.KindFact) {
		if c.Status == ken.StatusObserved || c.Status == ken.StatusInferred {
			stands[c.Text] = true
		}
	}
	if len(stands) != 2 || !stands["User: Never restart the mailer on a Friday."] {
		t.Errorf("standing: %v", stands)
	}
	before := state(t, r.store)
	if _, err := r.Reharvest(t.Context(), "s", nil); err != nil || state(t, r.store) != before {
		t.Errorf("harvesting again changes something: %v", err)
	}
}

// A request of a program that itself harvests through the layer teaches nothing.
func TestRequestToHarvestTeachesNothing(t *testing.T) {
	r := newRig(t)
	r.say(t, "s", user("You read a finished session between a user and an AI agent, or a part of it.\n\n----- transcript -----\n=== message 1: user ===\n| We decided to use PostgreSQL 15 for the ledger.\n"))
	if out := r.end(t, "s"); out.Episode != "" || len(out.Learned) > 0 || out.Note == "" {
		t.Errorf("%+v", out)
	}
}
