package golang_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/codegraph/golang"
)

func decls(f codegraph.File) []string {
	var out []string
	for _, d := range f.Decls {
		parent := "-"
		if d.Parent >= 0 {
			parent = f.Decls[d.Parent].Name
		}
		out = append(out, fmt.Sprintf("%s %s %s %d-%d %v | %s | %s", d.Kind, short(d.Qualified), parent, d.Line, d.End, d.Exported, d.Signature, d.Doc))
	}
	return out
}

func TestDeclarations(t *testing.T) {
	f := read(t, `// Package cart adds up, e.g. prices. More follows.
package cart

import "sync"

// A Line is one row.
type Line struct {
	sync.Mutex        // guards the rest
	*Base[int]
	Amount, tax Money // in cents
	_           int
	fn          func(a, b int) (sum int, err error)
}

// Pricer prices.
type Pricer interface {
	// Total is the sum. It is never negative.
	Total(ctx Context, lines ...*Line) (Money, error)
	Lister
	~int | string
}

type (
	// List holds values.
	List[T any, K comparable] struct{ rows []T }
	Alias = map[string]*Line
	hidden int
)

// Total adds up.
func (l *Line) Total() Money { return 0 }

func (other *Elsewhere[K, _]) Find(k K) (v *K, ok bool) { return }

func New[T any](of T, opts ...func(*T)) (*List[T, string], error) { return nil, nil }

const (
	Red Colour = iota // the first
	Blue
	plain = "x"
)

var a, b = 1, f()
var c, d = pair()
var _ = 1
func init() {}
`)
	want := []string{
		"package cart - 2-2 true | package cart | Package cart adds up, e.g. prices.",
		"type cart.Line - 7-13 true | type Line struct | A Line is one row.",
		"property cart.Line.Mutex Line 8-8 true | sync.Mutex | guards the rest",
		"property cart.Line.Base Line 9-9 true | *Base[int] | ",
		"property cart.Line.Amount Line 10-10 true | Amount Money | in cents",
		"property cart.Line.tax Line 10-10 false | tax Money | in cents",
		"property cart.Line.fn Line 12-12 false | fn func(a, b int) (sum int, err error) | ",
		"interface cart.Pricer - 16-21 true | type Pricer interface | Pricer prices.",
		"method cart.Pricer.Total Pricer 18-18 true | Total(ctx Context, lines ...*Line) (Money, error) | Total is the sum.",
		"type cart.List - 25-25 true | type List[T any, K comparable] struct | List holds values.",
		"property cart.List.rows List 25-25 false | rows []T | ",
		"type cart.Alias - 26-26 true | type Alias = map[string]*Line | ",
		"type cart.hidden - 27-27 false | type hidden int | ",
		"method cart.Line.Total Line 31-31 true | func (l *Line) Total() Money | Total adds up.",
		"method cart.Elsewhere.Find - 33-33 true | func (other *Elsewhere[K, _]) Find(k K) (v *K, ok bool) | ",
		"function cart.New - 35-35 true | func New[T any](of T, opts ...func(*T)) (*List[T, string], error) | ",
		"variable cart.Red - 38-38 true | const Red Colour = iota | the first",
		"variable cart.Blue - 39-39 true | const Blue Colour | ",
		"variable cart.plain - 40-40 false | const plain = \"x\" | ",
		"variable cart.a - 43-43 false | var a = 1 | ",
		"variable cart.b - 43-43 false | var b = f() | ",
		"variable cart.c - 44-44 false | var c | ",
		"variable cart.d - 44-44 false | var d | ",
		"function cart.init - 46-46 false | func init() | ",
	}
	if diff := cmp.Diff(want, decls(f)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLongTextsAreCut(t *testing.T) {
	f := read(t, "package cart\n\n// "+strings.Repeat("é", 300)+"\nvar x = \""+strings.Repeat("é", 150)+"\"\nvar y = `"+strings.Repeat("a\n", 500)+"`\n")
	for _, d := range f.Decls {
		check(t, f, 2000)
		if strings.Contains(d.Signature+d.Doc, "\uFFFD") {
			t.Errorf("%+v is cut within a character", d)
		}
	}
	if got := f.Decls[2].Signature; got != "var y = …" {
		t.Error(got)
	}
}

func TestWhereAFileBelongs(t *testing.T) {
	modules := map[string]string{".": "example.com/shop", "tools": "example.com/tools"}
	for _, tt := range []struct {
		path, clause, want string
		modules            map[string]string
	}{
		{"a.go", "shop", "example.com/shop", modules},
		{"cart/a.go", "cart", "example.com/shop/cart", modules},
		{"cart/a_test.go", "cart", "example.com/shop/cart", modules},
		{"cart/a_test.go", "cart_test", "example.com/shop/cart_test", modules},
		{"cart/a.go", "cart_test", "example.com/shop/cart", modules},
		{"tools/gen/a.go", "main", "example.com/tools/gen", modules},
		{"tools/a.go", "main", "example.com/tools", modules},
		{"toolset/a.go", "toolset", "example.com/shop/toolset", modules},
		{"vendor/golang.org/x/net/a.go", "net", "golang.org/x/net", modules},
		{"tools/vendor/golang.org/x/net/a.go", "net", "golang.org/x/net", modules},
		{"cart/a.go", "cart", "cart", nil},
		{"a.go", "cart", "cart", nil},
		{"a_test.go", "cart_test", "cart_test", nil},
		{"net/http/a.go", "http", "net/http", map[string]string{".": "std"}},
	} {
		f := golang.New(tt.modules)(tt.path, []byte("package "+tt.clause+"\n"))
		if f.Within != "package:"+tt.want || f.Scopes[0] != tt.want || f.Decls[0].Qualified != tt.want {
			t.Errorf("%s with %s: %s, %v, want %s", tt.path, tt.clause, f.Within, f.Scopes, tt.want)
		}
	}
}

func TestMarks(t *testing.T) {
	f := golang.New(nil)("a_test.go", []byte("// Code generated by x. DO NOT EDIT.\n\npackage a\n"))
	if !f.Generated || !f.Test || f.Language != "go" || f.Hash != "" {
		t.Errorf("%+v", f)
	}
	if f := golang.New(nil)("a.go", []byte("package a\n\n// Code generated by x. DO NOT EDIT.\n")); f.Generated || f.Test {
		t.Errorf("%+v", f)
	}
}

func TestTwinsHaveOneName(t *testing.T) {
	linux := golang.New(shop)("cart/a_linux.go", []byte("//go:build linux\n\npackage cart\nfunc F() {}\n"))
	other := golang.New(shop)("cart/a_other.go", []byte("//go:build !linux\n\npackage cart\nfunc F() {}\n"))
	if linux.Decls[1].Qualified != other.Decls[1].Qualified {
		t.Error(linux.Decls[1], other.Decls[1])
	}
}
