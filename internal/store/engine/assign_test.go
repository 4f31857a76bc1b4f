package engine_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/engine"
	"github.com/kenlayer/ken/store"
)

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

// A rule that an agent's tool backed later is one where it is moved to, as it was where
// it comes from. What rested on an external source when it was written is none.
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
