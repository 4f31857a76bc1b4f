package tools_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/tools"
)

// What team shares can be recalled and explained with its owner's name, and changed by
// nobody else; what it does not share is as absent as what was never there.
func TestSharedClaimsAreReadAndNotChanged(t *testing.T) {
	k := newKit(t, func(c *config.Config) { c.Knowledge.Shares = []string{"team"} })
	team, ana := k.as(func(c *tools.Caller) { c.Owner = "team" }), k.as(func(c *tools.Caller) { c.Owner = "ana" })
	shared := team.operator("Zebra releases ship from the harbour branch.")
	hidden := team.operator("Zebra releases were cursed in the quagmire.", func(c *ken.Claim) {
		c.Evidence = []ken.Evidence{ken.FromUserStatement("session-of-team", "m")}
	})
	own := ana.operator("Zebra releases make ana nervous: quagmire.")
	const absent = "0192d5a4-0000-7000-8000-000000000000"

	var found struct{ Claims []tools.ClaimView }
	ana.call(&found, "memory_recall", `{"query":"how do Zebra releases ship?"}`)
	owners := map[string]string{}
	for _, c := range found.Claims {
		owners[c.ID] = c.Owner
	}
	if len(owners) != 2 || owners[shared] != "team" || owners[own] != "" {
		t.Errorf("ana recalls %+v", found.Claims)
	}
	found.Claims = nil
	team.call(&found, "memory_recall", `{"query":"how do Zebra releases ship?"}`)
	for _, c := range found.Claims {
		if c.ID == own || c.Owner != "" {
			t.Errorf("team recalls %+v", c)
		}
	}
	receipt := ana.says(user("How do Zebra releases ship?"))
	if text := ana.call(nil, "knowledge_explain", `{"turn":"`+receipt.Turn+`","claim":"`+shared+`"}`); !strings.Contains(string(text.JSON), "harbour") {
		t.Errorf("explained: %s", text.JSON)
	}
	for _, id := range []string{shared, hidden, absent} {
		for tool, args := range map[string]string{
			"knowledge_history": `{"id":"REF"}`,
			"knowledge_verify":  `{"id":"REF","evidence":[]}`,
			"knowledge_dispute": `{"id":"REF","reason":"no"}`,
			"forget_memory":     `{"id":"REF"}`,
		} {
			want := strings.ReplaceAll(ana.fails(ken.CodeNotFound, tool, strings.ReplaceAll(args, "REF", absent)), absent, id)
			if told := ana.fails(ken.CodeNotFound, tool, strings.ReplaceAll(args, "REF", id)); told != want {
				t.Errorf("%s of %s: %s, of one that is absent: %s", tool, id, told, want)
			}
		}
	}
	for _, id := range []string{shared, hidden, absent} { // the resource tells the history, which is its owner's
		if text, _, err := ana.registry.ReadResource(t.Context(), ana.caller, tools.ClaimURI+id); !errors.Is(err, ken.ErrNotFound) {
			t.Errorf("resource of %s: %q, %v", id, text, err)
		}
	}
	for tool, args := range map[string]string{
		"memory_recall":    `{"query":"Zebra quagmire cursed","limit":50}`,
		"knowledge_recall": `{"question":"Zebra quagmire cursed","limit":50,"statuses":["observed","disputed","superseded","hypothesis"],"documents":true}`,
		"memory_list":      `{"limit":50}`,
		"memory_stats":     `{}`,
		"entity_search":    `{}`,
		"task_list":        `{}`,
	} {
		res := ana.call(nil, tool, args)
		if said := string(res.JSON) + res.Text; strings.Contains(said, "cursed") || strings.Contains(said, "session-of-team") || strings.Contains(said, hidden) {
			t.Errorf("%s: %s", tool, said)
		}
	}
}
