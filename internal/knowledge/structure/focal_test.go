package structure_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure"
)

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
	got, err := structure.New(s, nil).Focal(t.Context(), ask("old, theirs and payments"), &ken.Filter{Scopes: []ken.Scope{{Type: ken.ScopeRepo, ID: "y"}}, Unscoped: true})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "names", names(got), []string{"payments"})
}
