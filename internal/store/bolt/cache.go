package bolt

import (
	"sync"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// cacheSize bounds the decoded claims kept at hand: what a turn includes is
// mostly what the last turns included. About 6 MB of usual claims.
const cacheSize = 4096

// claimCache holds decoded claims. When it is full an arbitrary entry goes,
// which for this access pattern does as well as keeping an order.
type claimCache struct {
	mu sync.RWMutex // guards m
	m  map[store.Ref]*ken.Claim
	// epoch counts drops, so that a read which raced with a write isn't kept.
	epoch uint64
}

func newClaimCache() *claimCache { return &claimCache{m: make(map[store.Ref]*ken.Claim)} }

func (c *claimCache) get(ref store.Ref) (*ken.Claim, uint64) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.m[ref], c.epoch
}

// put keeps what was read at epoch, unless something was dropped since.
func (c *claimCache) put(ref store.Ref, claim *ken.Claim, epoch uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if epoch != c.epoch {
		return
	}
	if len(c.m) >= cacheSize {
		for victim := range c.m {
			delete(c.m, victim)
			break
		}
	}
	c.m[ref] = claim
}

func (c *claimCache) drop(ref store.Ref) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch++
	delete(c.m, ref)
}
