package lexed

import (
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// TestClassesWithinFunctions lists the types, methods and functions of a file, and what its methods call.
func TestClassesWithinFunctions(t *testing.T) {
	for _, tt := range []struct{ file, src, want string }{
		{"tree.js", "module.exports = cls => class Tree extends cls { build() { return this.step() } step() {} }",
			"function:tree.default type:tree.Tree method:tree.Tree.build method:tree.Tree.step, calls tree.Tree.step"},
		{"a.ts", "export const Timed = <T extends Ctor>(Base: T) => class extends Base { stamp(): number { return this.clock() } clock() { return 1 } }",
			"function:a.Timed type:a.Timed method:a.Timed.stamp method:a.Timed.clock, calls a.Timed.clock"},
		{"a.js", "function withLog(B) { return class Logged extends B { log() {} } }", "function:a.withLog type:a.withLog.Logged method:a.withLog.Logged.log"},
		{"a.js", "export default function (B) { return (class Named extends B { m() {} }) }", "function:a.default type:a.Named method:a.Named.m"},
		{"a.js", "const c = (o) => (B) => { if (o) { return class On extends B { on() {} } }\n return class Off extends B { off() {} } }",
			"function:a.c type:a.c.On method:a.c.On.on type:a.c.Off method:a.c.Off.off"},
		{"a.js", "function f() { class A { go() {} }\n class B extends A { run() { super.go() } }\n return new B() }",
			"function:a.f type:a.f.A method:a.f.A.go type:a.f.B method:a.f.B.run, calls .go"},
		{"a.js", "class Own { static mix(B) { return class Mixed extends B { z() {} } } }", "type:a.Own method:a.Own.mix type:a.Own.mix.Mixed method:a.Own.mix.Mixed.z"},
		{"a.js", "class Deep { m() { return class In { n() { return class Inner { o() {} } } } } }",
			"type:a.Deep method:a.Deep.m type:a.Deep.m.In method:a.Deep.m.In.n type:a.Deep.m.In.n.Inner method:a.Deep.m.In.n.Inner.o"},
		{"a.js", "exports.make = function (B) { return class Made extends B { go() {} } }", "function:a.make type:a.make.Made method:a.make.Made.go"},
		{"a.js", "module.exports = { mix(B) { return class Mixed extends B { go() {} } } }", "function:a.mix type:a.mix.Mixed method:a.mix.Mixed.go"},
		// what is no class
		{"a.jsx", "function View() { return <p class=\"x\">a class of its own {1}</p> }", "function:a.View"},
		{"a.js", "const list = rows.map(x => ({ class: x, a: { b() {} } }))", ""},
		{"a.js", "function f(el) { return el.class + { class: 1 }.class }", "function:a.f"},
		{"a.js", "function f() { const s = 'class A { m() {} }' /* class B { m() {} } */; return s }", "function:a.f"},
		{"a.js", "function f() { const C = class { m() {} }; return new C() }", "function:a.f"},

		{"mk.py", "def make():\n    class Inner(Base):\n        def m(self):\n            return self.n()\n        def n(self): ...\n    return Inner()\n",
			"function:mk.make type:mk.make.Inner method:mk.make.Inner.m method:mk.make.Inner.n, calls mk.make.Inner.n"},
		{"mk.py", "def deco(arg):\n    def wrap(fn):\n        class W:\n            def call(self):\n                def help(): ...\n                return help\n        return W\n    return wrap\n",
			"function:mk.deco type:mk.deco.W method:mk.deco.W.call"},
		{"mk.py", "def a():\n    class X:\n        def m(self): ...\n\ndef b():\n    if a:\n        class X:\n            def k(self): ...\n    return X\n",
			"function:mk.a type:mk.a.X method:mk.a.X.m function:mk.b type:mk.b.X method:mk.b.X.k"},
		{"mk.py", "def f():\n    class A:\n        def go(self): ...\n    class B(A):\n        def run(self):\n            return super().go()\n    return B\n",
			"function:mk.f type:mk.f.A method:mk.f.A.go type:mk.f.B method:mk.f.B.run, calls .go"},
		{"mk.py", "def f():\n    def g():\n        def h(): ...\n    x = 'class A: ...'\n    return g\n", "function:mk.f"},
	} {
		f := check(t, New(Options{}), tt.file, tt.src)
		var got []string
		for _, d := range f.Decls {
			if d.Kind != codegraph.KindProperty && d.Kind != codegraph.KindVariable {
				got = append(got, codegraph.ID(d.Kind, d.Qualified))
			}
		}
		calls := ""
		for _, u := range f.Uses {
			if u.From >= 0 && f.Decls[u.From].Kind == codegraph.KindMethod && u.Kind == codegraph.Calls {
				calls += ", calls " + u.Name
			}
		}
		if s := strings.Join(got, " ") + calls; s != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.src, s, tt.want)
		}
	}
}

// TestAClassWithinAFunctionIsUsed follows the value of a function to the class that it gives back.
func TestAClassWithinAFunctionIsUsed(t *testing.T) {
	for file, src := range map[string]string{
		"a.py": "class Inner:\n    def n(self): ...\n\ndef make():\n    class Base: ...\n    class Inner(Base):\n        def m(self): ...\n    return Inner()\n\ndef use():\n    make().m()\n",
		"a.js": "export function make(B) { class Base {}\n return class Inner extends Base { m() {} } }\nexport function use() { const C = make(); new C().m() }\n",
	} {
		f := New(Options{}).Extract(file, []byte(src))
		i := slices.IndexFunc(f.Decls, func(d codegraph.Decl) bool { return d.Name == "make" })
		if f.Decls[i].Type != "a.make.Inner" {
			t.Errorf("%s: make gives back %q", file, f.Decls[i].Type)
		}
		if !slices.ContainsFunc(f.Uses, func(u codegraph.Use) bool {
			return u.Kind == codegraph.Inherits && u.Name == "a.make.Base" && f.Decls[u.From].Qualified == "a.make.Inner"
		}) {
			t.Errorf("%s: Inner does not inherit from Base: %+v", file, f.Uses)
		}
		if !slices.ContainsFunc(f.Uses, func(u codegraph.Use) bool { return u.Kind == codegraph.Calls && u.Name == "a.make.m" && u.Typed }) {
			t.Errorf("%s: no call of m: %+v", file, f.Uses)
		}
	}
}
