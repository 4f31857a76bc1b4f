package budgeter

import (
	"testing"

	"github.com/kenlayer/ken"
)

// Proved claims come first. The user's statements come before results of tools. Among pieces
// of files, statements and decisions are ordered by relevance to the turn. Statements of
// agents or pages without proof come last.
func TestTheUsersWordsComeBeforeToolLines(t *testing.T) {
	item := func(id string, k ken.Kind, tier ken.Tier, trust ken.Trust, fused float64) Candidate {
		return Candidate{Item: ken.Item{ID: id, Kind: k, Tier: tier, Trust: trust, Fused: fused, Text: "It says " + id + " about " + id + id + "."}}
	}
	block := Compose(t.Context(), []Candidate{
		item("agent", ken.KindFact, ken.Assumed, ken.TrustAgent, 9),
		item("tool", ken.KindFact, ken.Inferred, ken.TrustExternal, 8),
		item("lesser", ken.KindDocument, ken.Inferred, ken.TrustOperator, 1),
		item("user", ken.KindFact, ken.Assumed, ken.TrustOperator, 2),
		item("decision", ken.KindDecision, ken.Inferred, ken.TrustAgent, 3),
		item("better", ken.KindDocument, ken.Inferred, ken.TrustOperator, 4),
		item("proved", ken.KindFact, ken.Verified, ken.TrustAgent, 0.1),
	}, Options{})
	want := []string{"proved", "better", "decision", "user", "lesser", "tool", "agent"}
	for i, id := range want {
		if i >= len(block.Items) || block.Items[i].ID != id {
			t.Fatalf("want %v, got\n%s", want, block.Text)
		}
		if it := block.Items[i]; id == "user" && it.Tier != ken.Assumed {
			t.Errorf("its tier is shown as %s", it.Tier)
		}
	}
	low := Compose(t.Context(), []Candidate{item("user", ken.KindFact, ken.Assumed, ken.TrustOperator, 2)}, Options{MinTier: ken.Inferred})
	if len(low.Items) > 0 {
		t.Errorf("less weight leaves it out, as its tier says:\n%s", low.Text)
	}
}
