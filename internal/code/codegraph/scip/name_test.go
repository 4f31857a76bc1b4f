package scip

import (
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

func TestNodesBySymbol(t *testing.T) {
	for _, tt := range []struct {
		path, language, symbol string
		kind                   uint64
		before, want           string
	}{
		{"cart/cart.go", "go", "scip-go gomod example.com/x v1 `example.com/x/cart`/Line#Total().", 0, "", "method:example.com/x/cart.Line.Total"},
		{"cart/cart.go", "go", "scip-go gomod example.com/x v1 `example.com/x/cart`/New().", 17, "", "function:example.com/x/cart.New"},
		{"cart/cart.go", "go", "scip-go gomod example.com/x v1 `example.com/x/cart`/Pricer#", 21, "type", "interface:example.com/x/cart.Pricer"},
		{"cart/cart.go", "go", "scip-go gomod example.com/x v1 `example.com/x/cart`/", 0, "", "package:example.com/x/cart"},
		{"A.java", "java", "semanticdb maven . . com/example/Shop#Cart#total(+1).", 26, "", "method:com.example.Shop.Cart.total"},
		{"A.java", "java", "semanticdb maven . . com/example/Shop#MAX.", 79, "", "property:com.example.Shop.MAX"},
		{"a.cs", "csharp", "scip-dotnet nuget . . Shop/ICart#", 21, "", "interface:Shop.ICart"},
		{"a.cs", "csharp", "scip-dotnet nuget . . Shop/", 0, "", "namespace:Shop"},
		{"src/a.rs", "rust", "rust-analyzer cargo shop 0.1 cart/Pricer#", 0, "trait", "interface:cart.Pricer"},
		{"src/a.rs", "rust", "rust-analyzer cargo shop 0.1 cart/macros/sum!", 0, "", "function:cart.macros.sum"},
		{"src/a.ts", "typescript", "scip-typescript npm p 1 src/`a.ts`/C#`<get>x`().", 0, "get", "method:src/a.C.x"},
		{"src/a.ts", "typescript", "scip-typescript npm p 1 src/`a.ts`/T#typeLiteral0:b.", 0, "", "property:src/a.T.b"},
		{"src/a.ts", "typescript", "scip-typescript npm p 1 src/`a.ts`/N/f().", 0, "", "function:src/a.N.f"},
		{"src/a.ts", "typescript", "scip-typescript npm p 1 src/`a.ts`/f().(x)", 0, "", ""},
		{"src/a.ts", "typescript", "scip-typescript npm p 1 src/`a.ts`/f().g().", 0, "", ""},
		{"src/a.ts", "typescript", "scip-typescript npm p 1 src/`a.ts`/C#[T]", 0, "", ""},
		{"a.py", "python", "scip-python python p 1 `pkg.a`/__init__:", 0, "", ""},
		{"a.cc", "cpp", "cxx . . . ns/C#m(1a2b).", 0, "", "method:a.ns.C.m"},
	} {
		s, ok := parse(tt.symbol)
		if !ok {
			t.Fatal(tt.symbol)
		}
		got := ""
		if k := kindOf(s, tt.kind, tt.language, tt.before); k != "" {
			got = codegraph.ID(k, qualified(s, tt.path, tt.language))
		}
		if got != tt.want {
			t.Errorf("%s is %q, want %q", tt.symbol, got, tt.want)
		}
	}
}

func TestCalls(t *testing.T) {
	for after, want := range map[string]bool{
		"(x)": true, " (x)": true, "<T>(x)": true, "[int](x)": true, "!(x)": true, "::<T>(x)": true, "?.(x)": true, "<A, B<C>>()": true,
		"": false, ".b()": false, " = (x)": false, "[0]": false, " < b; c(": false, "<": false, " < b > (c)": true,
	} {
		if called([]byte(after)) != want {
			t.Errorf("%q", after)
		}
	}
}

func TestColumns(t *testing.T) {
	text := []byte("é🐕 x\r\n\ty")
	for _, tt := range []struct {
		enc  encoding
		at   span
		want string
		ok   bool
	}{
		{utf8Units, span{0, 7, 0, 8}, "x", true},
		{utf16Units, span{0, 4, 0, 5}, "x", true},
		{utf32Units, span{0, 3, 0, 4}, "x", true},
		{utf16Units, span{1, 1, 1, 2}, "y", true},
		{utf16Units, span{1, 1, 1, 3}, "", false},
		{utf8Units, span{0, 1, 0, 99}, "", false},
		{utf8Units, span{2, 0, 2, 0}, "", false},
		{utf8Units, span{0, 0, 1, 1}, "", false},
	} {
		c := newContent(text, tt.enc)
		if _, what, _, ok := c.at(tt.at); string(what) != tt.want || ok != tt.ok {
			t.Errorf("%v in %d: %q, %v", tt.at, tt.enc, what, ok)
		}
	}
}

func TestExtent(t *testing.T) {
	c := newContent([]byte("def f():\n    a\n\n    b\nc\nfunction g() {\n  a\n}\nd\n  class X\n    a\n  end\n  b\n"), utf8Units)
	for start, want := range map[int]int{0: 3, 4: 4, 5: 7, 9: 11, 99: 99} {
		if got := c.extent(start); got != want {
			t.Errorf("from %d to %d, want %d", start, got, want)
		}
	}
}

func TestOwners(t *testing.T) {
	got := owners([]region{
		{from: 4, to: 4, id: 3, value: true}, {from: 1, to: 8, id: 0}, {from: 2, to: 5, id: 1, code: true}, {from: 3, to: 3, id: 2},
		{from: 7, to: 7, id: 4, value: true}, {from: 7, to: 99, id: 5}, {from: 12, to: 13, id: 6},
	}, 11)
	want := []int32{-1, 0, 1, 2, 1, 1, 0, 4, 5, 5, 5}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A file that is one line, as a minifier leaves it.
func TestOneLongLine(t *testing.T) {
	c := newContent([]byte(strings.Repeat("é", 1<<20)), utf16Units)
	for col := 0; col < 1<<20; col += 8 {
		if _, what, _, ok := c.at(span{0, col, 0, col + 1}); !ok || string(what) != "é" {
			t.Fatalf("%d: %q, %v", col, what, ok)
		}
	}
}
