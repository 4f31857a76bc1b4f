package middleware_test

import (
	"strings"
	"testing"

	"github.com/kenlayer/ken"
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
