package budgeter

import (
	"slices"
	"sync"

	"github.com/kenlayer/ken"
)

// maxKept is the maximum number of cached items: some megabytes.
const maxKept = 4096

// Cache keeps the rendered form of claims that are memory in every turn. So they are loaded,
// cleaned and rendered once, and whether one fits can be decided by its size. It is safe for
// concurrent use. An old version of a claim stays in the cache until its place is needed.
type Cache struct {
	mu sync.RWMutex // guards m
	m  map[cacheKey]*rendered
}

// cacheKey has everything that the rendered form of an item depends on.
type cacheKey struct {
	id      string
	version uint64
	short   string
	tier    ken.Tier // decays over time
	most    int      // maximum characters of the text
}

// rendered is an item as it appears in a block. It is immutable.
type rendered struct {
	piece piece
	words []uint64
}

// NewCache returns an empty cache.
func NewCache() *Cache { return &Cache{m: map[cacheKey]*rendered{}} }

// keeps reports whether a memory candidate may be cached. Playbooks, episodes and checkpoints may
// not, because their form depends on the turn.
func (c *Cache) keeps(cand *Candidate) bool {
	if c == nil || cand.Version == 0 {
		return false
	}
	rank := memoryRank(cand.Item.Kind)
	return rank == hotRank || rank == approvedRank
}

func (c *composer) key(i int32) cacheKey {
	it := &c.candidates[i].Item
	return cacheKey{it.ID, c.candidates[i].Version, c.short[i], it.Tier, c.o.MaxItemChars}
}

func (c *Cache) get(k cacheKey) *rendered {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.m[k]
}

func (c *Cache) put(k cacheKey, p *piece, words []uint64) {
	r := &rendered{piece: *p, words: slices.Clone(words)}
	r.piece.item.Legs, r.piece.item.Signals = nil, nil // they belong to one turn
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.m) >= maxKept {
		for victim := range c.m {
			delete(c.m, victim)
			break
		}
	}
	c.m[k] = r
}

// as returns the cached piece with the scores that the item has in this turn.
func (r *rendered) as(found *ken.Item) piece {
	p := r.piece
	p.item.Fused, p.item.Legs, p.item.Signals = found.Fused, found.Legs, found.Signals
	return p
}
