package middleware_test

import (
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/middleware/wire"
)

// The receipt of a turn says which rule decided what it gets. A call that neither gets nor
// leaves anything is sent as it came, and nothing is kept of it.
func TestATurnNamesTheRuleThatDecided(t *testing.T) {
	l := open(t, settings())
	learn(t, l, fact(t, "The ledger service listens on port 7443."))
	const body = `{"messages":[{"role":"user","content":"Which port does the ledger service listen on?"}]}`
	begin := func(turn ken.Turn) ken.Receipt {
		x, err := l.Begin(t.Context(), wire.Chat, []byte(body), func(*wire.Request) ken.Turn { return turn })
		if err != nil {
			t.Fatal(err)
		}
		if none := turn.Weight == ken.WeightNone; none != (string(x.Body) == body) {
			t.Errorf("%+v: %s", turn, x.Body)
		}
		return x.Receipt
	}
	if r := begin(ken.Turn{Session: "a", Policy: "policy[0]"}); r.Policy != "policy[0]" || r.Cause != "" && r.Mode == ken.ModeNone {
		t.Errorf("%+v", r)
	}
	if r := begin(ken.Turn{Session: "b", Policy: "policy[1]", Weight: ken.WeightNone}); r.Policy != "policy[1]" || r.Cause != "policy[1] gives this call no knowledge" {
		t.Errorf("%+v", r)
	}
	begin(ken.Turn{Session: "c", Policy: "side:title", Weight: ken.WeightNone, Incognito: true})
	if err := l.Recorded(t.Context()); err != nil {
		t.Fatal(err)
	}
	all, err := l.Journal("").List(t.Context())
	if err != nil || len(all) != 2 {
		t.Errorf("%+v, %v", all, err)
	}
}
