package embedtest_test

import (
	"testing"

	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/embed/embedtest"
)

func TestBag(t *testing.T) {
	embedtest.Run(t, func(*testing.T) embed.Embedder { return embedtest.Bag{} })
}
