package middleware_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/middleware"
)

const (
	shelfID  = "type:example.com/shop/depot.Shelf"
	fillID   = "function:example.com/shop/cart.FillShelf"
	basketID = "type:web/src/basket.Basket"
)

// A turn that names a symbol knows what it is, who depends on it, and which decision
// governs it.
func TestATurnKnowsTheSymbolsThatItNames(t *testing.T) {
	l := open(t, settings(), inFolder(shop(t)))
	r := l.Assemble(t.Context(), asked("What may I change in depot.Shelf?")).Receipt
	c := cardsIn(&r)[shelfID]
	if c == nil {
		t.Fatalf("no card: %v\n%s", r.Degraded, r.Block)
	}
	if c.Source != "depot/shelf.go:5" || c.Heading != "type depot.Shelf" || c.Tier != ken.Inferred || c.Trust != ken.TrustOperator || c.CreatedAt.IsZero() {
		t.Errorf("got %+v", c)
	}
	if c.Legs["graph"].Rank != 1 || c.Signals["distance"] != 0 || c.Memory || c.Constraint || len(c.Text) > 600 {
		t.Errorf("got %+v", c)
	}
	says(t, c.Text, "type Shelf struct", "Comment: Shelf is room for goods.", "cart.FillShelf", "Members 2: Goods, Put", "Governed by ADR-0004 Goods lie on shelves")
	silent(t, r.Block, "lie in boxes", "no order at all", "CountCoins")
	if _, ok := r.MS["graph"]; !ok {
		t.Error("it is not said how long it took")
	}
	if len(r.Degraded) > 0 {
		t.Errorf("degraded: %q", r.Degraded)
	}
	var found *ken.Item
	for i := range r.Items {
		if r.Items[i].Kind == ken.KindDecision {
			found = &r.Items[i]
		}
	}
	if found == nil || !strings.Contains(found.Text, "in the order in which they came") || found.Heading != "ADR-0004 Goods lie on shelves" || found.Legs["graph"].Rank != 2 {
		t.Errorf("the decision: %+v", found)
	}

	r = l.Assemble(t.Context(), asked("who uses `FillShelf`?")).Receipt
	if c := cardsIn(&r)[fillID]; c == nil {
		t.Errorf("no card of a function:\n%s", r.Block)
	} else {
		says(t, c.Text, "func FillShelf(s *depot.Shelf)", "Tests of it: 1")
	}
	r = l.Assemble(t.Context(), asked("what is in web/src/basket.ts?")).Receipt
	if c := cardsIn(&r)["file:web/src/basket.ts"]; c == nil {
		t.Errorf("no card of a file:\n%s", r.Block)
	} else {
		says(t, c.Text, "Basket")
	}
}

// A guess is told as one, and weighs less.
func TestWhatIsGuessedIsAssumed(t *testing.T) {
	l := open(t, settings(), inFolder(shop(t, map[string]string{"web/src/other.ts": "export function pay(x: any) { x.total(); x.emptyAll() }\n",
		"web/src/basket.ts": "export class Basket {\n  total(): number { return 0 }\n  emptyAll(): void {}\n}\n"})))
	r := l.Assemble(t.Context(), asked("Is `Basket.emptyAll` used?")).Receipt
	c := cardsIn(&r)["method:web/src/basket.Basket.emptyAll"]
	if c == nil {
		t.Fatalf("no card:\n%s", r.Block)
	}
	if c.Tier != ken.Assumed {
		t.Errorf("tier %s:\n%s", c.Tier, c.Text)
	}
	says(t, c.Text, "By name, perhaps called by 1: other.pay")
	r = l.Assemble(t.Context(), asked("Is `Basket` used?")).Receipt
	if c := cardsIn(&r)[basketID]; c == nil || c.Tier != ken.Inferred {
		t.Errorf("exact: %+v", c)
	}
}

func TestATurnThatNamesNoSymbolGetsNone(t *testing.T) {
	l := open(t, settings(), inFolder(shop(t)))
	for _, q := range []string{"thanks!", "How are you doing with the build?", "Where do goods go to?", "fix the `go` error", "what is `main`?", "Who is Caroline Baker?",
		"see https://example.com/depot.Shelf", "continue"} {
		r := l.Assemble(t.Context(), asked(q)).Receipt
		if len(cardsIn(&r)) > 0 || len(r.Degraded) > 0 {
			t.Errorf("%s: %v\n%s", q, r.Degraded, r.Block)
		}
	}
	if r := l.Assemble(t.Context(), asked("thanks!")).Receipt; r.Block != "" {
		t.Errorf("small talk:\n%s", r.Block)
	}
}

func TestCodeSwitchedOff(t *testing.T) {
	const q = "What may I change in depot.Shelf?"
	for name, tt := range map[string]struct {
		set        func(*config.Config)
		turn       func(*ken.Turn)
		cards, leg bool
	}{
		"graph":      {set: func(c *config.Config) { c.Middleware.Graph = false }},
		"symbols":    {set: func(c *config.Config) { c.Graph.Symbols = 0 }, leg: true},
		"decisions":  {set: func(c *config.Config) { c.Middleware.Decisions = false }, cards: true, leg: true},
		"none":       {turn: func(t *ken.Turn) { t.Weight = ken.WeightNone }},
		"owner":      {turn: func(t *ken.Turn) { t.Owner = "somebody" }, leg: true},
		"configured": {turn: func(t *ken.Turn) { t.Owner = config.Default().Knowledge.Owner }, cards: true, leg: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := settings()
			if tt.set != nil {
				tt.set(c)
			}
			turn := asked(q)
			if tt.turn != nil {
				tt.turn(&turn)
			}
			r := open(t, c, inFolder(shop(t))).Assemble(t.Context(), turn).Receipt
			if _, ok := r.MS["graph"]; ok != tt.leg {
				t.Errorf("leg %v", ok)
			}
			if (len(cardsIn(&r)) > 0) != tt.cards {
				t.Errorf("cards: %s", r.Block)
			}
			decisions := slices.ContainsFunc(r.Items, func(it ken.Item) bool { return it.Kind == ken.KindDecision })
			if decisions != (tt.cards && name != "decisions") {
				t.Errorf("decisions: %s", r.Block)
			}
		})
	}
}

// With much weight, what is beside the symbols is told as well.
func TestMuchWeightLooksOneStepFurther(t *testing.T) {
	root := shop(t)
	r := open(t, settings(high), inFolder(root)).Assemble(t.Context(), asked("What does `FillShelf` do?")).Receipt
	cards := cardsIn(&r)
	near := cards[shelfID]
	if cards[fillID] == nil || near == nil || near.Signals["distance"] != 1 || cards[fillID].Signals["distance"] != 0 {
		t.Errorf("%v\n%s", near, r.Block)
	}
	r = open(t, settings(), inFolder(root)).Assemble(t.Context(), asked("What does `FillShelf` do?")).Receipt
	if cardsIn(&r)[shelfID] != nil {
		t.Errorf("without:\n%s", r.Block)
	}
}

// What a receipt keeps says why a card and a decision were there.
func TestExplainCards(t *testing.T) {
	l := open(t, settings(), inFolder(shop(t)))
	r := l.Assemble(t.Context(), ken.Turn{ID: "t1", Session: "s", Messages: asked("What may I change in depot.Shelf?").Messages}).Receipt
	if len(r.Items) != 2 {
		t.Fatalf("items %v", r.Items)
	}
	kept, err := l.Turn(t.Context(), "", "t1")
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range kept.Items {
		e, err := l.Explain(t.Context(), "", "t1", it.ID)
		if err != nil || e.Verdict != middleware.VerdictInjected {
			t.Fatalf("%+v, %v", e, err)
		}
		switch it.Kind {
		case ken.KindDecision:
			if it.State != middleware.ItemSame || it.Heading != "ADR-0004 Goods lie on shelves" || !strings.Contains(e.Why, "a decision about a symbol") {
				t.Errorf("decision: %+v, %s", it, e.Why)
			}
		default:
			if it.State != middleware.ItemMade || !strings.Contains(e.Why, "graph at rank 1: the turn names it") {
				t.Errorf("card: %+v, %s", it, e.Why)
			}
		}
	}
	if _, err := l.Explain(t.Context(), "", "t1", fillID); !errors.Is(err, ken.ErrNotFound) {
		t.Errorf("a card that was not there: %v", err)
	}
}

// What the context holds is not told again, until it says something else.
func TestACardIsToldOnce(t *testing.T) {
	root := shop(t)
	l := open(t, settings(), inFolder(root))
	const q = "What may I change in depot.Shelf?"
	msgs := []ken.Message{{Role: "user", Text: q}}
	say := func() (ken.Receipt, []middleware.Insertion) {
		a := l.Assemble(t.Context(), ken.Turn{Session: "s", Messages: msgs})
		msgs = append(msgs, ken.Message{Role: "assistant", Text: "Nothing."}, ken.Message{Role: "user", Text: "And in depot.Shelf, after all?"})
		return a.Receipt, a.Insertions
	}
	first, _ := say()
	if cardsIn(&first)[shelfID] == nil {
		t.Fatalf("first:\n%s", first.Block)
	}
	second, ins := say()
	if second.Block != "" || len(ins) != 1 || ins[0].Text != first.Block {
		t.Errorf("again:\n%s\n%v", second.Block, ins)
	}
	put(t, root, map[string]string{"depot/shelf.go": strings.Replace(shopFiles["depot/shelf.go"], "room for goods", "room for all goods", 1)})
	third, ins := say()
	if c := cardsIn(&third)[shelfID]; c == nil || !strings.Contains(c.Text, "all goods") {
		t.Errorf("after a change:\n%s", third.Block)
	}
	if len(ins) != 2 || ins[0].Text != first.Block {
		t.Errorf("the earlier block: %v", ins)
	}
}
