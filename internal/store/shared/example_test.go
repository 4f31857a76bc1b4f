package shared_test

import (
	"context"
	"fmt"
	"os"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/shared"
)

// Two processes work on one folder, and the second goes on when the first has ended.
func ExampleOwners() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "ken")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	first := shared.NewOwners(dir, 0, shared.Options{})
	second := shared.NewOwners(dir, 0, shared.Options{})
	defer second.Close()
	a, releaseA, err := first.Get(ctx, "")
	if err != nil {
		panic(err)
	}
	b, releaseB, err := second.Get(ctx, "")
	if err != nil {
		panic(err)
	}
	defer releaseB()
	fmt.Println("the first one holds it:", first.Holds(""))

	c, err := ken.NewClaim("The port is 8080.", ken.FromFile("main.go", "", ""))
	if err != nil {
		panic(err)
	}
	if _, err := a.WriteClaim(ctx, c); err != nil {
		panic(err)
	}
	releaseA()
	if err := first.Close(); err != nil {
		panic(err)
	}

	found, err := b.Query(ctx, ken.Query{Question: "port"})
	if err != nil {
		panic(err)
	}
	fmt.Println("the second one finds:", found[0].Text)
	fmt.Println("and holds it:", second.Holds(""))
	// Output:
	// the first one holds it: true
	// the second one finds: The port is 8080.
	// and holds it: true
}
