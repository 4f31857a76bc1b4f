package golang_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/codegraph/golang"
	"github.com/kenlayer/ken/internal/race"
)

func TestImports(t *testing.T) {
	f := read(t, `package cart

import "fmt"
import (
	m "example.com/shop/money"
	. "strings"
	_ "embed"
	"C"
	"../tax"
)
`)
	want := []codegraph.Import{
		{Path: "fmt", Target: "package:fmt", Line: 3},
		{Path: "example.com/shop/money", Name: "m", Target: "package:example.com/shop/money", Line: 5},
		{Path: "strings", Name: ".", Target: "package:strings", Line: 6},
		{Path: "embed", Name: "_", Target: "package:embed", Line: 7},
		{Path: "C", Line: 8},
		{Path: "../tax", Target: "package:example.com/shop/tax", Line: 9},
	}
	if diff := cmp.Diff(want, f.Imports); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"example.com/shop/cart", "strings"}, f.Scopes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The valid parts of a broken file are read; the rest is a problem with its line.
func TestBrokenFiles(t *testing.T) {
	for _, tt := range []struct {
		name, src   string
		want, lines string
	}{
		{"nothing", "", "", "1"},
		{"binary", "\x7fELF\x00\x00\x01", "", "1"},
		{"UTF-16", "\xff\xfep\x00a\x00", "", "0"},
		{"a clause alone", "package x", "x", ""},
		{"a mark of byte order", "\uFEFFpackage x\nfunc F() {}", "x F", ""},
		{"CRLF", "package x\r\n\r\n// F does.\r\nfunc F() {}\r\n", "x F", ""},
		{"a function cut short", "package x\nfunc F() {}\nfunc G() { if", "x F G", "3"},
		{"a type cut short", "package x\ntype T struct { a int\n b st", "x T a b", "3"},
		{"a word too many", "package x\nfunc F() {}\nfoo\nfunc G() { return 1 2 }\ntype T struct { A int }", "x F G T A", "3 4"},
		{"a conflict", "package x\n<<<<<<< HEAD\nfunc F() {}\n=======\nfunc G() {}\n>>>>>>> other\nfunc H() {}\n", "x F G H", "2 4 6"},
		{"a conflict at the top", "<<<<<<< HEAD\n// A\n=======\n// B\n>>>>>>> other\npackage x\n\nfunc F() {}\n", "x F", "1 3 5"},
		{"no clause", "func F() {}\ntype T struct { A int }\nfunc (T) M() {}", "F T A M", "1"},
		{"a method of nothing", "package x\nfunc () M() {}\nfunc (a, b T) N() {}", "x N", ""},
		{"names left out", "package x\nvar = 1\nfunc () {}\ntype struct {}\nconst C = 1", "x C", "2 3 4"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := golang.New(nil)("x/a.go", []byte(tt.src))
			check(t, f, strings.Count(tt.src, "\n")+1)
			var names, lines []string
			for _, d := range f.Decls {
				names = append(names, d.Name)
			}
			for _, p := range f.Problems {
				lines = append(lines, fmt.Sprint(p.Line))
			}
			if got := strings.Join(names, " "); got != tt.want {
				t.Errorf("declares %q, want %q", got, tt.want)
			}
			if got := strings.Join(lines, " "); got != tt.lines {
				t.Errorf("problems %+v, want lines %q", f.Problems, tt.lines)
			}
		})
	}
}

func TestProblemsAreBounded(t *testing.T) {
	f := golang.New(nil)("x/a.go", []byte("package x\n"+strings.Repeat("?\n", 10_000)))
	if n := len(f.Problems); n == 0 || n > 51 {
		t.Errorf("%d problems", n)
	}
}

// A name occurs once for each declaration and kind, with its first line.
func TestUsesStandOnce(t *testing.T) {
	f := read(t, "package cart\nfunc f() {\n\tg()\n\tg()\n\tx := g\n\tx()\n}\nfunc h() { g() }\n")
	want := []codegraph.Use{
		{From: 1, Kind: codegraph.Calls, Name: "example.com/shop/cart.g", Qualified: true, Line: 3},
		{From: 1, Kind: codegraph.References, Name: "example.com/shop/cart.g", Qualified: true, Line: 5},
		{From: 2, Kind: codegraph.Calls, Name: "example.com/shop/cart.g", Qualified: true, Line: 8},
	}
	if diff := cmp.Diff(want, f.Uses); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Lines are those of the file; //line comments are ignored.
func TestLinesAreThoseOfTheFile(t *testing.T) {
	f := read(t, "package cart\n//line other.y:900\nfunc f() { g() }\n")
	if f.Decls[1].Line != 3 || f.Uses[0].Line != 3 {
		t.Errorf("%+v %+v", f.Decls, f.Uses)
	}
}

func TestWhatTestsAreFor(t *testing.T) {
	f := golang.New(shop)("cart/a_test.go", []byte(`package cart_test

import "testing"

func TestOpen(t *testing.T) {}
func TestLine_Total(t *testing.T) {}
func BenchmarkAdd(b *testing.B) {}
func FuzzParse(f *testing.F) {}
func ExampleLine_Total() {}
func Example() {}
func Test(t *testing.T) {}
func Testing() {}
func TestÖffnen(t *testing.T) {}
`))
	var got []string
	for _, u := range uses(f) {
		if strings.Contains(u, " tests ") {
			got = append(got, strings.TrimPrefix(u, "cart_test."))
		}
	}
	same(t, got, []string{
		"TestOpen tests cart.Open", "TestOpen tests cart.open", "BenchmarkAdd tests cart.Add", "BenchmarkAdd tests cart.add", "FuzzParse tests cart.Parse", "FuzzParse tests cart.parse",
		"TestLine_Total tests cart.Line", "TestLine_Total tests cart.line", "TestLine_Total tests cart.Line.Total", "TestLine_Total tests cart.line.Total",
		"ExampleLine_Total tests cart.Line", "ExampleLine_Total tests cart.line", "ExampleLine_Total tests cart.Line.Total", "ExampleLine_Total tests cart.line.Total",
		"TestÖffnen tests cart.Öffnen", "TestÖffnen tests cart.öffnen",
	})
	if f := read(t, "package cart\nfunc TestOpen() {}\n"); len(f.Uses) > 0 {
		t.Errorf("no test, and yet %v", uses(f))
	}
}

// The time is linear for generated files, too.
func TestDeepAndWideFiles(t *testing.T) {
	race.SkipLong(t)
	for name, src := range map[string]string{
		"chain":    "package x\nfunc f(a T) { a" + strings.Repeat(".b()", 20_000) + " }",
		"parens":   "package x\nvar a = " + strings.Repeat("(", 20_000) + "1" + strings.Repeat(")", 20_000),
		"sum":      "package x\nvar a = " + strings.Repeat("b + ", 20_000) + "c",
		"literals": "package x\nvar a = " + strings.Repeat("[]T{", 5_000) + strings.Repeat("}", 5_000),
		"embedded": "package x\n" + embeds(200),
	} {
		t.Run(name, func(t *testing.T) {
			f := golang.New(nil)("x/a.go", []byte(src))
			if len(f.Decls) < 2 {
				t.Errorf("%+v", f.Problems)
			}
		})
	}
}

// embeds returns n types that each embed all others.
func embeds(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "type T%d struct {", i)
		for k := range n {
			fmt.Fprintf(&b, "T%d;", k)
		}
		b.WriteString("}\n")
	}
	b.WriteString("func f(t T0) { t.a(); t.b() }\n")
	return b.String()
}
