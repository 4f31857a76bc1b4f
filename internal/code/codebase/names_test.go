package codebase_test

import (
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// TestNamesAsWritten finds declarations by the names that people write in questions and that traces have.
func TestNamesAsWritten(t *testing.T) {
	g := open(t, project(t, map[string]string{
		"go.mod":               "module example.com/nats.go/v5\n\ngo 1.24\n",
		"conn.go":              "package nats\n\n// Conn is open.\ntype Conn struct{ base }\n\nfunc Connect() *Conn { return nil }\n\nfunc (nc *Conn) Drain() {}\n\ntype base struct{}\n\nfunc (b *base) Reset() {}\n",
		"msg.go":               "package nats\n\ntype Subscription struct{}\n\nfunc (s *Subscription) Drain() {}\n\nfunc (s *Subscription) NextMsg() {}\n",
		"src/shop/__init__.py": "from .app import Shop as Shop\n",
		"src/shop/app.py":      "class Base:\n    def route(self):\n        pass\n\nclass Shop(Base):\n    def run(self):\n        pass\n    def make_till(self):\n        pass\n\nclass Till:\n    def open_drawer(self):\n        pass\n",
		"tests/conftest.py":    "import shop\n\ndef app():\n    return shop.Shop()\n",
		"jar/Till.java":        "package jar;\n\npublic class Till {\n  public Till() {}\n  public Till(int n) {}\n  public static class Till2 {}\n}\n",
		"web/package.json":     `{"name": "web"}`,
		"web/index.ts":         "import * as w from \"./all\";\nexport { w };\n",
		"web/all.ts":           "export * from \"./text\";\n",
		"web/text.ts":          "export function text() {}\n",
		"web/res.js":           "var res = {};\nmodule.exports = res;\nres.set =\nres.header = function header() {};\ndefineGetter(res, 'fresh', function () { return 1; });\n",
	}))
	build(t, g)
	for line := range strings.Lines(`nats.Conn type:example.com/nats.go/v5.Conn
		nats.Connect function:example.com/nats.go/v5.Connect
		nats.Conn.Drain method:example.com/nats.go/v5.Conn.Drain
		(*Conn).Drain method:example.com/nats.go/v5.Conn.Drain
		nats.(*Conn).Drain method:example.com/nats.go/v5.Conn.Drain
		example.com/nats%2ego/v5.(*Conn).Drain method:example.com/nats.go/v5.Conn.Drain
		nc.Drain method:example.com/nats.go/v5.Conn.Drain
		Conn.Reset method:example.com/nats.go/v5.base.Reset
		sub.NextMsg method:example.com/nats.go/v5.Subscription.NextMsg
		conn.Drain method:example.com/nats.go/v5.Conn.Drain
		shop.Shop type:shop.app.Shop
		shop.Shop.route method:shop.app.Base.route
		Shop.route method:shop.app.Base.route
		app.run method:shop.app.Shop.run
		t.open_drawer method:shop.app.Till.open_drawer
		w.text function:web/text.text
		jar.Till type:jar.Till
		Till.Till method:jar.Till.Till
		res.set method:web/res.res.set
		res.fresh property:web/res.res.fresh`) {
		f := strings.Fields(line)
		n, err := g.View().One(f[0])
		if err != nil || n.ID != f[1] {
			t.Errorf("%s is %s (%v), want %s", f[0], n.ID, err, f[1])
		}
	}
	for _, name := range []string{"nats.Gone", "nope.text2", "x.Drain2", "a.b.c", "...", "(*", ").", "a/b.c.d", "."} {
		if n, _ := g.View().Find(name, 3); len(n) > 0 {
			t.Errorf("%q is %v", name, n)
		}
	}
}

func FuzzFind(f *testing.F) {
	g := codegraph.New()
	g.Apply([]codegraph.File{{Path: "a.py", Language: "python", Within: "package:a", Aliases: []codegraph.Alias{{Name: "b", Target: "a.T"}, {Name: "*", Target: "a"}},
		Decls: []codegraph.Decl{{Kind: codegraph.KindType, Name: "T", Qualified: "a.T", Parent: -1}, {Kind: codegraph.KindVariable, Name: "v", Qualified: "a.v", Parent: -1, Type: "a.v.x"}}}}, nil)
	for _, s := range []string{"a.T", "a.(*T).x", "v.x", "b.b.b", "a/b.c[d].e", "%2e(*).", "a.gone"} {
		f.Add(s)
	}
	f.Fuzz(func(_ *testing.T, s string) { g.View().Find(s, 3) })
}
