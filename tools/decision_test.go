package tools_test

import (
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/tools"
)

func TestDecisionTools(t *testing.T) {
	k := newKit(t)
	k.files(shop())
	var found tools.DecisionSearchOutput
	res := k.call(&found, "decision_search", `{"query":"currency cents"}`)
	if len(found.Decisions) != 1 || found.Decisions[0].Handle != "ADR-0001" || found.Decisions[0].Tier != "Inferred" || !strings.Contains(res.Text, "whatever the currency") {
		t.Errorf("%+v\n%s", found, res.Text)
	}
	for args, want := range map[string]int{`{"tag":"money"}`: 1, `{"tag":"other"}`: 0, `{"statuses":["superseded"]}`: 0, `{"governs":"money.Amount"}`: 1, `{}`: 1} {
		if k.call(&found, "decision_search", args); found.Total != want {
			t.Errorf("%s: %d", args, found.Total)
		}
	}
	var read tools.DecisionReadOutput
	res = k.call(&read, "decision_read", `{"id":"1"}`)
	if read.Context != "Floats round." || len(read.Alternatives) != 2 || !strings.Contains(read.Consequences, "rounding") || !strings.Contains(res.Text, "Floats round.") {
		t.Errorf("%+v\n%s", read, res.Text)
	}
	if told := k.fails(ken.CodeNotFound, "decision_read", `{"id":"ADR-0099"}`); !strings.Contains(told, "ADR-0099") {
		t.Errorf("told %q", told)
	}

	var made tools.DecisionOutput
	k.call(&made, "decision_create", strings.Replace(decimals, `,"status":"accepted"`, "", 1))
	if made.Outcome != "created" || made.Decision.Handle != "ADR-0002" || made.Decision.Status != "proposed" {
		t.Errorf("made %+v", made)
	}
	if text := k.file(made.Decision.Path); !strings.Contains(text, "# Amounts are decimals") || !strings.Contains(text, "money/**") || strings.Contains(text, "decision-makers") {
		t.Errorf("written:\n%s", text)
	}
}

// Told twice, a decision is there once; only what is accepted takes another's place.
func TestDecisionSupersede(t *testing.T) {
	k := newKit(t)
	k.files(shop())
	var made tools.DecisionOutput
	k.call(&made, "decision_create", `{"title":"Amounts are decimals","decision":"Four places."}`)
	k.call(&made, "decision_create", `{"title":"  amounts are DECIMALS ","decision":"Five places."}`)
	if made.Outcome != "known" || made.Decision.Handle != "ADR-0002" {
		t.Errorf("made again: %+v", made)
	}
	before := k.file("docs/adr/0001-cents.md")
	if told := k.fails(ken.CodeRefused, "decision_supersede", `{"id":"ADR-0001","by":"ADR-0002"}`); !strings.Contains(told, "not accepted") {
		t.Errorf("told %q", told)
	}
	if k.file("docs/adr/0001-cents.md") != before {
		t.Error("it was changed all the same")
	}
	k.call(&made, "decision_create", `{"title":"Amounts have a type","decision":"A type of our own.","status":"accepted","governs":["cart.Cart"]}`)
	for range 2 {
		var got tools.DecisionOutput
		k.call(&got, "decision_supersede", `{"id":"ADR-0001","by":"ADR-0003"}`)
		if got.Decision.Status != "superseded" || len(got.Decision.SupersededBy) != 1 || got.Decision.SupersededBy[0] != "ADR-0003" {
			t.Errorf("got %+v", got)
		}
	}
	// It is still found, and the code knows which one governs.
	var found tools.DecisionSearchOutput
	if k.call(&found, "decision_search", `{"query":"cents","statuses":["superseded"]}`); found.Total != 1 {
		t.Errorf("found %+v", found)
	}
	var read tools.DecisionReadOutput
	if k.call(&read, "decision_read", `{"id":"ADR-0003","history":true}`); len(read.History) != 1 || read.History[0].Handle != "ADR-0001" {
		t.Errorf("history %+v", read.History)
	}
	var refs tools.RefsOutput
	if k.call(&refs, "graph_refs", `{"name":"money.Amount","kinds":["adr_governs"]}`); refs.Total != 0 {
		t.Errorf("governed by %+v", refs.Refs)
	}
	if k.call(&refs, "graph_refs", `{"name":"cart.Cart","kinds":["adr_governs"]}`); refs.Total != 1 || refs.Refs[0].From.ID != "adr:ADR-0003" {
		t.Errorf("governed by %+v", refs.Refs)
	}
	k.fails(ken.CodeInvalid, "decision_supersede", `{"id":"ADR-0003","by":"ADR-0003"}`)
	k.fails(ken.CodeNotFound, "decision_supersede", `{"id":"ADR-0050","by":"ADR-0003"}`)
}

// What a decision says is not learned back from an agent that was shown it.
func TestDecisionsAreNotLearnedBack(t *testing.T) {
	k := newKit(t)
	k.files(shop())
	k.call(nil, "decision_read", `{"id":"ADR-0001"}`)
	var got tools.Learned
	if k.call(&got, "memory_ingest", `{"text":"Amounts are whole cents, whatever the currency."}`); got.Outcome != "echo" || k.count() != 0 {
		t.Errorf("got %+v, %d claims", got, k.count())
	}
}
