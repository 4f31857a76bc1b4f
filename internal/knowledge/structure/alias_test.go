package structure_test

import (
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure"
)

func TestAliasesLeadToOneEntity(t *testing.T) {
	s := newShelf(alias("payments", "billing"), alias("billing", "invoicing"), rule("invoicing"), rule("billing"), rule("payments"), rule("other"))
	for _, text := range []string{"ask payments", "ask billing", "ask invoicing", "billing and payments and invoicing"} {
		got := focal(t, s, ask(text))
		if len(got) != 1 {
			t.Fatalf("%s: %+v", text, got)
		}
		equal(t, text, got[0].Names, []string{"payments", "billing", "invoicing"})
		equal(t, text, sorted(ruled(look(t, s, ask(text), structure.Bounds{}))), []string{"2@0 of payments", "3@0 of payments", "4@0 of payments"})
	}
}

// Two people who merge the same entities into each other at the same time make a
// circle. It must end, and be one thing, the same each time.
func TestACircleOfAliasesIsOneEntity(t *testing.T) {
	s := newShelf(alias("a1", "b1"), alias("b1", "c1"), alias("c1", "a1"), alias("b1", "aa"), rule("a1"), rule("c1"), rule("aa"))
	for _, text := range []string{"a1?", "b1?", "c1?", "aa?", "aa, c1, b1 and a1"} {
		got := focal(t, s, ask(text))
		if len(got) != 1 {
			t.Fatalf("%s: %+v", text, got)
		}
		equal(t, text, got[0].Names, []string{"a1", "aa", "b1", "c1"})
		if tr := look(t, s, ask(text), structure.Bounds{}); len(tr.Constraints) != 3 {
			t.Errorf("%s: %v", text, ruled(tr))
		}
	}
}

// A name of two things means both: a rule too many does less harm than one that is
// missing.
func TestAnAmbiguousNameMeansAll(t *testing.T) {
	s := newShelf(alias("payments api", "frontdoor"), alias("orders api", "frontdoor"), rule("payments api"), rule("orders api"), rule("frontdoor"))
	equal(t, "rules", sorted(ruled(look(t, s, ask("restart frontdoor"), structure.Bounds{}))), []string{"2@0 of payments api", "3@0 of orders api", "4@0 of orders api"})
	equal(t, "one alone", sorted(ruled(look(t, s, ask("restart payments api"), structure.Bounds{}))), []string{"2@0 of payments api", "4@0 of payments api"})
}

// Split back: the alias is disputed, and the names part again.
func TestADisputedAliasIsNone(t *testing.T) {
	a := alias("payments", "billing")
	a.Status = ken.StatusDisputed
	s := newShelf(a, rule("payments"), rule("billing"))
	equal(t, "rules", ruled(look(t, s, ask("ask billing"), structure.Bounds{})), []string{"2@0 of billing"})
}

func TestAnAliasOfItselfIsNothing(t *testing.T) {
	s := newShelf(alias("payments", "Payments"), rule("payments"))
	equal(t, "rules", ruled(look(t, s, ask("ask payments"), structure.Bounds{})), []string{"1@0 of payments"})
}
