package middleware_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/synth"
	"github.com/kenlayer/ken/middleware"
)

// BenchmarkAssemble is a turn of its own each time, hybrid, with an embedder in
// process and a question of ten words. KEN_BENCH_SIZES=1000,100000,1000000 asks
// for other sizes of the store.
func BenchmarkAssemble(b *testing.B) {
	sizes := []int{1_000, 10_000}
	if env := os.Getenv("KEN_BENCH_SIZES"); env != "" {
		sizes = nil
		for part := range strings.SplitSeq(env, ",") {
			n, err := strconv.Atoi(part)
			if err != nil {
				b.Fatal(err)
			}
			sizes = append(sizes, n)
		}
	}
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			l := open(b, settings(func(c *config.Config) { c.Retrieval.Deadline = 30 * time.Second }),
				func(o *middleware.Options) { o.Embedder = synth.NewEmbedder(256) })
			src := synth.New(1)
			for left := n; left > 0; left -= 1000 {
				batch := make([]ken.Claim, min(left, 1000))
				for i := range batch {
					batch[i] = src.Claim()
				}
				learn(b, l, batch...)
			}
			var took []time.Duration
			items := 0
			b.ReportAllocs()
			for b.Loop() {
				turn := asked(src.Question())
				start := time.Now()
				r := l.Assemble(context.Background(), turn).Receipt
				took = append(took, time.Since(start))
				if r.Mode != ken.ModeHybrid {
					b.Fatalf("mode %s: %s", r.Mode, r.Cause)
				}
				items += len(r.Items)
			}
			slices.Sort(took)
			for name, p := range map[string]float64{"p50-ms": .5, "p99-ms": .99} {
				b.ReportMetric(float64(took[int(p*float64(len(took)-1))].Microseconds())/1000, name)
			}
			b.ReportMetric(float64(items)/float64(len(took)), "items/op")
		})
	}
}
