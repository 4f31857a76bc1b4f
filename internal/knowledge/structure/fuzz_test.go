package structure_test

import (
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure"
)

// Whatever a message looks like, reading names from it ends, and finds nothing that is
// not known.
func FuzzFocal(f *testing.F) {
	s := newShelf(fact("", "payments"), fact("", "go"), alias("payments", "billing engine"), rule("ledger"))
	for _, seed := range []string{"", "deploy payments", "`go` and ```\ngo\n```", "The Billing-Engine's ledger, payments/api.go", "支付 payments。ledger",
		"a`b`c` `` \x00\xff", "((((\"payments\"))))...", "GO GO GO"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		focal, tr, err := structure.New(s, nil).Look(t.Context(), ask(text), &ken.Filter{}, structure.Bounds{})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range focal {
			if x.Name != "payments" && x.Name != "go" && x.Name != "ledger" {
				t.Errorf("%q is about %q", text, x.Name)
			}
		}
		if len(tr.Constraints) > 1 {
			t.Errorf("%q: %v", text, ruled(tr))
		}
	})
}
