package middleware_test

import (
	"strings"
	"testing"

	"github.com/kenlayer/ken"
)

// A rule that was filed under something else before anybody knew the name is in the
// block all the same, and whoever wonders why is told.
func TestARuleThatSaysTheNameSurfacesAndSaysSo(t *testing.T) {
	l := open(t, settings())
	ids := learn(t, l, ruleFor(t, "Customs declarations must be filed a day before arrival.", "declarations"), ruleFor(t, "Nobody edits the Main-Book by hand.", "hand edits"),
		ruleFor(t, "Never deploy on Fridays.", "fridays"))
	learn(t, l, filed(t, "The desk of customs opens at nine.", "hours", "customs"), dependsOn(t, "customs", "requires", "ledger", 0.9), aliasOf(t, "ledger", "main book"))
	r := l.Assemble(t.Context(), ken.Turn{ID: "t", Session: "s", Messages: []ken.Message{{Role: "user", Text: "when does the desk of customs open?"}}}).Receipt
	if inBlock(&r, ids[0]) == nil || inBlock(&r, ids[1]) == nil || inBlock(&r, ids[2]) != nil {
		t.Fatalf("focal %v\n%s", r.Focal, r.Block)
	}
	for id, want := range map[string]string{ids[0]: "it is a rule, filed under declarations; it says customs.",
		ids[1]: "it is a rule, filed under hand edits; it says main book, a name of ledger, which customs requires."} {
		e, err := l.Explain(t.Context(), "", "t", id)
		if err != nil || !strings.HasSuffix(e.Why, want) {
			t.Errorf("%s, not %s; %v", e.Why, want, err)
		}
	}
}
