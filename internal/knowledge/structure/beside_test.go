package structure_test

import (
	"testing"

	"github.com/kenlayer/ken/internal/knowledge/structure"
)

// What lies beside a turn's names in something else than claims is one dependency away.
func TestRulesOfWhatLiesBeside(t *testing.T) {
	s := newShelf(rule("store.shelf"), rule("ledger"), rule("journal"), alias("ledger", "books"), rule("payments"),
		dependency("payments", "requires", "ledger", 0.5))
	signs := ask("May I change it?")
	signs.Named = []string{"Store.Shelf"}
	signs.Beside = []structure.Beside{
		{Focus: "store.Shelf", Names: []string{"unknown", "Books"}, Type: "calls", Out: true, Strength: 0.9},
		{Focus: "store.Shelf", Names: []string{"journal"}, Type: "depends_on", Strength: 0.4},
		{Focus: "store.Shelf", Names: []string{"store.shelf", "payments"}, Type: "calls", Strength: 0.2},
	}
	tr := look(t, s, signs, structure.Bounds{})
	equal(t, "rules", ruled(tr), []string{"0@0 of store.shelf", "1@1 of ledger", "2@1 of journal"})
	equal(t, "via", tr.Constraints[1].Via.Clause(), "which store.Shelf calls")
	equal(t, "via", tr.Constraints[2].Via.Clause(), "which depends on store.Shelf")
	equal(t, "told", len(tr.Dependencies), 0)
	equal(t, "what counts", ruled(look(t, s, signs, structure.Bounds{MinStrength: 0.5})), []string{"0@0 of store.shelf", "1@1 of ledger"})
	equal(t, "everything", len(look(t, s, signs, structure.Bounds{MinStrength: -1}).Constraints), 4)

	signs.Signals.Symbols, signs.Text = []string{"payments"}, "May I change payments?"
	equal(t, "by a claim as well", ruled(look(t, s, signs, structure.Bounds{})),
		[]string{"4@0 of payments", "0@0 of store.shelf", "1@1 of ledger", "2@1 of journal"})
}
