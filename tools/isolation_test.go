package tools_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/tools"
)

const secretOfB = "Zebra launches its orbital shop in Nairobi in June."

// A caller of owner A that asks for what is B's, by every tool and every name that it
// may have heard of, finds nothing.
func TestOwnersAreIsolated(t *testing.T) {
	k := newKit(t)
	b := k.as(func(c *tools.Caller) { c.Owner, c.Session = "b", "session-of-b" })
	id := b.operator(secretOfB)
	receipt := b.says(user("When does Zebra launch its orbital shop in Nairobi?"))
	if len(receipt.Items) == 0 {
		t.Fatal("B's own turn was given nothing")
	}
	ctx := context.Background()
	if err := k.layer.End(ctx, "b", "session-of-b", session.Closed); err != nil {
		t.Fatal(err)
	}
	b.call(nil, "knowledge_explain", `{"turn":"`+receipt.Turn+`","claim":"`+id+`"}`)
	b.call(nil, "recall_session", `{"session":"session-of-b"}`)
	a := k.as(func(c *tools.Caller) { c.Owner = "a"; c.Session = "session-of-b" }) // even with B's session id
	for _, ref := range []string{id, id[:8], id[len(id)-8:], strings.ToUpper(id), "[k:" + id[len(id)-8:] + "]"} {
		for tool, args := range map[string]string{
			"knowledge_history": `{"id":"REF"}`,
			"knowledge_verify":  `{"id":"REF","evidence":[]}`,
			"knowledge_dispute": `{"id":"REF","reason":"no"}`,
			"forget_memory":     `{"id":"REF"}`,
			"knowledge_explain": `{"turn":"` + receipt.Turn + `","claim":"REF"}`,
		} {
			if told := a.fails(ken.CodeNotFound, tool, strings.ReplaceAll(args, "REF", ref)); strings.Contains(told, "Zebra") {
				t.Errorf("%s: %s", tool, told)
			}
		}
		if _, _, err := a.registry.ReadResource(ctx, a.caller, tools.ClaimURI+ref); !errors.Is(err, ken.ErrNotFound) {
			t.Errorf("resource of %s: %v", ref, err)
		}
	}
	a.fails(ken.CodeNotFound, "knowledge_explain", `{"turn":"`+receipt.Turn+`"}`)
	a.fails(ken.CodeNotFound, "knowledge_explain", `{}`)
	a.fails(ken.CodeNotFound, "recall_session", `{"session":"session-of-b"}`)
	a.fails(ken.CodeNotFound, "recall_session", `{}`)
	for _, uri := range []string{tools.TurnURI + receipt.Turn, tools.MemoryURI, tools.ClaimURI, "ken://claim/../b/" + id, "file:///etc/passwd"} {
		if text, _, err := a.registry.ReadResource(ctx, a.caller, uri); !errors.Is(err, ken.ErrNotFound) {
			t.Errorf("%s: %q, %v", uri, text, err)
		}
	}
	for tool, args := range map[string]string{
		"memory_recall":    `{"query":"Zebra orbital shop Nairobi","limit":50}`,
		"knowledge_recall": `{"question":"Zebra orbital shop Nairobi","limit":50,"statuses":["observed","disputed","superseded","hypothesis"],"documents":true}`,
		"memory_list":      `{"limit":50}`,
		"memory_stats":     `{}`,
		"entity_search":    `{}`,
		"task_list":        `{}`,
	} {
		res := a.call(nil, tool, args)
		if strings.Contains(string(res.JSON)+res.Text, "ebra") || strings.Contains(string(res.JSON), id) {
			t.Errorf("%s: %s", tool, res.JSON)
		}
	}
	if c := b.claim(id); c.Status != ken.StatusObserved || len(c.Evidence) != 1 {
		t.Errorf("B's claim has become %+v", c)
	}
	// The files of the project are the configured owner's, who is neither.
	k.files(shop())
	k.call(nil, "objective_create", `{"title":"Ship the ledger"}`)
	for _, x := range k.registry.Tools(a.caller) {
		switch kind, _, _ := strings.Cut(x.Name, "_"); kind {
		case "decision", "graph", "objective":
			if told := a.fails(ken.CodeRefused, x.Name, x.Example); strings.Contains(told, "cents") || strings.Contains(told, "ledger") || strings.Contains(told, "OBJ-0001") {
				t.Errorf("%s: %s", x.Name, told)
			}
		}
	}
	// Said by A in its own words it is A's, and B's stays alone.
	a.call(nil, "memory_ingest", `{"text":"`+secretOfB+`"}`)
	if a.count() != 1 || b.count() != 1 {
		t.Errorf("A has %d claims, B %d", a.count(), b.count())
	}
}

// Within an owner, a caller sees its own scopes and what is unscoped.
func TestScopesAreKept(t *testing.T) {
	k := newKit(t)
	scope := func(id string) ken.Scope { return ken.Scope{Type: ken.ScopeRepo, ID: id} }
	hidden := k.operator("The vault of repository red opens with a brass lever.", func(c *ken.Claim) { c.Scope = scope("red") })
	shown := k.operator("The vault of repository blue opens with a copper wheel.", func(c *ken.Claim) { c.Scope = scope("blue") })
	blue := k.as(func(c *tools.Caller) { c.Scopes = []ken.Scope{scope("blue")} })
	for tool, args := range map[string]string{
		"knowledge_history": `{"id":"` + hidden + `"}`,
		"knowledge_dispute": `{"id":"` + hidden + `","reason":"no"}`,
		"knowledge_verify":  `{"id":"` + hidden + `","evidence":[]}`,
		"forget_memory":     `{"id":"` + hidden + `"}`,
	} {
		blue.fails(ken.CodeNotFound, tool, args)
	}
	for tool, args := range map[string]string{"memory_recall": `{"query":"what opens the vault?"}`, "memory_list": `{}`, "memory_stats": `{}`,
		"knowledge_recall": `{"question":"vault brass lever","statuses":["observed"]}`} {
		res := blue.call(nil, tool, args)
		if strings.Contains(string(res.JSON), "brass") || tool == "memory_stats" && !strings.Contains(string(res.JSON), `"claims":1`) {
			t.Errorf("%s: %s", tool, res.JSON)
		}
	}
	blue.call(nil, "knowledge_history", `{"id":"`+shown+`"}`)
	var got tools.Learned
	blue.call(&got, "memory_ingest", `{"text":"The vault closes at six."}`)
	if c := k.claim(got.ID); c.Scope != scope("blue") {
		t.Errorf("learned for %v", c.Scope)
	}
	// What it learns must not be weighed against what it can't see.
	blue.call(&got, "memory_ingest", `{"text":"The vault of repository red opens with a brass lever."}`)
	if got.ID == hidden || got.Outcome != "learned" {
		t.Errorf("got %+v", got)
	}
}
