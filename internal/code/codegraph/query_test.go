package codegraph

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
)

func ids(nodes []Node) (out []string) {
	for _, n := range nodes {
		out = append(out, n.ID)
	}
	return out
}

func TestFind(t *testing.T) {
	v := newShop().View()
	for text, want := range map[string][]string{
		"type:example.com/shop/cart.Line":     {"type:example.com/shop/cart.Line"},
		"example.com/shop/cart.Line":          {"type:example.com/shop/cart.Line"},
		"cart.Line":                           {"type:example.com/shop/cart.Line"},
		"Line.Total":                          {"method:example.com/shop/cart.Line.Total"},
		"Total":                               {"method:example.com/shop/cart.Line.Total"},
		"./pay/charge.go":                     {"file:pay/charge.go"},
		"charge.go":                           {"file:pay/charge.go"},
		"shop/pay":                            {"package:example.com/shop/pay"},
		"pay":                                 {"package:example.com/shop/pay"},
		"ADR-0001":                            {"adr:ADR-0001"},
		"art.Line":                            nil,                                         // not from a dot on
		"l.Total":                             {"method:example.com/shop/cart.Line.Total"}, // by the receiver
		"depot.Line":                          nil,
		"type:cart.Line":                      nil, // an ID is whole
		"":                                    nil,
		"total":                               nil,
		"function:example.com/shop/cart.Line": nil,
	} {
		got, total := v.Find(text, 10)
		if diff := cmp.Diff(want, ids(got)); diff != "" || total != len(want) {
			t.Errorf("%q: %d, -want +got:\n%s", text, total, diff)
		}
	}
	if got, total := v.Find("cart", 1); len(got) != 1 || total != 1 {
		t.Errorf("cart: %v of %d", ids(got), total)
	}
}

func TestOneNamesTheCandidates(t *testing.T) {
	g := New()
	g.Apply([]File{file("a.go", "go", "type a.Shelf", "func a.f", "references =b.Shelf"), file("b.go", "go", "type b.Shelf")}, nil)
	_, err := g.View().One("Shelf")
	if !errors.Is(err, ken.ErrInvalid) || !strings.Contains(ken.Hint(err), "type:b.Shelf, type:a.Shelf") {
		t.Errorf("%v; %s", err, ken.Hint(err))
	}
	if _, err := g.View().One("none"); !errors.Is(err, ken.ErrNotFound) {
		t.Errorf("%v", err)
	}
}

func TestTermFits(t *testing.T) {
	for _, c := range []struct {
		term  string
		names []string // each fits better than the next
	}{
		{"view", []string{"view", "View", "views", "viewAll", "ShelfView", "preview", "vexitew"}},
		{"shelfview", []string{"ShelfView", "ShelfViews", "shelf_views_of_all"}},
		{"shvi", []string{"ShelfView", "sashavida"}},
		{"http", []string{"HTTPServer", "newHTTPServer"}},
		{"größe", []string{"größe", "Größe", "GrößeX"}},
		{"x", []string{"x", "X"}},
	} {
		last := 1000.0
		for _, n := range c.names {
			tm := newTerm(c.term)
			got := tm.fits(n)
			if got <= 0 || got >= last {
				t.Errorf("%s in %s: %v, after %v", c.term, n, got, last)
			}
			last = got
		}
	}
	for term, name := range map[string]string{"view": "vie", "x": "xy", "abc": "cba", "zz": "azbz"} {
		tm := newTerm(term)
		if got := tm.fits(name); got != 0 {
			t.Errorf("%s in %s: %v", term, name, got)
		}
	}
}

func TestWhatFitsPassesTheMasks(t *testing.T) {
	for _, name := range []string{"ShelfView", "shelf_view", "HTTPServer2", "x", "größe", "a1b2", "__init__", "$el"} {
		for _, term := range []string{"view", "shelf", "http", "server", "x", "größe", "b2", "init", "el", "2"} {
			tm := newTerm(term)
			if tm.fits(name) >= matchWord && (tm.mask&^maskOf(name) != 0 || tm.words&^wordsOf(name) != 0) {
				t.Errorf("%s fits %s and would not be looked at", term, name)
			}
		}
	}
}

func searched(v *View, text string, limit int, kinds ...Kind) (out []string) {
	found, _ := v.Search(text, kinds, limit)
	for _, r := range found {
		out = append(out, r.ID)
	}
	return out
}

func TestSearch(t *testing.T) {
	g := newShop()
	g.Apply([]File{file("x.go", "go", "in package:x", "type x.ShelfView", "type x.Viewer", "func x.viewAll", "func x.Preview", "-var x.vvew", "func x.user", "references =x.Viewer", "calls =x.viewAll")}, nil)
	v := g.View()
	for _, c := range []struct {
		text  string
		kinds []Kind
		want  []string
	}{
		{"view", nil, []string{"type:x.Viewer", "function:x.viewAll", "type:x.ShelfView"}},
		{"shelf view", nil, []string{"type:x.ShelfView"}},
		{"cart total", nil, []string{"method:example.com/shop/cart.Line.Total"}},
		{"Line.Total", nil, []string{"method:example.com/shop/cart.Line.Total"}},
		{"cart", []Kind{KindType}, []string{"type:Shop.Cart"}},
		{"web/money.ts", nil, []string{"file:web/money.ts"}},
		{"ADR-0001", nil, []string{"adr:ADR-0001"}},
		{"reviews", nil, nil},
		{"...", nil, nil},
		{"", nil, nil},
	} {
		got := searched(v, c.text, 3, c.kinds...)
		if diff := cmp.Diff(c.want, slices.Clip(got[:min(len(got), max(len(c.want), 1))])); diff != "" {
			t.Errorf("%q, -want +got:\n%s", c.text, diff)
		}
	}
	few, total := v.Search("view", nil, 2)
	if len(few) != 2 || total < 3 {
		t.Errorf("%d of %d", len(few), total)
	}
	if got := searched(v, "vvw", 3); !slices.Contains(got, "variable:x.vvew") {
		t.Errorf("letters in their order find %v", got)
	}
}

func TestRefsArePaged(t *testing.T) {
	g := New()
	files := []File{file("t.go", "go", "in package:t", "type t.T")}
	for i := range 30 {
		files = append(files, file(fmt.Sprintf("u%02d.go", i), "go", fmt.Sprintf("func u%02d.f", i), []string{"references =t.T", "inherits =t.T", "references T"}[i%3]))
	}
	g.Apply(files, nil)
	v := g.View()
	all, err := v.Refs("t.T", nil, Page{})
	if err != nil || all.Total != 21 || len(all.Refs) != 21 {
		t.Fatalf("%d of %d, %v", len(all.Refs), all.Total, err)
	}
	want := []KindCount{{Inherits, 10, 0}, {References, 10, 0}, {Defines, 1, 0}}
	if diff := cmp.Diff(want, all.Kinds); diff != "" {
		t.Error(diff)
	}
	var paged []Ref
	for at := 0; at < all.Total; at += 4 {
		p, err := v.Refs("t.T", nil, Page{Limit: 4, Offset: at})
		if err != nil || p.Total != 21 {
			t.Fatal(p.Total, err)
		}
		paged = append(paged, p.Refs...)
	}
	if diff := cmp.Diff(all.Refs, paged); diff != "" {
		t.Errorf("-all +paged:\n%s", diff)
	}
	if one, err := v.Refs("t.T", []EdgeKind{Inherits}, Page{Limit: 1}); err != nil || one.Total != 10 || one.Refs[0].Path != "u01.go" || one.Refs[0].Line != 2 {
		t.Errorf("%+v, %v", one, err)
	}
	for _, p := range []Page{{Limit: -1}, {Limit: MaxLimit + 1}, {Offset: -1}} {
		if _, err := v.Refs("t.T", nil, p); !errors.Is(err, ken.ErrInvalid) {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

// chain returns a graph of n functions that call each other in a row, and a last one called by a guess.
func chain(n int) *Graph {
	g := New()
	var files []File
	for i := range n {
		lines := []string{fmt.Sprintf("func c.step%03d", i)}
		if i > 0 {
			lines = append(lines, fmt.Sprintf("calls =c.step%03d", i-1))
		}
		files = append(files, file(fmt.Sprintf("c%03d.go", i), "go", lines...))
	}
	files = append(files, file("z.go", "go", "func z.guesser", "calls step000", "func z.after", "calls =z.guesser"))
	g.Apply(files, nil)
	return g
}

func TestDependents(t *testing.T) {
	v := chain(5).View()
	d, err := v.Dependents("c.step000", 0, Page{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range d.Dependents {
		got = append(got, fmt.Sprintf("%d %s %s %s", x.Depth, x.Name, x.How, x.Via))
	}
	want := []string{"1 step001 exact function:c.step000", "1 guesser guess function:c.step000", "2 step002 exact function:c.step001", "2 after guess function:z.guesser",
		"3 step003 exact function:c.step002", "4 step004 exact function:c.step003"}
	if diff := cmp.Diff(want, got); diff != "" || d.Total != 6 || d.More {
		t.Errorf("%d, more %v:\n%s", d.Total, d.More, diff)
	}
	if d, err := v.Dependents("c.step000", 2, Page{Limit: 1, Offset: 2}); err != nil || len(d.Dependents) != 1 || d.Dependents[0].Name != "step002" || d.Total != 4 || !d.More {
		t.Errorf("%+v, %v", d, err)
	}
	shop := newShop().View()
	p, err := shop.Dependents("package:example.com/shop/pay", 0, Page{})
	if err != nil || len(p.Dependents) < 3 || p.Dependents[0].Depth != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	if !slices.ContainsFunc(p.Dependents, func(d Dependent) bool { return d.Name == "Total" && d.Via == "function:example.com/shop/pay.Charge" }) {
		t.Errorf("who uses a part does not use the whole: %+v", p.Dependents)
	}
}

func TestShow(t *testing.T) {
	v := newShop().View()
	s, err := v.Show("cart.Line")
	if err != nil {
		t.Fatal(err)
	}
	if s.Signature != "type Line struct" || s.Line != 5 || s.Parent == nil || s.Parent.ID != "file:cart/line.go" || len(s.Governed) != 1 {
		t.Errorf("%+v", s)
	}
	if diff := cmp.Diff([]string{"property:example.com/shop/cart.Line.Amount", "method:example.com/shop/cart.Line.Total"}, ids(s.Members)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]KindCount{{References, 1, 0}, {Governs, 1, 0}}, s.In); diff != "" {
		t.Error(diff)
	}
	m, err := v.Show("Line.Total")
	if err != nil || m.Parent.ID != "type:example.com/shop/cart.Line" || len(m.Governed) != 1 || len(m.To) != 2 {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestNeighboursAndPicture(t *testing.T) {
	v := newShop().View()
	list, total, err := v.Neighbours([]string{"type:example.com/shop/cart.Line", "type:none", "no id"}, 3)
	if err != nil || total < 5 || len(list) != 3 || list[0].ID != "adr:ADR-0001" || list[0].Out {
		t.Errorf("%+v of %d, %v", list, total, err)
	}
	if _, _, err := v.Neighbours(make([]string, MaxNeighbourhood+1), 1); !errors.Is(err, ken.ErrInvalid) {
		t.Error(err)
	}
	p, err := v.Picture("cart.Line", 2, 6)
	if err != nil || len(p.Nodes) != 6 || p.Nodes[0].ID != p.Root || p.Left == 0 || len(p.Edges) < 5 {
		t.Errorf("%+v, %v", p, err)
	}
	for _, e := range p.Edges {
		for _, end := range []string{e.Source, e.Target} {
			if !slices.ContainsFunc(p.Nodes, func(n PictureNode) bool { return n.ID == end }) {
				t.Errorf("%s is not in the picture", end)
			}
		}
	}
	if _, err := v.Picture("cart.Line", 9, 6); !errors.Is(err, ken.ErrInvalid) {
		t.Error(err)
	}
}
