package typed_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/codegraph/typed"
)

const gomod = "-- go.mod --\nmodule example.com/shop\n\ngo 1.26\n"

// writeTree writes a tree, given in the format of package txtar.
func writeTree(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(text)).Files {
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// check checks a tree that must not be broken.
func check(t *testing.T, dir string, o typed.Options) codegraph.Refinement {
	t.Helper()
	needGo(t)
	ref, report, err := typed.Check(t.Context(), dir, o)
	if err != nil || len(report.Problems) > 0 {
		t.Fatalf("%v, %+v", err, report)
	}
	return ref
}

// edges returns the edges of a refinement, without the path of the module.
func edges(ref codegraph.Refinement, kinds ...codegraph.EdgeKind) []string {
	var out []string
	for _, f := range ref.Files {
		for _, e := range f.Edges {
			if len(kinds) == 0 || slices.Contains(kinds, e.Kind) {
				out = append(out, strings.ReplaceAll(fmt.Sprintf("%s %s %s", e.From, e.Kind, e.To), "example.com/shop", "shop"))
			}
		}
	}
	slices.Sort(out)
	return out
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

const shop = gomod + `
-- cart/cart.go --
package cart

import (
	"io"

	"example.com/shop/money"
)

type Pricer interface{ Price() money.Amount }

type base struct{ n int }

func (b *base) add(more int) { b.n += more }

type Line struct {
	base
	Each money.Amount
	hook func()
}

func (l *Line) Price() money.Amount { l.add(1); l.hook(); return l.Each.Times(l.n) }

func (l *Line) Read(p []byte) (int, error) { return 0, io.EOF }

func Sum(all ...Pricer) (sum money.Amount) {
	for _, p := range all {
		sum = money.Add(sum, p.Price())
	}
	return sum
}

var _ io.Reader = (*Line)(nil)
-- money/money.go --
package money

type Amount int

func (a Amount) Times(n int) Amount { return a * Amount(n) }

func (a Amount) String() string { return "" }

func Add(a, b Amount) Amount { return max(a, b) + Map([]Amount{a}, Amount.Double)[0] }

func (a Amount) Double() Amount { return a.Times(2) }

func Map[T any](of []T, f func(T) T) []T { return of }

type Pair[A, B any] struct { First A; Second B }

func Swap(p Pair[int, Amount]) Pair[Amount, int] { return Pair[Amount, int]{First: p.Second, Second: p.First} }
`

func TestEdges(t *testing.T) {
	same(t, edges(check(t, writeTree(t, shop), typed.Options{})),
		"method:shop/cart.Pricer.Price references type:shop/money.Amount",
		"method:shop/cart.base.add references type:shop/cart.base",
		"method:shop/cart.base.add references property:shop/cart.base.n",
		"type:shop/cart.Line inherits type:shop/cart.base",
		"type:shop/cart.Line implements interface:shop/cart.Pricer",
		"type:shop/cart.Line implements interface:io.Reader",
		"property:shop/cart.Line.Each references type:shop/money.Amount",
		"method:shop/cart.Line.Price references type:shop/cart.Line",
		"method:shop/cart.Line.Price references type:shop/money.Amount",
		"method:shop/cart.Line.Price references property:shop/cart.Line.Each",
		"method:shop/cart.Line.Price references property:shop/cart.base.n",
		"method:shop/cart.Line.Price calls method:shop/cart.base.add",
		"method:shop/cart.Line.Price calls property:shop/cart.Line.hook",
		"method:shop/cart.Line.Price calls method:shop/money.Amount.Times",
		"method:shop/cart.Line.Read references type:shop/cart.Line",
		"function:shop/cart.Sum references interface:shop/cart.Pricer",
		"function:shop/cart.Sum references type:shop/money.Amount",
		"function:shop/cart.Sum calls function:shop/money.Add",
		"function:shop/cart.Sum calls method:shop/cart.Pricer.Price",
		"file:cart/cart.go references type:shop/cart.Line",
		"method:shop/money.Amount.Times references type:shop/money.Amount",
		"method:shop/money.Amount.String references type:shop/money.Amount",
		"method:shop/money.Amount.Double references type:shop/money.Amount",
		"method:shop/money.Amount.Double calls method:shop/money.Amount.Times",
		"function:shop/money.Add references type:shop/money.Amount",
		"function:shop/money.Add calls function:shop/money.Map",
		"function:shop/money.Add references method:shop/money.Amount.Double",
		"function:shop/money.Swap references type:shop/money.Pair",
		"function:shop/money.Swap references type:shop/money.Amount",
		"function:shop/money.Swap references property:shop/money.Pair.First",
		"function:shop/money.Swap references property:shop/money.Pair.Second",
	)
}

func TestFilesAreThoseThatWereRead(t *testing.T) {
	dir := writeTree(t, shop)
	ref := check(t, dir, typed.Options{})
	var paths []string
	for _, f := range ref.Files {
		paths = append(paths, f.Path)
		text, err := os.ReadFile(filepath.Join(dir, f.Path))
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(text); f.Hash != "sha256:"+hex.EncodeToString(sum[:]) {
			t.Errorf("%s has hash %s", f.Path, f.Hash)
		}
	}
	same(t, paths, "cart/cart.go", "money/money.go")
	if ref.Source != typed.Source || len(ref.Kinds) != 4 {
		t.Errorf("%+v", ref)
	}
}

const tests = `
-- cart/export_test.go --
package cart

var Hidden = hidden

type fake struct{}

func (fake) Price() int { return hidden(1) }

type small interface{ Price() int }
-- cart/cart.go --
package cart

type Pricer interface{ Price() int }

type Line struct{}

func (Line) Price() int { return 1 }

func hidden(n int) int { return n }
-- cart/cart_test.go --
package cart_test

import (
	"testing"

	"example.com/shop/cart"
	"example.com/shop/check"
)

type other struct{}

func (other) Price() int { return 2 }

func TestLine(t *testing.T) { check.Price(t, cart.Line{}); _ = cart.Hidden(1) }
-- check/check.go --
package check

import (
	"testing"

	"example.com/shop/cart"
)

func Price(t *testing.T, p cart.Pricer) { p.Price() }
`

// Internal and external tests of a package, what only they can see, and a package that both import.
func TestTests(t *testing.T) {
	dir := writeTree(t, gomod+tests)
	want := []string{
		"file:cart/cart.go x", // a place to start
		"variable:shop/cart.Hidden references function:shop/cart.hidden",
		"method:shop/cart.fake.Price references type:shop/cart.fake",
		"method:shop/cart.fake.Price calls function:shop/cart.hidden",
		"type:shop/cart.fake implements interface:shop/cart.Pricer",
		"type:shop/cart.fake implements interface:shop/cart.small",
		"type:shop/cart.Line implements interface:shop/cart.Pricer",
		"type:shop/cart.Line implements interface:shop/cart.small",
		"method:shop/cart.Line.Price references type:shop/cart.Line",
		"type:shop/cart_test.other implements interface:shop/cart.Pricer",
		"type:shop/cart_test.other implements interface:shop/cart.small",
		"method:shop/cart_test.other.Price references type:shop/cart_test.other",
		"function:shop/cart_test.TestLine calls function:shop/check.Price",
		"function:shop/cart_test.TestLine references type:shop/cart.Line",
		"function:shop/cart_test.TestLine calls variable:shop/cart.Hidden",
	}[1:]
	check1 := []string{"function:shop/check.Price references interface:shop/cart.Pricer", "function:shop/check.Price calls method:shop/cart.Pricer.Price"}
	same(t, edges(check(t, dir, typed.Options{})), append(slices.Clone(want), check1...)...)
	for _, name := range []string{"example.com/shop/cart", "example.com/shop/cart_test"} {
		ref := check(t, dir, typed.Options{Packages: []string{name}})
		if got := edges(ref); name == "example.com/shop/cart" {
			same(t, got, want...)
		} else if len(ref.Files) == 0 || len(ref.Files) > 3 {
			t.Errorf("%s: %d files", name, len(ref.Files))
		}
	}
	same(t, edges(check(t, dir, typed.Options{Packages: []string{"example.com/shop/check"}})), check1...)
}

func TestTheSameEveryTime(t *testing.T) {
	dir := writeTree(t, gomod+tests)
	first := check(t, dir, typed.Options{Workers: 1})
	for range 3 {
		if diff := cmp.Diff(first, check(t, dir, typed.Options{Workers: 4})); diff != "" {
			t.Fatal(diff)
		}
	}
}
