package engine_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/engine"
	"github.com/kenlayer/ken/store"
)

const otherID = "0198a000-0000-7000-8000-000000000002"

var (
	someDay = time.Date(2026, 3, 14, 9, 0, 0, 123456789, time.UTC)
	claimID = uuid.MustParse("0198a000-0000-7000-8000-000000000001")
	file    = ken.FromFile("a.go", "", "")
	human   = ken.FromHumanAssertion("ada", someDay, "read the code")
)

func baseClaim() ken.Claim {
	return ken.Claim{ID: claimID.String(), Kind: ken.KindFact, Text: "payments uses sagas", Status: ken.StatusObserved,
		Confidence: 1, Evidence: []ken.Evidence{file}, CreatedAt: someDay, UpdatedAt: someDay, Tags: []string{"saga"}}
}

// among looks claims up in a list.
func among(claims ...ken.Claim) engine.Lookup {
	return func(id string) (*ken.Claim, error) {
		for i := range claims {
			if claims[i].ID == id {
				return &claims[i], nil
			}
		}
		return nil, nil
	}
}

func written(t *testing.T, c ken.Claim) store.Payload {
	t.Helper()
	raw, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return store.Payload{Claim: raw}
}

func TestFoldByType(t *testing.T) {
	at := someDay.Add(1e9)
	next := baseClaim()
	next.ID, next.Text = otherID, "payments uses two-phase commit"
	revised := baseClaim()
	revised.Text = "payments uses sagas everywhere"

	for _, tt := range []struct {
		typ  ken.EventType
		p    store.Payload
		want func() []ken.Claim
	}{
		{ken.EventWritten, written(t, baseClaim()), func() []ken.Claim { return []ken.Claim{baseClaim()} }},
		{ken.EventRevised, written(t, revised), func() []ken.Claim { return []ken.Claim{revised} }},
		{ken.EventTransitioned, store.Payload{From: ken.StatusObserved, To: ken.StatusVerified, Evidence: []ken.Evidence{human, file}},
			func() []ken.Claim {
				c := baseClaim()
				c.Status, c.UpdatedAt, c.Evidence = ken.StatusVerified, at, []ken.Evidence{file, human}
				return []ken.Claim{c}
			}},
		{ken.EventReinforced, store.Payload{}, func() []ken.Claim {
			c := baseClaim()
			c.Reinforcements, c.ReinforcedAt, c.UpdatedAt = 1, at, at
			return []ken.Claim{c}
		}},
		{ken.EventSuperseded, store.Payload{From: ken.StatusObserved, To: ken.StatusSuperseded, Other: otherID}, func() []ken.Claim {
			c, n := baseClaim(), next
			c.Status, c.SupersededBy, c.UpdatedAt = ken.StatusSuperseded, otherID, at
			n.Supersedes = c.ID
			return []ken.Claim{c, n}
		}},
		{ken.EventForgotten, store.Payload{Reason: "asked to"}, func() []ken.Claim { return []ken.Claim{{ID: claimID.String()}} }},
	} {
		t.Run(string(tt.typ), func(t *testing.T) {
			before, beforeNext := baseClaim(), next
			ev := &store.Event{At: at, Type: tt.typ, Claim: claimID, Payload: payload(t, tt.p)}
			got, err := engine.Fold(among(before, beforeNext), ev)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want(), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]ken.Claim{baseClaim(), next}, []ken.Claim{before, beforeNext}); diff != "" {
				t.Errorf("the claims before were changed:\n%s", diff)
			}
		})
	}
}

func TestFoldOddities(t *testing.T) {
	event := func(typ ken.EventType, p []byte) *store.Event {
		return &store.Event{Seq: 3, Type: typ, Claim: claimID, Payload: p}
	}
	t.Run("an erased write is a forgotten claim", func(t *testing.T) {
		got, err := engine.Fold(among(), event(ken.EventWritten, nil))
		if err != nil || !cmp.Equal(got, []ken.Claim{{ID: claimID.String()}}) {
			t.Errorf("%+v, %v", got, err)
		}
	})
	t.Run("nothing happens to a claim that is gone", func(t *testing.T) {
		got, err := engine.Fold(among(), event(ken.EventTransitioned, payload(t, store.Payload{To: ken.StatusVerified})))
		if err != nil || len(got) != 0 {
			t.Errorf("%+v, %v", got, err)
		}
	})
	t.Run("a successor that is gone", func(t *testing.T) {
		got, err := engine.Fold(among(baseClaim()), event(ken.EventSuperseded, payload(t, store.Payload{Other: otherID})))
		if err != nil || len(got) != 1 || got[0].SupersededBy != otherID {
			t.Errorf("%+v, %v", got, err)
		}
	})
	for name, ev := range map[string]*store.Event{
		"unknown type":        event("claim.renamed", []byte("{}")),
		"payload not JSON":    event(ken.EventTransitioned, []byte("{")),
		"claim not an object": event(ken.EventWritten, []byte(`{"claim":7}`)),
	} {
		if _, err := engine.Fold(among(baseClaim()), ev); !errors.Is(err, ken.ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
	}
	broken := errors.New("disk")
	if _, err := engine.Fold(func(string) (*ken.Claim, error) { return nil, broken }, event(ken.EventReinforced, []byte("{}"))); !errors.Is(err, broken) {
		t.Errorf("a lookup that fails: %v", err)
	}
}

func TestMergeEvidence(t *testing.T) {
	test := ken.FromTestResult("T", "ok")
	again := ken.FromTestResult("T", "ok, later")
	sameRefOtherKind := ken.FromValidator("T", "")
	for _, tt := range []struct {
		name             string
		have, more, want []ken.Evidence
	}{
		{"nothing", nil, nil, nil},
		{"new", []ken.Evidence{file}, []ken.Evidence{test}, []ken.Evidence{file, test}},
		{"the first record of a piece stays", []ken.Evidence{test}, []ken.Evidence{again}, []ken.Evidence{test}},
		{"twice among the new", nil, []ken.Evidence{test, again}, []ken.Evidence{test}},
		{"another kind is another piece", []ken.Evidence{test}, []ken.Evidence{sameRefOtherKind}, []ken.Evidence{test, sameRefOtherKind}},
	} {
		got := engine.MergeEvidence(tt.have, tt.more)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	have := append(make([]ken.Evidence, 0, 8), file)
	engine.MergeEvidence(have, []ken.Evidence{test})[0].Detail = "spoilt"
	if have[0].Detail != "" || have[:2][1].Kind != "" {
		t.Error("the argument's memory was used")
	}
}

func TestView(t *testing.T) {
	prior := []ken.ClaimEvent{{Seq: 9, At: someDay.Add(-1e9), Type: ken.EventWritten, To: ken.StatusHypothesis}}
	c := baseClaim()
	c.Actor = ken.Actor{Type: "agent", ID: "reviewer"}
	full := written(t, c)
	full.Prior = prior
	superseded := store.Payload{From: ken.StatusObserved, To: ken.StatusSuperseded, Other: otherID}
	moved := store.Payload{From: ken.StatusObserved, To: ken.StatusVerified, Reason: "read", Evidence: []ken.Evidence{human}, Actor: ken.Actor{ID: "ada"}}

	for _, tt := range []struct {
		name string
		typ  ken.EventType
		p    []byte
		id   string
		want []ken.ClaimEvent
	}{
		{"written, with a life before", ken.EventWritten, payload(t, full), claimID.String(), append(prior,
			ken.ClaimEvent{Seq: 5, At: someDay, Type: ken.EventWritten, To: ken.StatusObserved, Evidence: []ken.Evidence{file}, Actor: c.Actor})},
		{"transitioned", ken.EventTransitioned, payload(t, moved), claimID.String(), []ken.ClaimEvent{
			{Seq: 5, At: someDay, Type: ken.EventTransitioned, From: "observed", To: "verified", Reason: "read", Evidence: []ken.Evidence{human}, Actor: ken.Actor{ID: "ada"}}}},
		{"superseded, seen by the old claim", ken.EventSuperseded, payload(t, superseded), claimID.String(), []ken.ClaimEvent{
			{Seq: 5, At: someDay, Type: ken.EventSuperseded, From: "observed", To: "superseded", Other: otherID}}},
		{"superseded, seen by the new claim", ken.EventSuperseded, payload(t, superseded), otherID, []ken.ClaimEvent{
			{Seq: 5, At: someDay, Type: ken.EventSuperseded, Other: claimID.String(), Reason: "supersedes"}}},
		{"erased", ken.EventWritten, nil, claimID.String(), []ken.ClaimEvent{{Seq: 5, At: someDay, Type: ken.EventWritten, Erased: true}}},
		{"forgotten", ken.EventForgotten, payload(t, store.Payload{Reason: "asked to"}), claimID.String(), []ken.ClaimEvent{
			{Seq: 5, At: someDay, Type: ken.EventForgotten, Reason: "asked to"}}},
	} {
		got, err := engine.View(&store.Event{Seq: 5, At: someDay, Type: tt.typ, Claim: claimID, Payload: tt.p}, tt.id)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

var env = store.Env{Now: func() time.Time { return someDay }, NewID: func() string { return otherID }}

func payload(t *testing.T, p store.Payload) []byte {
	t.Helper()
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestAssignCommandEvents(t *testing.T) {
	c := baseClaim()
	c.Entities = []string{"Deploys"}
	ada := ken.Actor{Type: "user", ID: "ada"}
	ev, err := engine.Assign(among(c), ken.Assignment{ID: c.ID, By: ken.AssignedByModel, Entities: []string{"The Payments"}, Aspect: "speed", Constraint: true, Actor: ada}, env)
	if err != nil || ev == nil || ev.Type != ken.EventAssigned || ev.Claim != claimID || !ev.At.Equal(someDay) {
		t.Fatalf("%+v, %v", ev, err)
	}
	p := decode(t, ev)
	want := &store.Assigned{Filed: store.Filed{By: ken.AssignedByModel, Entities: []string{"payments", "Deploys"}, Aspect: "speed", Constraint: true},
		Was: store.Filed{Entities: []string{"Deploys"}}}
	if diff := cmp.Diff(want, p.Assignment); diff != "" || p.Actor != ada {
		t.Errorf("actor %+v, assignment (-want +got):\n%s", p.Actor, diff)
	}

	ev.Seq = 9
	got, err := engine.Fold(among(c), ev)
	if err != nil || len(got) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	filed := c
	filed.Entities, filed.Aspect, filed.Constraint, filed.AssignedBy = want.Entities, "speed", true, ken.AssignedByModel
	if diff := cmp.Diff(filed, got[0]); diff != "" { // times, too: what it says is as old as it was
		t.Errorf("folded (-want +got):\n%s", diff)
	}
	if again, err := engine.Assign(among(got[0]), ken.Assignment{ID: c.ID, By: ken.AssignedByModel, Entities: []string{"payments"}, Aspect: "speed"}, env); again != nil || err != nil {
		t.Errorf("again: %+v, %v", again, err)
	}
	view, err := engine.View(ev, c.ID)
	if err != nil || len(view) != 1 || view[0].Reason != "about payments, Deploys, aspect speed, constraint; by model; was about Deploys" || view[0].Actor != ada {
		t.Errorf("%+v, %v", view, err)
	}
	ev.Erase()
	if view, err := engine.View(ev, c.ID); err != nil || view[0].Reason != "" || !view[0].Erased {
		t.Errorf("erased: %+v, %v", view, err)
	}
}

func TestFoldOfAnAssignmentThatSaysNothing(t *testing.T) {
	raw, err := json.Marshal(store.Payload{})
	if err != nil {
		t.Fatal(err)
	}
	ev := &store.Event{Seq: 1, At: someDay, Type: ken.EventAssigned, Claim: claimID, Payload: raw}
	if _, err := engine.Fold(among(baseClaim()), ev); !errors.Is(err, ken.ErrCorrupt) {
		t.Errorf("%v", err)
	}
	if got, err := engine.Fold(among(), ev); err != nil || got != nil { // its claim was forgotten
		t.Errorf("%+v, %v", got, err)
	}
}

// Names that are spelled in two ways are one, and the claim's own spelling stays.
func TestAnAssignmentThatOnlySpellsAnewIsNone(t *testing.T) {
	c := baseClaim()
	c.Entities, c.AssignedBy = []string{"The Payments-Service"}, ken.AssignedByOperator
	for _, a := range []ken.Assignment{
		{By: ken.AssignedByOperator, Entities: []string{"payments service"}},
		{By: ken.AssignedByOperator, Entities: []string{"payments_service", "Payments Service", "…"}},
		{By: ken.AssignedByOperator},
	} {
		a.ID = c.ID
		if ev, err := engine.Assign(among(c), a, env); ev != nil || err != nil {
			t.Errorf("%q: %+v, %v", a.Entities, ev, err)
		}
	}
}

// A hook that answers nonsense files nothing.
func TestAHookIsHeldToWhatItMayDo(t *testing.T) {
	for name, hook := range map[string]func(*ken.Claim){
		"it says nobody":           func(c *ken.Claim) { c.Entities = []string{"payments"} },
		"it says somebody unknown": func(c *ken.Claim) { c.Entities, c.AssignedBy = []string{"payments"}, "oracle" },
		"it changes what it was given": func(c *ken.Claim) {
			c.Tags[0], c.Evidence[0].Path, c.Text, c.AssignedBy = "x", "x", "x", ""
		},
	} {
		c := baseClaim()
		e := env
		e.Assign = hook
		_, ev, err := engine.Write(among(), byKey(), c, nil, e)
		if err != nil {
			t.Fatal(err)
		}
		var got ken.Claim
		if err := json.Unmarshal(decode(t, ev).Claim, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(baseClaim(), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A rule that got evidence from an agent's tool later stays a rule when it is moved to
// another store. A claim with only external evidence when it was written is no rule.
func TestARuleSurvivesAMove(t *testing.T) {
	page := ken.FromURL("https://example.org", someDay, "")
	told := ken.FromUserStatement("s", "m")
	for name, tt := range map[string]struct {
		event ken.EventType
		want  bool
	}{"backed later": {ken.EventReinforced, true}, "confirmed later": {ken.EventTransitioned, true}, "written so": {ken.EventWritten, false}} {
		c := baseClaim()
		c.Constraint, c.AssignedBy, c.Evidence = true, ken.AssignedByRules, []ken.Evidence{told, page}
		prior := []ken.ClaimEvent{{Type: ken.EventWritten}, {Type: tt.event, Evidence: []ken.Evidence{page}}}
		_, ev, err := engine.Write(among(), byKey(), c, prior, env)
		if err != nil {
			t.Fatal(err)
		}
		var got ken.Claim
		if err := json.Unmarshal(decode(t, ev).Claim, &got); err != nil || got.Constraint != tt.want {
			t.Errorf("%s: constraint %v, %v", name, got.Constraint, err)
		}
	}
}
