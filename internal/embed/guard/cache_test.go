package guard_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/embed/embedtest"
	"github.com/kenlayer/ken/internal/embed/guard"
)

func TestSuite(t *testing.T) {
	makers := map[string]func(t *testing.T) embed.Embedder{
		"cached": func(t *testing.T) embed.Embedder { return guard.Cached(embedtest.Bag{}, guard.NewCache(0)) },
		"retry":  func(t *testing.T) embed.Embedder { return guard.Retry(embedtest.Bag{}, 2) },
		"guard": func(t *testing.T) embed.Embedder {
			g := guard.New(&endpoint{}, guard.Options{Cache: guard.NewCache(0)})
			t.Cleanup(func() { g.Close() })
			return g
		},
	}
	for name, f := range makers {
		t.Run(name, func(t *testing.T) { embedtest.Run(t, f) })
	}
}

func TestCachedAsksOnlyForWhatIsMissing(t *testing.T) {
	e := &endpoint{}
	c := guard.Cached(e, guard.NewCache(0))
	for _, texts := range [][]string{{"a", "b", "a"}, {"b", "a"}, {"c", "b", "c", " "}} {
		got, err := c.Embed(t.Context(), texts)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := embedtest.Bag{}.Embed(t.Context(), texts)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", texts, diff)
		}
	}
	if diff := cmp.Diff([][]string{{"a", "b"}, {"c", " "}}, e.asked()); diff != "" {
		t.Errorf("the endpoint was asked (-want +got):\n%s", diff)
	}
}

func TestCacheNeverMixesModels(t *testing.T) {
	cache := guard.NewCache(0)
	e := &endpoint{}
	for _, c := range []embed.Embedder{guard.Cached(embedtest.Bag{}, cache), guard.Cached(e, cache)} {
		if _, err := c.Embed(t.Context(), []string{"a"}); err != nil {
			t.Fatal(err)
		}
	}
	if len(e.asked()) != 1 {
		t.Error("one model was answered with another's vector")
	}
}

// sized answers vectors of a dimension that it only knows after its first call.
type sized struct{ dim, known int }

func (s *sized) Model() string { return "test:sized" }
func (s *sized) Dim() int      { return s.known }
func (s *sized) Embed(_ context.Context, texts []string) ([][]float32, error) {
	s.known = s.dim
	vectors := make([][]float32, len(texts))
	for i := range vectors {
		vectors[i] = make([]float32, s.dim)
		vectors[i][0] = 1
	}
	return vectors, nil
}

// The model behind a name was replaced by one of another dimension: what the
// cache holds is stale, and no answer may mix the two.
func TestChangedDimensionIsAskedForAgain(t *testing.T) {
	cache := guard.NewCache(0)
	if _, err := guard.Cached(&sized{dim: 3}, cache).Embed(t.Context(), []string{"a", "b"}); err != nil {
		t.Fatal(err)
	}
	got, err := guard.Cached(&sized{dim: 5}, cache).Embed(t.Context(), []string{"a", "b", "c"})
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range got {
		if len(v) != 5 {
			t.Errorf("vector %d has %d dimensions, want 5", i, len(v))
		}
	}
}

func TestCachedRefusesAWrongCount(t *testing.T) {
	e := &endpoint{wrong: func(v [][]float32) [][]float32 { return v[1:] }}
	_, err := guard.Cached(e, guard.NewCache(0)).Embed(t.Context(), []string{"a", "b"})
	if !errors.Is(err, ken.ErrUnavailable) {
		t.Errorf("error %v, want unavailable", err)
	}
}

func TestMemoryForgetsTheLeastRecentlyUsed(t *testing.T) {
	m := guard.NewCache(2)
	a, b, c := embed.Hash("a"), embed.Hash("b"), embed.Hash("c")
	put := func(h [16]byte) { m.Put("m", [][16]byte{h}, [][]float32{{1}}) }
	put(a)
	put(b)
	m.Get("m", [][16]byte{a})
	put(c)
	got := m.Get("m", [][16]byte{a, b, c})
	if got[0] == nil || got[1] != nil || got[2] == nil {
		t.Errorf("kept %v, want a and c", got)
	}
	if m.Get("other", [][16]byte{a})[0] != nil {
		t.Error("another model's vector")
	}
}

func ExampleCached() {
	e := guard.Cached(embedtest.Bag{}, guard.NewCache(1000))
	vectors, err := e.Embed(context.Background(), []string{"vacuum the table", "", "vacuum the table"})
	fmt.Println(len(vectors), len(vectors[0]), vectors[1] == nil, err)
	// Output: 3 64 true <nil>
}
