package budgeter

import (
	"slices"
	"sync"

	"github.com/kenlayer/ken"
)

// maxKept bounds a cache: some megabytes.
const maxKept = 4096

// Cache keeps how claims look that are memory in every turn, so that they are
// loaded, cleaned and rendered once and not each time: what has no room is then
// told by its size alone. It is safe for concurrent use. A version of a claim that
// is no longer asked for lies in it until others need the room.
type Cache struct {
	mu sync.RWMutex // guards m
	m  map[cacheKey]*rendered
}

// cacheKey is all that the look of an item depends on.
type cacheKey struct {
	id      string
	version uint64
	short   string
	tier    ken.Tier // which decays
	most    int      // characters of its text
}

// rendered is an item as it looks in a block. It is not changed.
type rendered struct {
	piece piece
	words []uint64
}

// NewCache returns an empty cache.
func NewCache() *Cache { return &Cache{m: map[cacheKey]*rendered{}} }

// keeps reports whether a candidate for memory may be kept: playbooks, episodes and
// checkpoints look different from turn to turn.
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
	r.piece.item.Legs, r.piece.item.Signals = nil, nil // of one turn
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

// as is the piece in a turn that found the item in its own way.
func (r *rendered) as(found *ken.Item) piece {
	p := r.piece
	p.item.Fused, p.item.Legs, p.item.Signals = found.Fused, found.Legs, found.Signals
	return p
}
