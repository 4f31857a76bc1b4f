package middleware_test

import (
	"fmt"
	"testing"

	"github.com/kenlayer/ken"
)

// BenchmarkWouldForget looks through 100,000 claims, a tenth of which are derived from
// another one.
func BenchmarkWouldForget(b *testing.B) {
	l := open(b, settings())
	ids := learn(b, l, fact(b, "The on-call phone of Priya is +49 151 2345678."))
	for range 100 {
		var claims []ken.Claim
		for i := range 1000 {
			c := fact(b, "Service %d of the payments cluster %s listens on port %d, and is restarted by its owners alone.", i, ids[len(ids)-1][20:], 8000+i)
			if i%10 == 0 {
				c.Evidence = append(c.Evidence, ken.Evidence{Kind: ken.EvidenceRepositoryMemory, ID: ids[len(ids)-1]})
			}
			claims = append(claims, c)
		}
		ids = append(ids[:1], learn(b, l, claims...)...)
	}
	b.ResetTimer()
	for b.Loop() {
		would, err := l.WouldForget(b.Context(), "", ids[len(ids)-1])
		if err != nil || len(would.Claims) == 0 {
			b.Fatal(fmt.Sprint(len(would.Claims)), err)
		}
	}
}
