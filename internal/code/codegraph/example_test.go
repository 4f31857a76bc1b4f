package codegraph_test

import (
	"fmt"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

func Example() {
	g := codegraph.New()
	g.Apply([]codegraph.File{
		{Path: "cart/line.go", Hash: "sha256:1", Language: "go", Within: "package:example.com/shop/cart", Decls: []codegraph.Decl{
			{Kind: codegraph.KindType, Name: "Line", Qualified: "example.com/shop/cart.Line", Parent: -1, Line: 3, End: 9, Exported: true},
		}},
		{Path: "main.go", Hash: "sha256:2", Language: "go", Within: "package:example.com/shop", Decls: []codegraph.Decl{
			{Kind: codegraph.KindFunction, Name: "main", Qualified: "example.com/shop.main", Parent: -1, Line: 5, End: 8},
		}, Uses: []codegraph.Use{{From: 0, Kind: codegraph.References, Name: "example.com/shop/cart.Line", Qualified: true, Line: 6}}},
	}, nil)

	refs, err := g.View().Refs("cart.Line", []codegraph.EdgeKind{codegraph.References}, codegraph.Page{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range refs.Refs {
		fmt.Println(r.From.ID, r.Kind, r.How, r.Path, r.Line)
	}
	// Output:
	// function:example.com/shop.main references exact main.go 6
}

func ExampleView_Search() {
	g := codegraph.New()
	g.Apply([]codegraph.File{{Path: "a.go", Language: "go", Decls: []codegraph.Decl{
		{Kind: codegraph.KindType, Name: "ShelfView", Qualified: "a.ShelfView", Parent: -1, Line: 1},
		{Kind: codegraph.KindFunction, Name: "Preview", Qualified: "a.Preview", Parent: -1, Line: 2},
		{Kind: codegraph.KindFunction, Name: "view", Qualified: "a.view", Parent: -1, Line: 3},
	}}}, nil)
	found, total := g.View().Search("view", nil, 2)
	for _, r := range found {
		fmt.Println(r.ID)
	}
	fmt.Println("of", total)
	// Output:
	// function:a.view
	// type:a.ShelfView
	// of 2
}
