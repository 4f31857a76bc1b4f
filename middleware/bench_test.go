package middleware_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/synth"
	"github.com/kenlayer/ken/middleware"
)

// BenchmarkAssemble is a turn of its own each time, hybrid, with an embedder in
// process, a question of ten words, and no floor: the words of the synthetic
// claims bear on nothing.
func BenchmarkAssemble(b *testing.B) {
	for _, n := range synth.Sizes(b) {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			l := open(b, settings(func(c *config.Config) { c.Retrieval.Deadline, c.Retrieval.Floor = 30*time.Second, 0 }),
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
			synth.Percentiles(b, took)
			b.ReportMetric(float64(items)/float64(len(took)), "items/op")
		})
	}
}
