package facet_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/console/facet"
)

// many returns claims as in a real store of that size: names occur repeatedly, each
// hundred claims have one session, and each ten one file.
func many(n int) []ken.Claim {
	rng := rand.New(rand.NewPCG(1, 2))
	out := make([]ken.Claim, n)
	for i := range out {
		c := random(rng, i)
		c.Session = fmt.Sprint("0198a000-0000-7000-8000-", i/100)
		c.Source = fmt.Sprint("session ", i/100)
		c.Entities = []string{fmt.Sprint("service-", rng.IntN(n/5+1)), fmt.Sprint("module ", rng.IntN(200))}
		c.Evidence = append(c.Evidence, ken.Evidence{Kind: ken.EvidenceFile, Path: fmt.Sprint("internal/package", i/100, "/file", i/10, ".go")})
		out[i] = c
	}
	return out
}

const size = 100_000

func ready(b *testing.B) (*facet.Index, *fake) {
	b.Helper()
	s := newFake("o", many(size)...)
	x := index(b, facet.Options{Now: at(monday), DecayDays: 30})
	catch(b, x, s)
	return x, s
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkRead is the first time, the store's own time left out.
func BenchmarkRead(b *testing.B) {
	s := newFake("o", many(size)...)
	for b.Loop() {
		before := heap()
		x := facet.New(facet.Options{Now: at(monday)})
		catch(b, x, s)
		b.ReportMetric(float64(int64(heap()-before))/size, "B/claim")
		x.Close()
	}
}

func BenchmarkCatchOne(b *testing.B) {
	x, s := ready(b)
	rng := rand.New(rand.NewPCG(3, 4))
	for b.Loop() {
		s.write(random(rng, 0))
		catch(b, x, s)
	}
}

func BenchmarkCatchNothing(b *testing.B) {
	x, s := ready(b)
	for b.Loop() {
		catch(b, x, s)
	}
}

func BenchmarkSelect(b *testing.B) {
	x, s := ready(b)
	var ids []string
	for id := range s.claims {
		if ids = append(ids, id); len(ids) == 500 {
			break
		}
	}
	for name, sel := range map[string]facet.Selection{
		"all":   {},
		"three": {Kinds: []string{"fact", "pattern"}, Statuses: []string{"observed"}, Entities: []string{"module 7", "module 8"}},
		"usual": {Statuses: []string{"observed", "inferred", "verified"}, Archived: facet.Without, Expired: facet.Without},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := x.Select("o", sel); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("found", func(b *testing.B) {
		for b.Loop() {
			x.Count("o", ids, facet.Selection{})
		}
	})
	b.Run("values", func(b *testing.B) {
		for b.Loop() {
			if _, err := x.Values("o", facet.Entity, "service-77", 10); err != nil {
				b.Fatal(err)
			}
		}
	})
}
