package structure_test

import (
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure"
)

// saying is a rule of some entities, in these words.
func saying(text string, entities ...string) ken.Claim {
	c := rule(entities...)
	c.Text = text
	return c
}

// A rule is often older than the name: nobody knew that customs is a thing when
// somebody said what holds for customs declarations.
func TestARuleThatOnlySaysTheName(t *testing.T) {
	s := newShelf(
		saying("Customs declarations must be filed a day before arrival.", "customs declarations"),
		fact("owners", "customs"),
		saying("It stays closed on Sundays.", "customs"),
		saying("Never call customs by phone.", "phone", "customs"),
		saying("Nobody talks of customs."), // a rule of everything
		saying("Never pay twice.", "payments"))
	tr := look(t, s, ask("what does customs need?"), structure.Bounds{})
	equal(t, "rules", ruled(tr), []string{"2@0 of customs", "3@0 of customs", "0@0 of customs", "4@0 of "})
	equal(t, "says", []string{tr.Constraints[0].Says, tr.Constraints[1].Says, tr.Constraints[2].Says, tr.Constraints[3].Says}, []string{"", "", "customs", ""})
}

func TestARuleThatSaysAnOtherNameOrOneAHopAway(t *testing.T) {
	s := newShelf(alias("ledger", "books"), dependency("payments", "requires", "ledger", 0.9), dependency("ledger", "uses", "postgres", 0.9),
		saying("Close the book at noon.", "closing"), // another name of what is one hop away
		saying("Postgres stays on 15.", "upgrades"),  // two hops
		saying("Payments stop at ten.", "nights"),
		saying("Ledger first, payments second.", "ledger"))
	tr := look(t, s, ask("deploy payments"), structure.Bounds{})
	equal(t, "rules", ruled(tr), []string{"5@0 of payments", "6@0 of payments", "3@1 of ledger"})
	far := tr.Constraints[2]
	if far.Says != "books" || far.Via == nil || far.Via.Entity != "ledger" {
		t.Errorf("%+v", far)
	}
}

// A name that is a common word is in every second rule.
func TestCommonNamesAreNotLookedForInRules(t *testing.T) {
	s := newShelf(fact("", "go"), saying("Never go home without a backup.", "backups"), saying("Use a linter.", "go"))
	equal(t, "rules", ruled(look(t, s, ask("why is `go` slow"), structure.Bounds{})), []string{"2@0 of go"})
}

// The filter counts for what is only said as well.
func TestARuleThatSaysTheNameElsewhere(t *testing.T) {
	scoped, doubted := saying("Customs is closed.", "hours"), saying("Customs is open.", "hours")
	scoped.Scope, doubted.Status = ken.Scope{Type: ken.ScopeRepo, ID: "other"}, ken.StatusDisputed
	s := newShelf(fact("", "customs"), scoped, doubted)
	_, tr, err := structure.New(s, nil).Look(t.Context(), ask("customs?"), &ken.Filter{Scopes: []ken.Scope{{Type: ken.ScopeRepo, ID: "here"}}, Unscoped: true}, structure.Bounds{})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "rules", ruled(tr), []string{})
}
