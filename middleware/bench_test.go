package middleware_test

import (
	"context"
	"fmt"
	"strings"
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

// BenchmarkAssembleWithMemory is a turn as above with 10,000 claims, once with
// nothing else and once with 200 hot claims, 500 episodes and 50 playbooks, of
// which the floor, being off, lets two into every turn.
func BenchmarkAssembleWithMemory(b *testing.B) {
	for _, memory := range []bool{false, true} {
		b.Run(fmt.Sprintf("memory=%v", memory), func(b *testing.B) {
			l := open(b, settings(func(c *config.Config) {
				c.Retrieval.Deadline, c.Retrieval.Floor, c.Middleware.Journal = 30*time.Second, 0, false
			}),
				func(o *middleware.Options) { o.Embedder = synth.NewEmbedder(256) })
			src := synth.New(1)
			batch := make([]ken.Claim, 10_000)
			for i := range batch {
				batch[i] = src.Claim()
			}
			learn(b, l, batch...)
			if memory {
				learn(b, l, remembered(src)...)
			}
			src = synth.New(2) // the same questions for both
			var took []time.Duration
			chars := 0
			b.ReportAllocs()
			for b.Loop() {
				turn := asked(src.Question())
				turn.Session = fmt.Sprint("session ", len(took))
				start := time.Now()
				r := l.Assemble(context.Background(), turn).Receipt
				took = append(took, time.Since(start))
				if r.Mode != ken.ModeHybrid || len(r.Degraded) > 0 {
					b.Fatalf("mode %s: %s; %q", r.Mode, r.Cause, r.Degraded)
				}
				chars += r.Chars
			}
			synth.Percentiles(b, took)
			b.ReportMetric(float64(chars)/float64(len(took)), "chars/op")
		})
	}
}

// remembered is what a year of work leaves beside its facts.
func remembered(src *synth.Source) []ken.Claim {
	var out []ken.Claim
	add := func(n int, kind ken.Kind, text func() string) {
		for i := range n {
			c := src.Claim()
			c.Kind, c.Text, c.Heading = kind, text(), src.Text(3)
			c.Session, c.CreatedAt = fmt.Sprint(kind, i), monday.Add(time.Duration(i)*time.Hour)
			out = append(out, c)
		}
	}
	lines := func(n, words int) func() string {
		return func() string {
			var b strings.Builder
			for range n {
				b.WriteString("Part: " + src.Text(words) + ".\n")
			}
			return b.String()
		}
	}
	add(200, ken.KindHot, func() string { return src.Text(20) })
	add(500, ken.KindEpisode, lines(8, 20))
	add(50, ken.KindPlaybook, func() string { return src.Text(25) + ".\n\n" + lines(30, 10)() })
	return out
}
