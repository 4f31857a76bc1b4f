package codegraph_test

import (
	"testing"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// Declarations in test data do not make a name of the program ambiguous, but can be named.
func TestWhatTestsReadIsNotMeant(t *testing.T) {
	shelf := func(path, within string) codegraph.File {
		return codegraph.File{Path: path, Hash: "sha256:" + path, Language: "go", Within: "package:" + within,
			Decls: []codegraph.Decl{{Kind: codegraph.KindType, Name: "Shelf", Qualified: within + ".Shelf", Parent: -1, Line: 3, End: 5}}}
	}
	g := codegraph.New()
	g.Apply([]codegraph.File{shelf("store/shelf.go", "example.com/shop/store"), shelf("lint/testdata/store/shelf.go", "example.com/shop/lint/testdata/store")}, nil)
	v := g.View()
	if n, err := v.One("store.Shelf"); err != nil || n.Path != "store/shelf.go" || n.Test {
		t.Errorf("store.Shelf: %+v, %v", n, err)
	}
	if n, err := v.One("testdata/store.Shelf"); err != nil || !n.Test {
		t.Errorf("the other one: %+v, %v", n, err)
	}
	if _, total := v.Find("Shelf", 5); total != 2 {
		t.Errorf("%d things are called Shelf", total)
	}
}
