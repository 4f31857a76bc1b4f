package typed_test

import (
	"context"
	"fmt"
	"time"

	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/codegraph/typed"
)

func ExampleCheck() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ref, report, err := typed.Check(ctx, "testdata/shop", typed.Options{})
	if err != nil {
		fmt.Println(err) // no toolchain: names are read without types
		return
	}
	fmt.Println(report.Packages, report.Broken)
	for _, f := range ref.Files {
		for _, e := range f.Edges {
			if e.Kind == codegraph.Calls || e.Kind == codegraph.Implements {
				fmt.Println(e.From, e.Kind, e.To)
			}
		}
	}
	// Output:
	// 1 0
	// method:example.com/shop.Line.Total calls method:example.com/shop.Pricer.Price
	// type:example.com/shop.Fixed implements interface:example.com/shop.Pricer
}
