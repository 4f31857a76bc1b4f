package guard

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/internal/lru"
)

// defaultCacheSize is the size of NewCache(0): 25 MB at 1,536 dimensions.
const defaultCacheSize = 4096

// Cache stores vectors by model and content hash, and evicts the least recently used.
// It is safe for concurrent use.
type Cache struct {
	size int

	mu      sync.Mutex // guards vectors
	vectors lru.List[cacheKey, []float32]
}

type cacheKey struct {
	model string
	hash  [16]byte
}

// NewCache returns a cache of at most size vectors; <= 0 means 4,096.
func NewCache(size int) *Cache {
	return &Cache{size: cmp.Or(max(size, 0), defaultCacheSize)}
}

// Get returns one vector per hash, in order; nil for a missing one.
func (m *Cache) Get(model string, hashes [][16]byte) [][]float32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	vectors := make([][]float32, len(hashes))
	for i, h := range hashes {
		vectors[i], _ = m.vectors.Get(cacheKey{model, h})
	}
	return vectors
}

// Put stores vectors[i] for hashes[i]; the vectors must not be nil.
func (m *Cache) Put(model string, hashes [][16]byte, vectors [][]float32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, h := range hashes {
		m.vectors.Put(cacheKey{model, h}, vectors[i])
		if m.vectors.Len() > m.size {
			m.vectors.TakeOldest()
		}
	}
}

// Cached returns an embedder that embeds only texts missing in c, without duplicates,
// with e, and stores the results in c. Cached vectors whose dimension differs from e's
// are embedded again.
func Cached(e embed.Embedder, c *Cache) embed.Embedder { return &cached{wrapped{e}, c} }

// wrapped has the properties of the embedder that it wraps.
type wrapped struct{ embed.Embedder }

// Local reports whether the wrapped embedder is local.
func (w wrapped) Local() bool { return embed.IsLocal(w.Embedder) }

// Background reports whether the wrapped embedder is too slow to wait for: see
// [embed.IsInline].
func (w wrapped) Background() bool { return !embed.IsInline(w.Embedder) }

type cached struct {
	wrapped
	cache *Cache
}

// Embed implements Embedder.
func (c *cached) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if err := ctx.Err(); err != nil || len(texts) == 0 {
		return nil, err
	}
	b := newBatch(texts)
	b.look(c.cache, c.Model(), c.Dim())
	if err := b.ask(ctx, c.Embedder, c.cache); err != nil {
		return nil, err
	}
	// The dimension may be known only now. Cached vectors with another dimension are
	// embedded again.
	if b.forget(c.Dim()) {
		if err := b.ask(ctx, c.Embedder, c.cache); err != nil {
			return nil, err
		}
	}
	return b.result(), nil
}

// lookup returns the vectors from the cache, or false if some are missing.
func lookup(e embed.Embedder, c *Cache, texts []string) ([][]float32, bool) {
	b := newBatch(texts)
	b.look(c, e.Model(), e.Dim())
	for _, v := range b.vectors {
		if v == nil {
			return nil, false
		}
	}
	return b.result(), true
}

// batch holds one call's texts without duplicates.
type batch struct {
	texts   []string // distinct
	hashes  [][16]byte
	vectors [][]float32 // nil: unknown
	place   []int       // for each text of the call, its index in texts
}

func newBatch(texts []string) *batch {
	b := &batch{place: make([]int, len(texts))}
	seen := make(map[string]int, len(texts))
	for i, t := range texts {
		at, ok := seen[t]
		if !ok {
			at = len(b.texts)
			seen[t] = at
			b.texts = append(b.texts, t)
			b.hashes = append(b.hashes, embed.Hash(t))
		}
		b.place[i] = at
	}
	return b
}

// look fills in the cached vectors.
func (b *batch) look(c *Cache, model string, dim int) {
	b.vectors = make([][]float32, len(b.texts))
	copy(b.vectors, c.Get(model, b.hashes))
	b.forget(dim)
}

// forget drops vectors of a dimension other than dim and reports whether there were
// any; dim 0 means unknown.
func (b *batch) forget(dim int) bool {
	dropped := false
	for i, v := range b.vectors {
		if v != nil && dim != 0 && len(v) != dim {
			b.vectors[i], dropped = nil, true
		}
	}
	return dropped
}

// ask embeds the missing texts and caches the vectors.
func (b *batch) ask(ctx context.Context, e embed.Embedder, c *Cache) error {
	var missing []string
	var at []int
	for i, v := range b.vectors {
		if v == nil {
			missing, at = append(missing, b.texts[i]), append(at, i)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	fresh, err := e.Embed(ctx, missing)
	if err != nil {
		return err
	}
	if len(fresh) != len(missing) {
		return &ken.Error{Code: ken.CodeUnavailable, Msg: fmt.Sprintf("the embedder answered %d vectors for %d texts", len(fresh), len(missing))}
	}
	var hashes [][16]byte
	var keep [][]float32
	for i, v := range fresh {
		b.vectors[at[i]] = v
		if v != nil {
			hashes, keep = append(hashes, b.hashes[at[i]]), append(keep, v)
		}
	}
	c.Put(e.Model(), hashes, keep)
	return nil
}

// result returns the vectors in the order of the call's texts.
func (b *batch) result() [][]float32 {
	vectors := make([][]float32, len(b.place))
	for i, at := range b.place {
		vectors[i] = b.vectors[at]
	}
	return vectors
}
