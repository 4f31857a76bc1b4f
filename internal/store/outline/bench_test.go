package outline_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/outline"
	"github.com/kenlayer/ken/store"
)

// world is 100,000 claims under two of 20,000 names each, three links of every
// thousandth name, and one name with 10,000 claims.
func world() []outline.Record {
	const claims, names, heavy = 100_000, 20_000, 10_000
	r := rand.New(rand.NewPCG(1, 2))
	out := make([]outline.Record, 0, claims+names/100)
	add := func(rec outline.Record) {
		rec.Ref, rec.Created = store.Ref(len(out)), int64(len(out))
		for i := range rec.ID {
			rec.ID[i] = byte(r.Uint32())
		}
		out = append(out, rec)
	}
	name := func(i int) string { return fmt.Sprintf("service number %d", i) }
	for i := range claims {
		first := r.IntN(names)
		if i%(claims/heavy) == 0 {
			first = 0
		}
		add(outline.Record{Kind: ken.KindFact, Tier: ken.Tier(r.IntN(4)), Constraint: i%50 == 7,
			About: outline.About{Names: []string{name(first), name(1 + r.IntN(names-1))}, Aspect: fmt.Sprintf("aspect %d", r.IntN(8)), Strength: 0.5}})
	}
	for i := range names / 100 {
		for j := range 3 {
			add(outline.Record{Kind: ken.KindDependency, About: outline.About{Names: []string{name(i), name(i + j + 1)}, Aspect: "uses", Strength: r.Float64()}})
		}
	}
	return out
}

func report(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1000, "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1000, "p99-µs")
}

// BenchmarkOutlines asks for eight names with links and their claims, and for one
// with 10,000 claims, where the filter refuses every tenth record.
func BenchmarkOutlines(b *testing.B) {
	records := world()
	x := outline.New()
	x.Load(slices.Values(records))
	shown := func(ref store.Ref) bool { return ref%10 != 3 }
	pass := outline.Pass{Claim: shown, Link: shown}
	for _, tt := range []struct {
		name  string
		names []string
	}{
		{"focal=8", []string{"service number 3", "service number 14", "service number 15", "service number 92", "service number 65", "service number 35", "service number 89", "service number 79"}},
		{"heavy=1", []string{"service number 0"}},
	} {
		b.Run(tt.name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				start := time.Now()
				if got := x.Outlines(tt.names, pass, store.OutlineOptions{}); got[0].Records == 0 {
					b.Fatal("nothing")
				}
				took = append(took, time.Since(start))
			}
			report(b, took)
		})
	}
}

// BenchmarkNames reads a page of ten of 20,000 names.
func BenchmarkNames(b *testing.B) {
	x := outline.New()
	x.Load(slices.Values(world()))
	b.ReportAllocs()
	for b.Loop() {
		if page, _ := x.Names(everything, "service number 5", 10); len(page) != 10 {
			b.Fatal(len(page))
		}
	}
}

// BenchmarkLoad fills an index, and says how much memory it holds.
func BenchmarkLoad(b *testing.B) {
	records := world()
	heap := func() float64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	before := heap()
	var x *outline.Index
	for b.Loop() {
		x = outline.New()
		x.Load(slices.Values(records))
	}
	b.ReportMetric((heap()-before)/1e6, "MB")
	runtime.KeepAlive(x)
	runtime.KeepAlive(records)
}

// BenchmarkPut changes one claim of a name that has 10,000.
func BenchmarkPut(b *testing.B) {
	records := world()
	x := outline.New()
	x.Load(slices.Values(records))
	for i := 0; b.Loop(); i++ {
		x.Put(records[i%100_000/10*10])
	}
}
