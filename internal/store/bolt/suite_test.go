package bolt_test

import (
	"context"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/store/storetest"
)

// suiteEmbedder is the suite's embedding function as an embedder.
type suiteEmbedder struct{ o storetest.Options }

func (e suiteEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return e.o.Embed(ctx, texts)
}
func (suiteEmbedder) Model() string { return "test:suite" }
func (e suiteEmbedder) Dim() int    { return e.o.Dim }
func (suiteEmbedder) Local() bool   { return true }

func openSuite(t *testing.T, o storetest.Options) *bolt.Store {
	t.Helper()
	b := bolt.Options{Owner: o.Owner, Now: o.Now, NewID: o.NewID, Assign: o.Assign, NoSync: true}
	if o.Embed != nil {
		b.Embedder = suiteEmbedder{o}
	}
	return open(t, t.TempDir(), b)
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T, o storetest.Options) ken.Store { return openSuite(t, o) })
}

func TestProjections(t *testing.T) { storetest.RunProjections(t, openSuite) }
