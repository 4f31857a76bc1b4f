package lexed

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// TestUses checks what a function f uses, and that a global g is not used.
func TestUses(t *testing.T) {
	for _, tt := range []struct{ name, file, src, want string }{
		{"parameter", "a.ts", "const g = 1\nfunction f(g: number) { return g }", ""},
		{"parameter of an inner function", "a.ts", "const g = 1\nfunction f() { const h = (g) => g; return g }", "references a.g"},
		{"destructured", "a.ts", "const g = 1, k = 2\nfunction f({ k: g }, [h = k]) { return g + h }", "references a.k"},
		{"block", "a.js", "export const g = 1\nfunction f() { { let g = 2; g() } return g }", "references a.g"},
		{"catch", "a.js", "export function g() {}\nfunction f() { try { g() } catch (g) { g() } }", "calls a.g"},
		{"text", "a.ts", "const g = 1\nfunction f() { /* g */ return 'g' + \"g\" + /g/ + `g` // g\n}", ""},
		{"template", "a.ts", "const g = 1\nfunction f() { return `g ${`${g}`} g` }", "references a.g"},
		{"key", "a.ts", "const g = 1\nfunction f() { return { g: 1, h: g } }", "references a.g"},
		{"label", "a.js", "export const g = 1\nfunction f() { g: for (;;) { break } }", ""},
		{"tag", "a.tsx", "const G = 1\nfunction f() { return <G a={1}>G</G> }", "references a.G"},
		{"type parameter", "a.ts", "class T {}\nfunction f<T>(x: T): T { return x }", ""},
		{"namespace import", "a.ts", "import * as n from './b'\nfunction f() { n.g(n.h) }", "calls b.g, references b.h"},
		{"alias", "a.ts", "import { g as h } from './b'\nfunction f() { h(); g() }", "calls b.g"},
		{"library", "a.ts", "import { g } from 'lib'\nfunction f() { g(); g.h(); JSON.parse(1) }", ""},

		{"parameter", "a.py", "g = 1\ndef f(g, *h, **k): return g", ""},
		{"assigned later", "a.py", "g = 1\ndef f():\n    print(g)\n    g = 2", ""},
		{"global", "a.py", "g = 1\ndef f():\n    global g\n    g = 2\n    g()", "references a.g, calls a.g"},
		{"comprehension", "a.py", "g = [1]\nh = 1\ndef f(): return [g for g in h]", "references a.h"},
		{"lambda", "a.py", "g = 1\ndef f(): return (lambda g: g)", ""},
		{"keyword argument", "a.py", "g = 1\ndef f(): h(g=1)", ""},
		{"string", "a.py", "g = 1\ndef f(): return 'g' '''g''' # g", ""},
		{"f-string", "a.py", "g = 1\ndef f(): return f'g {g} {{g}}'", "references a.g"},
		{"inner function", "a.py", "g = 1\ndef f():\n    def h(g): return g\n    return h(1)", ""},
		{"with, except, for", "a.py", "g = 1\ndef f():\n    with x as g: pass\n    return g", ""},

		{"local", "A.java", "class A { int g; void f() { int g = 1; h(g); } void h(int x) {} }", "calls A.h"},
		{"parameter", "A.java", "class A { int g; void f(int g) { this.g = g; } }", "references A.g"},
		{"lambda", "A.java", "class A { int g; void f() { x.map(g -> g).map((g, h) -> g); } }", "calls .map"},
		{"pattern", "A.java", "class A { int g; void f(Object o) { if (o instanceof B g && g.ok()) {} } }", "references B, calls .ok"},
		{"anonymous class", "A.java", "class A { void g() {} int k; Runnable f() { return new Base(1) { @Override public void g() { k = 1; } List<T> k(int k, B b) throws E, p.F { return k; } }; } }",
			"calls Base, references A.k, references T, references B, references E"},
		{"local class", "A.java", "class A { void g() {} void f() { class L { L(int x) { h(x); } int[] g() { return null; } } g(); } void h(int x) {} }", "references L, calls A.h, calls A.g"},
		{"calls before blocks", "A.java", "class A { boolean g() {} void f() { if (g()) { h(); } while (g()) { } synchronized (g()) { } new A() { { h(); } }; } void h() {} }",
			"calls A.g, calls A.h, calls A"},
		{"imported", "A.java", "import p.B; class A { void f() { B.of(1); new B().go(); } }", "calls p.B.of, references p.B, calls p.B, calls .go"},

		{"local", "A.cs", "class A { int g; void F() { foreach (var g in x) { g.Go(); } } void f() { int g = 0; g++; if (x is B { C: 1 } h && h.D()) {} } }", "references B, calls .D"},
		{"interpolation", "A.cs", "class A { int g; string f() { return $\"g {g:x2} {{g}}\" + @\"g\"; } }", "references A.g"},

		{"let", "a.rs", "fn g() {} fn f() { let g = 1; g; }", ""},
		{"match", "a.rs", "fn g() {} fn f() { match x { Some(g) => g, None => g() } }", ""},
		{"closure", "a.rs", "fn g() {} fn f() { x.map(|g| g); }", "calls .map"},
		{"path", "a.rs", "mod m { pub fn g() {} } struct S; impl S { fn new() {} } fn f() { m::g(); S::new(); self::m::g(); }", "calls crate.a.m.g, calls crate.a.S.new, references crate.a.S"},
		{"text", "a.rs", "fn g() {} fn f<'g>() { \"g()\"; r#\"g()\"#; 'g'; /* /* g() */ g() */ }", ""},

		{"local", "a.c", "int g; void f(void) { int a = 1, *g = &a; *g = 2; }", ""},
		{"call", "a.c", "int g(void); void f(int x) { g(); x = g; h(); s->g(); }", "calls a.g, references a.g, calls h, calls .g"},
		{"type", "a.c", "typedef int g; void f(void) { g x; struct s *y = (g)1; }", "references a.g, references s"},
		{"member", "a.cpp", "struct A { int g; void f() { g = 1; this->g++; { int g; g++; } } };", "references a.A.g"},
		{"lambda", "a.cpp", "int g; void f() { auto h = [](int g) { return g; }; }", ""},
	} {
		t.Run(tt.file+"/"+tt.name, func(t *testing.T) {
			file := check(t, New(Options{}), tt.file, tt.src)
			f := slices.IndexFunc(file.Decls, func(d codegraph.Decl) bool { return d.Name == "f" })
			if f < 0 {
				t.Fatalf("no f in %+v", file.Decls)
			}
			var got []string
			for _, u := range file.Uses {
				if u.From == f {
					got = append(got, fmt.Sprintf("%s %s", u.Kind, u.Name))
				}
			}
			if s := strings.Join(got, ", "); s != tt.want {
				t.Errorf("f uses %q, want %q", s, tt.want)
			}
		})
	}
}

// A class with methods named test_x is a test class only by its own name.
func TestAClassWithTestMethodsIsNoTest(t *testing.T) {
	for src, want := range map[string]bool{
		"class Flask:\n    def test_client(self):\n        return Client(self)\n":       false,
		"class TestFlask:\n    def test_client(self):\n        return Client(self)\n":   true,
		"class FlaskTests:\n    def test_client(self):\n        return Client(self)\n":  true,
		"def test_client():\n    return Client()\n":                                     true,
		"class App:\n    pass\n\n\ndef run():\n    return App()\n":                      false,
		"class CliTestCase(Base):\n    def test_run(self):\n        return run(self)\n": true,
	} {
		if f := New(Options{}).Extract("flask/app.py", []byte(src)); f.Test != want {
			t.Errorf("test is %v, want %v: %s", f.Test, want, src)
		}
	}
}
