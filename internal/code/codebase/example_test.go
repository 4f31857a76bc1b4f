package codebase_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kenlayer/ken/internal/code/codebase"
	"github.com/kenlayer/ken/internal/code/codegraph"
)

func Example() {
	root, err := os.MkdirTemp("", "codebase")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(root)
	for name, text := range map[string]string{
		"go.mod":   "module example.com/shop\n",
		"money.go": "package shop\n\n// Sum adds.\nfunc Sum(n ...int) (s int) { return }\n",
		"cart.go":  "package shop\n\nfunc total() int { return Sum(1, 2) }\n",
	} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			fmt.Println(err)
			return
		}
	}
	ctx := context.Background()
	c, err := codebase.Open(ctx, codebase.Options{Root: root})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	if err := c.Load(ctx); err != nil { // as it was saved, if it was
		fmt.Println("it is built again:", err)
	}
	if _, err := c.Build(ctx); err != nil {
		fmt.Println(err)
		return
	}
	refs, err := c.View().Refs("Sum", []codegraph.EdgeKind{codegraph.Calls}, codegraph.Page{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range refs.Refs {
		fmt.Println(r.From.ID, r.Kind, refs.Node.ID, r.How)
	}
	if err := c.Save(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// function:example.com/shop.total calls function:example.com/shop.Sum exact
}
