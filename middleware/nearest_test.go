package middleware_test

import (
	"context"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/embed/builtin"
	"github.com/kenlayer/ken/middleware"
)

// If few claims are relevant to the first turn of a conversation, it gets the nearest ones as
// memory. The turns that follow don't, nor does small talk, and what an external source says
// needs evidence.
func TestTheFirstTurnGetsWhatIsNearest(t *testing.T) {
	ctx := context.Background()
	l := open(t, settings(func(c *config.Config) { c.Knowledge.Nearest = 3 }), withVectors)
	foreign := fact(t, "%s", "The harbour of the web is deep.")
	foreign.Evidence = []ken.Evidence{{Kind: ken.EvidenceURL, URL: "https://example.org/harbour"}}
	ids := learn(t, l, fact(t, "%s", retryFact), fact(t, "%s", "Amounts are kept in cents."), fact(t, "%s", "The lamp of the lighthouse is green."),
		fact(t, "%s", "Lists have semicolons."), foreign)
	count := func(r *ken.Receipt) (evident, near int) {
		for _, it := range r.Items {
			switch {
			case it.ID == ids[4]:
				t.Errorf("an external source without evidence:\n%s", r.Block)
			case it.Memory:
				near++
			default:
				evident++
			}
		}
		return evident, near
	}
	turn := ken.Turn{Session: "s", Messages: []ken.Message{{Role: "user", Text: "Write the export of the customers with names, addresses, orders, returns, refunds, vouchers, invoices, birthdays, semicolons, cents and a green button."}}}
	a := l.Assemble(ctx, turn)
	if evident, near := count(&a.Receipt); evident != 0 || near != 3 {
		t.Errorf("%d evident, %d near:\n%s", evident, near, a.Receipt.Block)
	}
	turn.Messages = append(turn.Messages, ken.Message{Role: "assistant", Text: "Done."}, ken.Message{Role: "user", Text: "Now write the import of the suppliers."})
	if r := l.Assemble(ctx, turn).Receipt; len(r.Items) != 0 {
		t.Errorf("in the second turn:\n%s", r.Block)
	}
	b := l.Assemble(ctx, asked(question))
	if evident, near := count(&b.Receipt); evident == 0 || evident+near != 3 || b.Receipt.Items[0].ID != ids[0] {
		t.Errorf("%d evident, %d near:\n%s", evident, near, b.Receipt.Block)
	}
	if r := l.Assemble(ctx, asked("thanks!")).Receipt; r.Block != "" || strings.Contains(r.Block, "cents") {
		t.Errorf("small talk gets\n%s", r.Block)
	}
}

// A question that has nothing to do with what is known gets nothing, in its first turn as well.
func TestTheFirstTurnGetsNothingForeign(t *testing.T) {
	model, err := builtin.Open()
	if err != nil {
		t.Fatal(err)
	}
	l := open(t, settings(func(c *config.Config) { c.Knowledge.Nearest = 3 }), func(o *middleware.Options) { o.Embedder = model })
	learn(t, l, fact(t, "%s", retryFact), fact(t, "%s", "Amounts are kept in cents."))
	if r := l.Assemble(context.Background(), asked("What is the capital of France?")).Receipt; len(r.Items) != 0 {
		t.Errorf("%s", r.Block)
	}
}

// A rule that does not apply to the turn is treated like any other fact.
func TestARuleNearbyIsNoRuleOfTheTurn(t *testing.T) {
	l := open(t, settings(func(c *config.Config) { c.Knowledge.Nearest = 3 }), withVectors)
	rule := fact(t, "%s", "The ledger stays on PostgreSQL 15.")
	rule.Constraint, rule.Entities, rule.AssignedBy = true, []string{"ledger"}, ken.AssignedByOperator
	learn(t, l, rule)
	r := l.Assemble(context.Background(), asked("Write the export of the customers, and take care that it stays readable in every spreadsheet.")).Receipt
	if len(r.Items) != 1 || !r.Items[0].Memory || r.Items[0].Constraint {
		t.Errorf("%s", r.Block)
	}
}
