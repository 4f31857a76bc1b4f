package guard_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/kenlayer/ken/internal/embed/guard"
)

func ExampleGuard() {
	down := &endpoint{fault: errors.New("connection refused")}
	g := guard.New(down, guard.Options{Failures: 2})
	defer g.Close()
	for range 3 {
		_, err := g.Embed(context.Background(), []string{"where do we deploy?"})
		fmt.Println(err)
	}
	fmt.Println(g.State(), len(down.asked()))
	// Output:
	// connection refused
	// connection refused
	// embeddings: stopped after 2 failures in a row, tried again every 30s; the last: connection refused: the circuit is open
	// open 2
}
