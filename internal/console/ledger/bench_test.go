package ledger_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/kenlayer/ken/internal/console/ledger"
)

const size = 20_000

func ready(b *testing.B) *kit {
	b.Helper()
	k := newKit(b, size, ledger.Options{})
	fill(k, size)
	return k
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func BenchmarkReadAll(b *testing.B) {
	k := ready(b)
	for b.Loop() {
		k.l.Drop("o")
		before := heap()
		k.catch()
		b.ReportMetric(float64(int64(heap()-before))/size, "B/turn")
	}
}

func BenchmarkCatchOne(b *testing.B) {
	k := ready(b)
	k.catch()
	rng := rand.New(rand.NewPCG(1, 2))
	for i := 0; b.Loop(); i++ {
		k.put(random(rng, fmt.Sprint("new", i), "s", k.now))
		k.catch()
	}
}

// BenchmarkVerify looks for deleted receipts in 2,000 sessions.
func BenchmarkVerify(b *testing.B) {
	k := ready(b)
	k.l = ledger.New(ledger.Options{Now: func() time.Time { return k.now }, Verify: 1, Reread: 1 << 62})
	k.catch()
	for b.Loop() {
		k.now = k.now.Add(time.Second)
		if err := k.l.Catch(context.Background(), "o", k.book); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSeries(b *testing.B) {
	k := ready(b)
	k.catch()
	for b.Loop() {
		k.l.Series("o", monday, k.now, 60)
	}
}

func BenchmarkShownIn(b *testing.B) {
	k := ready(b)
	k.catch()
	for b.Loop() {
		k.l.ShownIn("o", claimID(7), 50)
	}
}

func BenchmarkTurns(b *testing.B) {
	k := ready(b)
	k.catch()
	for b.Loop() {
		k.l.Turns("o", time.Time{}, 50, ledger.Match{Agent: "coder"})
	}
}
