package middleware_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
)

// Stores of earlier versions have an episode for every time that a question was asked,
// which says nothing but the question. The answer comes first all the same, and nothing
// that says the same takes the place of another fact.
func TestRepetitionsDoNotHideAnAnswer(t *testing.T) {
	const asked = "Which port does the ledger service listen on?"
	l := open(t, settings(func(c *config.Config) { c.Retrieval.Deadline = 30 * time.Second })) // a slow machine must not change what is found
	known := []ken.Claim{fact(t, "The ledger service listens on port 7443."), fact(t, "The ledger service is owned by Ana.")}
	for i := range 300 {
		c := fact(t, "Session, %d November 2026.\nGoal: %s\n(Extracted by rules, without a model.)", 1+i%28, asked)
		c.Kind, c.Heading, c.Session, c.Key = ken.KindEpisode, "Session: "+asked, fmt.Sprintf("s%d", i), fmt.Sprintf("episode:s%d", i)
		known = append(known, c)
	}
	for i := range 20 { // said again, by somebody whom nobody knows
		c := fact(t, "The Ledger service listens  on a port that a developer chose.")
		c.Key = fmt.Sprintf("k%d", i)
		c.Evidence = []ken.Evidence{ken.FromAgentAssertion("somebody", "")}
		known = append(known, c)
	}
	ids := learn(t, l, known...)
	r := l.Assemble(t.Context(), ken.Turn{Messages: []ken.Message{{Role: "user", Text: asked}}}).Receipt
	if len(r.Items) == 0 || r.Items[0].ID != ids[0] {
		t.Fatalf("the answer is not first: %s %q %s", r.Cause, r.Degraded, r.Block)
	}
	if !strings.Contains(r.Block, "owned by Ana") || strings.Count(r.Block, "a developer chose") != 1 {
		t.Errorf("duplicates take the places of facts: %s", r.Block)
	}
	memory := 0
	for _, it := range r.Items {
		if it.Kind == ken.KindEpisode && !it.Memory {
			t.Errorf("the question is evidence for itself: %+v", it)
		} else if it.Memory {
			memory++
		}
	}
	cut := map[ken.CutReason]int{}
	for _, c := range r.Cut {
		cut[c.Reason]++
	}
	if cut[ken.CutDuplicate] < 19 || memory > 3 {
		t.Errorf("cut %v, %d in memory", cut, memory)
	}

	// What is asked about nothing that is known gets nothing, however often it was asked.
	for i := range 3 {
		c := fact(t, "Session.\nGoal: How is the weather in Lisbon today?\nOpen: not answered: How is the weather in Lisbon today?\n(Extracted by rules, without a model.)")
		c.Kind, c.Session, c.Key = ken.KindEpisode, fmt.Sprintf("w%d", i), fmt.Sprintf("episode:w%d", i)
		learn(t, l, c)
	}
	r = l.Assemble(t.Context(), ken.Turn{Messages: []ken.Message{{Role: "user", Text: "How is the weather in Lisbon today?"}}}).Receipt
	for _, it := range r.Items {
		if !it.Memory {
			t.Errorf("the floor passed on a question alone: %+v", it)
		}
	}
}
