package middleware

import (
	"fmt"
	"slices"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/codegraph"
)

// declared is a graph of a file for each package, with the things that it declares, as
// "kind name", and who calls what.
func declared(packages map[string][]string, calls map[string]int) *codegraph.View {
	g := codegraph.New()
	var files []codegraph.File
	for pkg, list := range packages {
		f := codegraph.File{Path: pkg + "/" + pkg + ".go", Hash: pkg, Language: "go", Within: "package:example.com/" + pkg, Test: pkg == "tests"}
		for _, d := range list {
			var kind, name string
			_, _ = fmt.Sscan(d, &kind, &name)
			q := "example.com/" + pkg + "." + name
			f.Decls = append(f.Decls, codegraph.Decl{Kind: codegraph.Kind(kind), Name: name[lastDot(name):], Qualified: q, Parent: -1, Line: 1, End: 1, Exported: true})
		}
		files = append(files, f)
	}
	for name, n := range calls {
		for i := range n {
			files = append(files, codegraph.File{Path: fmt.Sprintf("use%s/u%d.go", name, i), Hash: fmt.Sprint(name, i), Language: "go",
				Decls: []codegraph.Decl{{Kind: codegraph.KindFunction, Name: "u", Qualified: fmt.Sprintf("example.com/use%s.u%d", name, i), Parent: -1, Line: 1, End: 1}},
				Uses:  []codegraph.Use{{From: 0, Kind: codegraph.Calls, Name: "example.com/" + name, Qualified: true, Line: 1}}})
		}
	}
	g.Apply(files, nil)
	return g.View()
}

func lastDot(s string) int {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == '.' {
			return i + 1
		}
	}
	return 0
}

// A name says what it surely means, and nothing where it may mean anything.
func TestWhatNamesMean(t *testing.T) {
	v := declared(map[string][]string{
		"store": {"type Shelf", "method Shelf.View", "method Engine.Shelf", "function Open", "type Reader", "function Grab"},
		"cart":  {"type Basket", "method Basket.View", "function Reader", "method Page.Flip", "method Book.Flip", "method Song.Flip", "function Grab"},
		"depot": {"method Leaf.Flip", "function Weigh", "method Crane.Hoist", "function Grab", "type Layer"},
		"yard":  {"function Weigh", "function Scale", "function Grab", "function Hoister"},
		"tests": {"type Fake"},
	}, map[string]int{"depot.Grab": 20, "cart.Grab": 2})
	for _, tt := range []struct {
		symbols, entities, want []string
	}{
		{symbols: []string{"Shelf"}, want: []string{"store.Shelf 0.9"}},                            // and not the method of that name
		{symbols: []string{"*Shelf", "Shelf()"}, want: []string{"store.Shelf 0.9"}},                // once
		{symbols: []string{"store.Shelf"}, want: []string{"store.Shelf 1"}},                        // whole
		{symbols: []string{"Shelf::View"}, want: []string{"store.Shelf.View 1"}},                   // as other languages write it
		{symbols: []string{"Engine#Shelf"}, want: []string{"store.Engine.Shelf 1"}},                // likewise
		{symbols: []string{".Shelf"}, want: []string{"store.Engine.Shelf 0.7", "store.Shelf 0.7"}}, // a member, perhaps
		{symbols: []string{"Weigh"}, want: []string{"depot.Weigh 0.7", "yard.Weigh 0.7"}},
		{symbols: []string{"Flip"}},                                                   // four, none used more
		{symbols: []string{"Grab"}, want: []string{"depot.Grab 0.5"}},                 // four, one used far more
		{symbols: []string{"open", "shelf", "unknown", "x", ""}},                      // common, or not so spelled
		{symbols: []string{"Open"}, want: []string{"store.Open 0.9"}},                 // a common word with a capital, and one thing
		{symbols: []string{"Fake"}},                                                   // of tests
		{symbols: []string{"example.com/tests.Fake"}, want: []string{"tests.Fake 1"}}, // unless named fully
		{symbols: []string{"store/store.go", "/repo/cart/cart.go"}, want: []string{"store/store.go 1", "cart/cart.go 1"}},
		{symbols: []string{`yard\yard.go`}, want: []string{"yard/yard.go 1"}},
		{symbols: []string{"/elsewhere/cart/cart.go", "cart.go.orig"}},
		{entities: []string{"Basket"}, want: []string{"cart.Basket 0.4"}},
		{entities: []string{"Weigh", "Layer", "Hoist", "basket", "Baskets", "Basket Ball"}}, // several, common, no type, no name
		{symbols: []string{"Weigh", "store.Shelf"}, entities: []string{"Basket"}, want: []string{"store.Shelf 1", "depot.Weigh 0.7", "yard.Weigh 0.7", "cart.Basket 0.4"}},
	} {
		var got []string
		for _, s := range resolve(v, mentions(&ken.Signals{Symbols: tt.symbols, Entities: tt.entities}, "/repo"), 20) {
			got = append(got, fmt.Sprint(shortName(&s.Node), " ", s.sure))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q %q: got %q, want %q", tt.symbols, tt.entities, got, tt.want)
		}
	}
	if got := resolve(v, mentions(&ken.Signals{Symbols: []string{"Weigh", "Shelf", "Grab"}}, ""), 2); len(got) != 2 || got[0].Name != "Shelf" {
		t.Errorf("the surest: %+v", got)
	}
}

// The names of a thing are those under which somebody may have filed a rule of it.
func TestNamesOfSymbols(t *testing.T) {
	for id, want := range map[string][]string{
		"type:example.com/shop/store.Shelf":        {"store.Shelf", "example.com/shop/store.Shelf", "Shelf"},
		"method:example.com/shop/store.Shelf.View": {"store.Shelf.View", "example.com/shop/store.Shelf.View", "Shelf.View"},
		"function:example.com/shop/store.Open":     {"store.Open", "example.com/shop/store.Open"}, // a common word by itself
		"method:web/src/basket.Basket.total":       {"basket.Basket.total", "web/src/basket.Basket.total", "Basket.total"},
		"type:com.shop.Cart":                       {"com.shop.Cart", "Cart"},
	} {
		k, q, _ := codegraph.Split(id)
		n := codegraph.Node{ID: id, Kind: k, Qualified: q, Name: q[lastDot(q):], Path: "a/b.go", Language: "go"}
		if got := CalledBy(&n); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", id, got, want)
		}
	}
	n := codegraph.Node{Kind: codegraph.KindMethod, Qualified: "example.com/shop/depot.Shelf.Put", Name: "Put", Path: "depot/shelf.go", Language: "go"}
	want := []string{"depot.Shelf", "example.com/shop/depot.Shelf", "Shelf", "depot/shelf.go", "depot", "example.com/shop/depot", "depot"}
	if got := around(&n); !slices.Equal(got, want) {
		t.Errorf("around: got %q, want %q", got, want)
	}
}
