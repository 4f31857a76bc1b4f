package breaker_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/kenlayer/ken/breaker"
)

func ExampleBreaker() {
	b := breaker.New(breaker.Options{Name: "embeddings", Failures: 2})
	call := func(context.Context) error { return errors.New("no route to host") }
	for range 3 {
		fmt.Println(b.Do(context.Background(), call))
	}
	fmt.Println(b.State())
	// Output:
	// no route to host
	// no route to host
	// embeddings: stopped after 2 failures in a row, tried again every 30s; the last: no route to host: the circuit is open
	// open
}
