package structure_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure"
)

// town is 100,000 claims about 20,000 entities, as projects have them: most entities
// have a few claims, some have hundreds.
func town(t testing.TB) *shelf {
	t.Helper()
	rnd := rand.New(rand.NewPCG(1, 1))
	name := func() string {
		if rnd.IntN(3) == 0 {
			return fmt.Sprintf("svc%d", rnd.IntN(100))
		}
		return fmt.Sprintf("svc%d", rnd.IntN(20_000))
	}
	claims := make([]ken.Claim, 0, 100_000)
	for len(claims) < cap(claims) {
		var c ken.Claim
		switch n := rnd.IntN(100); {
		case n < 3:
			c = rule(name())
		case n < 12:
			c = dependency(name(), "uses", name(), rnd.Float64())
		case n < 14:
			c = alias(name(), fmt.Sprintf("old%d", len(claims)))
		default:
			c = fact(fmt.Sprintf("aspect%d", rnd.IntN(14)), name(), name())
		}
		claims = append(claims, c)
	}
	return newShelf(claims...)
}

// A turn has a millisecond for it. It names nothing that is known, two small entities, a
// small one and one of the hundred large ones, which have a thousand claims each, and
// eight of these.
func BenchmarkLook(b *testing.B) {
	s := town(b)
	g := structure.New(s, nil)
	for name, text := range map[string]string{
		"usual": "Why does svc12345 fail when the new release of svc17 goes out? I have seen it twice since the deploy on Monday, with a timeout.",
		"small": "Why does svc12345 fail when the new release of svc15432 goes out? I have seen it twice since the deploy on Monday, with a timeout.",
		"hub":   "svc1 svc2 svc3 svc4 svc5 svc6 svc7 svc8",
		"none":  "Why does it fail when the new release goes out? I have seen it twice since the deploy on Monday, with a timeout.",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				focal, tr, err := g.Look(b.Context(), ask(text), &ken.Filter{}, structure.Bounds{})
				if err != nil || (len(focal) == 0) != (name == "none") {
					b.Fatal(len(focal), len(tr.Constraints), err)
				}
			}
		})
	}
}
