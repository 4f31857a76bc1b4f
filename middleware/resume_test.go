package middleware_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/objective"
)

// "continue" asks for nothing that could be looked up, and still means something in
// a new session: the one before it.
func TestANewSessionThatGoesOnIsToldWhereTheLastOneStopped(t *testing.T) {
	l := open(t, nil)
	learn(t, l, ken.Claim{Kind: ken.KindEpisode, Text: "Goal: move invoices to the ledger.\nStopped at: the backfill of 2025 is still missing.", Session: "monday",
		Confidence: 1, Evidence: []ken.Evidence{ken.FromMessage("monday", "m1", "")}})
	ask := func(text string) ken.Receipt {
		return l.Assemble(t.Context(), ken.Turn{Session: "tuesday", Messages: []ken.Message{{Role: "user", Text: text}}}).Receipt
	}
	if r := ask("continue"); !strings.Contains(r.Block, "backfill of 2025") {
		t.Errorf("continue: %q, %v", r.Block, r.Cut)
	}
	if r := ask("thanks!"); r.Block != "" {
		t.Errorf("thanks: %q", r.Block)
	}
}

// A turn that asks for nothing gets no block, whatever is held in every turn. The next one
// that asks is told it.
func TestSmallTalkGetsNoBlock(t *testing.T) {
	l := open(t, settings())
	if _, err := l.Objectives().Create(t.Context(), objective.Draft{Title: "Ship the login"}); err != nil {
		t.Fatal(err)
	}
	learn(t, l, ken.Claim{Kind: ken.KindHot, Text: "Answers are in British English.", Confidence: 1,
		Evidence: []ken.Evidence{ken.FromHumanAssertion("ana", time.Now(), "")}})
	learn(t, l, ken.Claim{Kind: ken.KindFact, Constraint: true, Text: "Never name a customer.", Confidence: 1,
		Evidence: []ken.Evidence{ken.FromHumanAssertion("ana", time.Now(), "")}})
	talk := []ken.Message{}
	for _, text := range []string{"hi", "thanks!", "Great, thank you so much.", "ok"} {
		talk = append(talk, ken.Message{Role: "user", Text: text})
		if r := l.Assemble(t.Context(), ken.Turn{Session: "s-1", Messages: talk}).Receipt; r.Block != "" {
			t.Errorf("%s: %q", text, r.Block)
		}
		talk = append(talk, ken.Message{Role: "assistant", Text: "You are welcome."})
	}
	talk = append(talk, ken.Message{Role: "user", Text: "How should the release notes be written?"})
	r := l.Assemble(t.Context(), ken.Turn{Session: "s-1", Messages: talk}).Receipt
	for _, want := range []string{"British English", "Ship the login", "Never name a customer"} {
		if !strings.Contains(r.Block, want) {
			t.Errorf("%q is missing: %q", want, r.Block)
		}
	}
}
