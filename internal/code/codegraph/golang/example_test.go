package golang_test

import (
	"fmt"

	"github.com/kenlayer/ken/internal/code/codegraph/golang"
)

func ExampleNew() {
	extract := golang.New(map[string]string{".": "example.com/shop"})
	file := extract("cart/cart.go", []byte(`package cart

import "fmt"

// Line is one row.
type Line struct{ Amount int }

// String says how much it is.
func (l Line) String() string { return fmt.Sprint(l.Amount) }
`))
	for _, d := range file.Decls {
		fmt.Println(d.Kind, d.Qualified)
	}
	for _, u := range file.Uses {
		fmt.Println(file.Decls[u.From].Name, u.Kind, u.Name)
	}
	// Output:
	// package example.com/shop/cart
	// type example.com/shop/cart.Line
	// property example.com/shop/cart.Line.Amount
	// method example.com/shop/cart.Line.String
	// String references example.com/shop/cart.Line
	// String calls fmt.Sprint
	// String references example.com/shop/cart.Line.Amount
}
