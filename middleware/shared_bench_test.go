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

// BenchmarkAssembleElsewhere is BenchmarkAssembleWithMemory's turn, once in the
// process that holds the store and once in one that asks it over the socket.
func BenchmarkAssembleElsewhere(b *testing.B) {
	root := b.TempDir()
	layers := map[string]*middleware.Layer{}
	for _, role := range []string{"holder", "client"} {
		layers[role] = open(b, settings(func(c *config.Config) {
			c.Retrieval.Deadline, c.Retrieval.Floor, c.Middleware.Journal = 30*time.Second, 0, false
		}), func(o *middleware.Options) { o.Root, o.Embedder = root, synth.NewEmbedder(256) })
	}
	src := synth.New(1)
	for range 10 {
		batch := make([]ken.Claim, 1000)
		for i := range batch {
			batch[i] = src.Claim()
		}
		learn(b, layers["holder"], batch...)
	}
	for _, memory := range []bool{false, true} {
		if memory {
			learn(b, layers["holder"], remembered(src)...)
		}
		for _, role := range []string{"holder", "client"} {
			b.Run(fmt.Sprintf("memory=%v/%s", memory, role), func(b *testing.B) {
				src := synth.New(2) // the same questions for both
				var took []time.Duration
				b.ReportAllocs()
				for b.Loop() {
					turn := asked(src.Question())
					turn.Session = fmt.Sprint("session ", memory, len(took))
					start := time.Now()
					r := layers[role].Assemble(context.Background(), turn).Receipt
					took = append(took, time.Since(start))
					if r.Mode != ken.ModeHybrid || len(r.Degraded) > 0 {
						b.Fatalf("mode %s: %s; %q", r.Mode, r.Cause, r.Degraded)
					}
				}
				synth.Percentiles(b, took)
			})
		}
	}
}
