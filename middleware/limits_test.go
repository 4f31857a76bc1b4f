package middleware_test

import (
	"context"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/embed/embedtest"
	"github.com/kenlayer/ken/middleware"
)

// retrieval.legs.keyword and retrieval.legs.vector each bound their own leg.
func TestEachLegHasItsOwnLimit(t *testing.T) {
	for _, limit := range []struct{ keyword, vector int }{{2, 5}, {5, 2}} {
		l := open(t, settings(func(c *config.Config) {
			c.Retrieval.Legs.Keyword, c.Retrieval.Legs.Vector = limit.keyword, limit.vector
			c.Middleware.Floor = false
		}), func(o *middleware.Options) { o.Embedder = embedtest.Bag{} })
		var facts []ken.Claim
		for _, day := range []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"} {
			facts = append(facts, fact(t, "The payments service pays out in batch %s.", day))
		}
		learn(t, l, facts...)
		found := map[string]int{}
		for _, it := range l.Assemble(context.Background(), asked("When does the payments service pay out?")).Receipt.Items {
			for leg := range it.Legs {
				found[leg]++
			}
		}
		if found["keyword"] != limit.keyword || found["vector"] != limit.vector {
			t.Errorf("limits %+v, found %v", limit, found)
		}
	}
}
