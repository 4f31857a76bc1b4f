package codegraph_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// TestSources checks a namespace in several folders: an import of it refers to the files that the importing file uses,
// and to no tests unless the importing file has tests.
func TestSources(t *testing.T) {
	g := codegraph.New()
	in := func(path, within string, name string) codegraph.File {
		return codegraph.File{Path: path, Hash: "sha256:" + path, Language: "csharp", Within: "namespace:" + within,
			Decls: []codegraph.Decl{{Kind: codegraph.KindType, Name: name, Qualified: within + "." + name, Parent: -1, Line: 2, End: 3, Exported: true}}}
	}
	cart := in("src/web/Cart.cs", "Web", "Cart")
	cart.Imports = []codegraph.Import{{Path: "Shop", Target: "namespace:Shop", Line: 4}, {Path: "System", Target: "namespace:System", Line: 1}}
	cart.Uses = []codegraph.Use{{From: 0, Kind: codegraph.References, Name: "Shop.Db", Qualified: true, Line: 7}}
	page := in("src/web/Page.cs", "Web", "Page")
	page.Test = true
	page.Imports = []codegraph.Import{{Path: "Shop", Target: "namespace:Shop", Line: 1}}
	line := in("test/core/LineTest.cs", "Shop", "LineTest")
	line.Test = true
	g.Apply([]codegraph.File{page, cart, line, in("src/core/Line.cs", "Shop", "Line"), in("src/data/Db.cs", "Shop", "Db"), {Path: "README.md"}}, nil)

	var got []codegraph.Source
	for s := range g.View().Sources {
		got = append(got, s)
	}
	shop := codegraph.Imported{ID: "namespace:Shop", Line: 4, How: codegraph.Exact, Files: []string{"src/core/Line.cs", "src/data/Db.cs"}, Used: []string{"src/data/Db.cs"}}
	unused := shop
	unused.Line, unused.Used = 1, nil
	unused.Files = append(slices.Clone(shop.Files), "test/core/LineTest.cs")
	want := []codegraph.Source{
		{Path: "src/core/Line.cs", Hash: "sha256:src/core/Line.cs", Language: "csharp"},
		{Path: "src/data/Db.cs", Hash: "sha256:src/data/Db.cs", Language: "csharp"},
		{Path: "src/web/Cart.cs", Hash: "sha256:src/web/Cart.cs", Language: "csharp", Imports: []codegraph.Imported{shop}},
		{Path: "src/web/Page.cs", Hash: "sha256:src/web/Page.cs", Language: "csharp", Test: true, Imports: []codegraph.Imported{unused}},
		{Path: "test/core/LineTest.cs", Hash: "sha256:test/core/LineTest.cs", Language: "csharp", Test: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for range g.View().Sources {
		break
	}
}
