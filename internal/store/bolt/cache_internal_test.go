package bolt

import (
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// The cache holds claims up to its bytes, however long each is.
func TestClaimCacheIsBoundedByBytes(t *testing.T) {
	for name, text := range map[string]string{"short": "x", "long": strings.Repeat("x", 100_000)} {
		t.Run(name, func(t *testing.T) {
			c := newClaimCache()
			weight := claimWeight(&ken.Claim{Text: text})
			room := cacheBytes / weight
			for ref := range store.Ref(room + 100) {
				c.put(ref, &ken.Claim{Text: text}, 0)
				c.put(ref, &ken.Claim{Text: text}, 0) // two who read it at once
			}
			if len(c.m) != room || c.bytes != room*weight {
				t.Errorf("%d claims, %d bytes, want %d claims of %d bytes", len(c.m), c.bytes, room, weight)
			}
			for ref := range store.Ref(room + 100) {
				c.drop(ref)
			}
			if len(c.m) != 0 || c.bytes != 0 {
				t.Errorf("after dropping all: %d claims, %d bytes", len(c.m), c.bytes)
			}
		})
	}
}
