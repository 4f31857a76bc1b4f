package structure_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure"
)

func TestStepsInWords(t *testing.T) {
	for _, tt := range []struct {
		how  string
		out  bool
		want string
	}{
		{"requires", true, "which payments requires"},
		{"requires", false, "which requires payments"},
		{"owned_by", true, "which owns payments"},
		{"owned_by", false, "which payments owns"},
		{"informs", true, "which payments informs"},
	} {
		s := structure.Step{Focus: "payments", Entity: "ledger", Type: tt.how, Out: tt.out}
		equal(t, tt.how, s.Clause(), tt.want)
	}
}

// Stores have these keys: with others, every dependency would be there twice.
func TestKeysOfDependencies(t *testing.T) {
	if k := structure.DependencyKey("a b", "uses", "c/d", ken.Scope{}); k != "dependency:a b\x1fuses\x1fc/d" {
		t.Errorf("%q", k)
	}
	if k := structure.DependencyKey("a", "owned_by", "b", ken.Scope{Type: ken.ScopeProject, ID: "shop"}); k != "dependency:a\x1fowned_by\x1fb\x1fproject:shop" {
		t.Errorf("%q", k)
	}
}

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

func TestNamesOfATurn(t *testing.T) {
	s := newShelf(fact("", "payments"), fact("", "ledger"), fact("", "refund pipeline"), fact("", "go"), fact("", "set"), fact("", "main"),
		fact("", "priya"), fact("", "支付服务"), fact("", "payments/api.go"))
	for _, tt := range []struct {
		text string
		want []string
	}{
		{"Can I deploy payments today?", []string{"payments"}},
		{"Is the Ledger up? And payments?", []string{"ledger", "payments"}},
		{"what does the refund pipeline do", []string{"refund pipeline"}},
		{"refund. Pipeline?", []string{}}, // not across the end of a sentence
		{"the ledger's owner is priya", []string{"ledger", "priya"}},
		{"部署支付服务吗", []string{"支付服务"}},
		{"nothing of it", []string{}},
		{"", []string{}},
	} {
		equal(t, tt.text, names(focal(t, s, ask(tt.text))), tt.want)
	}
}

// A common word that is a name somewhere would otherwise surface its rules in every
// second turn.
func TestCommonWordsAreNamesOnlyWhereMeantAsSuch(t *testing.T) {
	s := newShelf(fact("", "go"), fact("", "set"), fact("", "main"))
	for _, tt := range []struct {
		text string
		want []string
	}{
		{"go on and set the main value", []string{}},
		{"Go on. Set it. Main thing is that it works.", []string{}},
		{"Let's Go And Set The Main Title", []string{}}, // capitals mean nothing there
		{"why is `go` slow", []string{"go"}},
		{"we rewrote it in Go last year", []string{"go"}},
		{"restart the main service", []string{"main"}},
		{"```\nset\n```", []string{"set"}},
	} {
		equal(t, tt.text, names(focal(t, s, ask(tt.text))), tt.want)
	}
	signs := ask("what does it do")
	signs.Signals.Symbols = []string{"main"}
	equal(t, "a symbol", names(focal(t, s, signs)), []string{"main"})
	signs = ask("")
	signs.Signals.Keywords, signs.Signals.Entities = []string{"set", "go"}, []string{"main"}
	equal(t, "keywords", names(focal(t, s, signs)), []string{})
}

func TestStrongestFirst(t *testing.T) {
	s := newShelf(fact("", "payments"), fact("", "ledger"), fact("", "refunds"), fact("", "shop"), fact("", "acme/shop"), fact("", "storefront"), fact("", "checkout"))
	signs := structure.Signs{Text: "ask payments about LedgerClient", Project: "/home/me/storefront", Carried: []string{"refunds", "payments", "gone"},
		Scopes: []ken.Scope{{Type: ken.ScopeRepo, ID: "github.com/acme/shop"}, {Type: ken.ScopeRun, ID: "checkout"}}}
	signs.Signals.Symbols = []string{"ledger"}
	got := focal(t, s, signs)
	var origins []string
	for _, f := range got {
		origins = append(origins, f.Name+" "+string(f.From))
	}
	equal(t, "order", origins, []string{"ledger code", "payments text", "refunds session", "checkout scope", "shop scope", "storefront project"})
}

// Who pastes a log before the question, or behind it, still asks.
func TestNamesInALongText(t *testing.T) {
	s := newShelf(fact("", "payments"), fact("", "ledger"), fact("", "middle"))
	pad := strings.Repeat("nothing to see here\n", 2000)
	got := focal(t, s, ask("payments fails with\n"+pad+"middle\n"+pad+"why does the ledger do this?"))
	equal(t, "names", sorted(names(got)), []string{"ledger", "payments"})
}

func TestEveryNamedEntityIsFocal(t *testing.T) {
	var claims []ken.Claim
	var text strings.Builder
	for i := range 40 {
		claims = append(claims, fact("", fmt.Sprintf("svc%d", i)))
		fmt.Fprintf(&text, "svc%d, ", i)
	}
	if n := len(focal(t, newShelf(claims...), ask(text.String()))); n != 40 {
		t.Errorf("%d of 40", n)
	}
}

// What only disputed or foreign claims carry is no name.
func TestNamesOutsideOfTheFilter(t *testing.T) {
	disputed, scoped := fact("", "old"), fact("", "theirs")
	disputed.Status = ken.StatusDisputed
	scoped.Scope = ken.Scope{Type: ken.ScopeRepo, ID: "x"}
	s := newShelf(disputed, scoped, fact("", "payments"))
	got, _, err := structure.New(s, nil).Look(t.Context(), ask("old, theirs and payments"), &ken.Filter{Scopes: []ken.Scope{{Type: ken.ScopeRepo, ID: "y"}}, Unscoped: true}, structure.Bounds{})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "names", names(got), []string{"payments"})
}
