package lexed_test

import (
	"fmt"

	"github.com/kenlayer/ken/internal/code/codegraph/lexed"
)

func Example() {
	set := lexed.New(lexed.Options{Files: []string{"src/cart.ts", "src/pricing/index.ts"}})
	f := set.Extract("src/cart.ts", []byte(`import { price } from './pricing';

/** Adds up the lines of a cart. */
export function total(lines: Line[]): number {
  return lines.map(price).length;
}
`))
	for _, i := range f.Imports {
		fmt.Println(i.Path, "is", i.Target)
	}
	for _, d := range f.Decls {
		fmt.Printf("%s:%s on lines %d to %d: %s\n  %s\n", d.Kind, d.Qualified, d.Line, d.End, d.Doc, d.Signature)
	}
	for _, u := range f.Uses {
		fmt.Println(u.Kind, u.Name)
	}
	// Output:
	// ./pricing is file:src/pricing/index.ts
	// function:src/cart.total on lines 4 to 6: Adds up the lines of a cart.
	//   export function total(lines: Line[]): number
	// calls .map
	// references src/pricing/index.price
}
