package main

import (
	"testing"

	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/embed/embedtest"
)

func Example() {
	main()
	// Output: Kubernetes upgrades are announced a week before.
}

// An embedder passes the suite that those of Ken pass.
func TestSuite(t *testing.T) {
	embedtest.Run(t, func(*testing.T) embed.Embedder { return trigrams{} })
}
