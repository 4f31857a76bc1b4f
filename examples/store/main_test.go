package main

import (
	"io"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store/memory"
	"github.com/kenlayer/ken/store/storetest"
)

func Example() {
	main()
	// Output:
	// written: The ledger keeps entries for seven years.
	// now disputed
}

func TestSuite(t *testing.T) {
	storetest.Run(t, func(t *testing.T, o storetest.Options) ken.Store {
		return audited{memory.New(memory.Options{Owner: o.Owner, Now: o.Now, NewID: o.NewID, Assign: o.Assign}), io.Discard}
	})
}
