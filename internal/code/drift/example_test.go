package drift_test

import (
	"fmt"
	"os"

	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/codegraph/golang"
	"github.com/kenlayer/ken/internal/code/drift"
)

// A file of the core imports a page: the manifest permits the other way only.
func Example() {
	read := golang.New(map[string]string{".": "example.com/shop"})
	g := codegraph.New()
	g.Apply([]codegraph.File{
		read("core/order.go", []byte("package core\n\nimport \"example.com/shop/web\"\n\nvar Page = web.Page{}\n")),
		read("web/page.go", []byte("package web\n\ntype Page struct{}\n")),
	}, nil)

	m, err := drift.Parse("architecture.yaml", []byte(`
layers:
  - name: core
    paths: [core/]
    may_depend_on: []
  - name: web
    paths: [web/]
    may_depend_on: [core]
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	r := drift.Check(g.View(), m, drift.Options{})
	if err := drift.WriteText(os.Stdout, &r); err != nil {
		fmt.Println(err)
	}

	// With a baseline, only new violations fail.
	r = drift.Check(g.View(), m, drift.Options{Baseline: drift.NewBaseline(&r)})
	fmt.Println(r.Summary())
	// Output:
	// core → web: 1 violation
	// core/order.go:3: layer core must not import example.com/shop/web (layer web): it may depend on no other
	//
	// 1 new violation; 1 import between 2 files in 2 layers looked at
	// no new violations, 1 in the baseline; 1 import between 2 files in 2 layers looked at
}
