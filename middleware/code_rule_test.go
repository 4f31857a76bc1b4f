package middleware_test

import (
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/retriever"
)

const (
	noSorting = "Nobody may sort what lies on a shelf."
	noCredit  = "Baskets are never filled on credit."
)

// A rule of a symbol surfaces in the turn that names it in another way, or names
// something one step away in the code; and in no other.
func TestRulesFollowTheCode(t *testing.T) {
	root := shop(t)
	for _, tt := range []struct {
		name, filed string // the entity of the rule
		ask         string
		set         func(*config.Config)
		turn        func(*ken.Turn)
		distance    int // of the rule; -1 for none
	}{
		{name: "itself", filed: "depot.Shelf", ask: "May I change `depot.Shelf`?"},
		{name: "spelled otherwise", filed: "example.com/shop/depot.Shelf", ask: "May I change `Shelf`?"},
		{name: "what calls its method", filed: "depot.Shelf", ask: "May I change `FillShelf`?", distance: 1},
		{name: "its method", filed: "depot.Shelf", ask: "May I change `Shelf.Put`?", distance: 1},
		{name: "the method that is called", filed: "Shelf.Put", ask: "May I change `FillShelf`?", distance: 1},
		{name: "its file", filed: "depot/shelf.go", ask: "May I change `depot.Shelf`?", distance: 1},
		{name: "its package", filed: "depot", ask: "May I change `Stacker`?", distance: 1},
		{name: "its user", filed: "cart.FillShelf", ask: "May I change `Shelf.Put`?", distance: 1},
		{name: "TypeScript", filed: "Basket", ask: "May I change `showBasket`?", distance: 1},
		{name: "unrelated", filed: "depot.Shelf", ask: "May I change `CountCoins`?", distance: -1},
		{name: "no symbol", filed: "depot.Shelf", ask: "May I go home now?", distance: -1},
		{name: "no graph", filed: "depot.Shelf", ask: "May I change `FillShelf`?", distance: -1, set: func(c *config.Config) { c.Middleware.Graph = false }},
		{name: "no structure", filed: "depot.Shelf", ask: "May I change `FillShelf`?", distance: -1, set: func(c *config.Config) { c.Structure.Enabled = false }},
		{name: "no weight", filed: "depot.Shelf", ask: "May I change `FillShelf`?", distance: -1, turn: func(t *ken.Turn) { t.Weight = ken.WeightNone }},
		{name: "another owner", filed: "depot.Shelf", ask: "May I change `FillShelf`?", distance: -1, turn: func(t *ken.Turn) { t.Owner = "somebody" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := settings(func(c *config.Config) {
				c.Knowledge.DBPath, c.Knowledge.TopK, c.Middleware.Keyword = t.TempDir(), 1, false
			})
			if tt.set != nil {
				tt.set(c)
			}
			l := open(t, c, inFolder(root))
			rule := learn(t, l, ruleFor(t, "It is to be asked for first.", tt.filed))[0]
			turn := asked(tt.ask)
			if tt.turn != nil {
				tt.turn(&turn)
			}
			r := l.Assemble(t.Context(), turn).Receipt
			switch it := inBlock(&r, rule); {
			case tt.distance < 0 && it != nil:
				t.Errorf("it is there:\n%s", r.Block)
			case tt.distance < 0:
			case it == nil:
				t.Errorf("it is missing: %v\n%s", r.Focal, r.Block)
			case !it.Constraint || int(it.Signals[retriever.SignalDistance]) != tt.distance || it.Legs[retriever.SourceStructure].Rank == 0:
				t.Errorf("got %+v", it)
			case !r.Items[0].Constraint:
				t.Errorf("it does not come first:\n%s", r.Block)
			}
		})
	}
}

// A guess of the code brings a rule only where such a dependency counts.
func TestARuleBehindAGuess(t *testing.T) {
	root := shop(t, map[string]string{"web/src/other.ts": "export function payAll(x: any) { x.emptyAll() }\n",
		"web/src/basket.ts": "export class Basket {\n  total(): number { return 0 }\n  emptyAll(): void {}\n}\n"})
	for strength, want := range map[float64]bool{0.3: true, 0.5: false} {
		l := open(t, settings(func(c *config.Config) { c.Knowledge.DBPath, c.Structure.MinStrength = t.TempDir(), strength }), inFolder(root))
		rule := learn(t, l, ruleFor(t, noCredit, "Basket.emptyAll"))[0]
		r := l.Assemble(t.Context(), asked("May I change `payAll`?")).Receipt
		if it := inBlock(&r, rule); (it != nil) != want {
			t.Errorf("at %v:\n%s", strength, r.Block)
		}
	}
}

// The receipt says by which step a rule came in.
func TestExplainARuleThatTheCodeBrings(t *testing.T) {
	l := open(t, settings(), inFolder(shop(t)))
	rule := learn(t, l, ruleFor(t, noSorting, "depot.Shelf"))[0]
	askTurn(l, "t1", "s", "May I change `FillShelf`?")
	e, err := l.Explain(t.Context(), "", "t1", rule)
	if err != nil || !strings.Contains(e.Why, "a rule of depot.shelf, which cart.FillShelf ") {
		t.Errorf("%s, %v", e.Why, err)
	}
}

// With much weight, what is filed one step away in the code is knowledge for the turn.
func TestMuchWeightReadsWhatIsFiledBeside(t *testing.T) {
	root := shop(t)
	for _, weight := range []ken.Weight{ken.WeightDefault, ken.WeightHigh} {
		l := open(t, settings(patient, func(c *config.Config) { c.Knowledge.DBPath, c.Middleware.Floor = t.TempDir(), false }), inFolder(root))
		id := learn(t, l, filed(t, "Zinc boards bend under forty kilos.", "capacity", "depot.Shelf"))[0]
		turn := asked("May I change `FillShelf`?")
		turn.Weight = weight
		r := l.Assemble(t.Context(), turn).Receipt
		if it := inBlock(&r, id); (it != nil && it.Legs[retriever.SourceStructure].Rank > 0) != (weight == ken.WeightHigh) {
			t.Errorf("weight %s:\n%s", weight, r.Block)
		}
	}
}
