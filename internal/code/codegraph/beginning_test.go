package codegraph

import (
	"strings"
	"testing"
)

func TestBeginning(t *testing.T) {
	g := New()
	g.Apply(shop(), nil)
	v := g.View()
	for begun, want := range map[string]string{
		"Li":                   "type:example.com/shop/cart.Line",
		"cart.Line.T":          "method:example.com/shop/cart.Line.Total",
		"example.com/shop/pay": "function:example.com/shop/pay.Charge package:example.com/shop/pay variable:example.com/shop/pay.key",
		"interface:example":    "interface:example.com/shop/cart.Pricer",
		"web/mon":              "function:web/money.format file:web/money.ts file:web/money.test.ts",
		"ine":                  "",
		"art.Line":             "",
		"test":                 "",
	} {
		var ids []string
		for _, n := range v.Beginning(begun, 10) {
			ids = append(ids, n.ID)
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("%s: %s, want %s", begun, got, want)
		}
	}
	if n := len(v.Beginning("", 3)); n != 3 {
		t.Errorf("of everything, %d", n)
	}
}
