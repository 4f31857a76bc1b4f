package main

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kenlayer/ken/internal/synth"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// BenchmarkRecallStdio is a call of memory_recall over standard input and output, from
// the client's side, against ken mcp as a process of its own: a question of ten words,
// by words and by meaning, with the built-in embedder.
func BenchmarkRecallStdio(b *testing.B) {
	for _, n := range synth.Sizes(b) {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			// Calibration would find that the words of synthetic claims have no meaning, and
			// leave the vector leg out.
			dir := mcpProject(b, "retrieval:\n  calibrate: false\n")
			fillProject(b, dir, n)
			cs := mcpClient(b, dir, "--structured")
			src := synth.New(2)
			var took []time.Duration
			found, hybrid := 0, 0
			for b.Loop() {
				args := map[string]any{"query": src.Question()}
				start := time.Now()
				res, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "memory_recall", Arguments: args})
				took = append(took, time.Since(start))
				if err != nil || res.IsError {
					b.Fatal(err, res)
				}
				answer := res.StructuredContent.(map[string]any)
				if found += len(answer["claims"].([]any)); answer["mode"] == "hybrid" {
					hybrid++
				}
			}
			synth.Percentiles(b, took)
			b.ReportMetric(float64(found)/float64(len(took)), "claims/op")
			b.ReportMetric(float64(hybrid)/float64(len(took)), "hybrid/op")
		})
	}
}

// fillProject writes n claims with their vectors.
func fillProject(b *testing.B, dir string, n int) {
	b.Helper()
	ctx := context.Background()
	l, err := middleware.Open(ctx, middleware.Options{Root: dir, Foreground: true, Strict: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
	}()
	s, release, err := l.Store(ctx, "")
	if err != nil {
		b.Fatal(err)
	}
	defer release()
	src := synth.New(1)
	for left := n; left > 0; left -= 1000 {
		batch := make([]store.Incoming, min(left, 1000))
		for i := range batch {
			batch[i].Claim = src.Claim()
		}
		for _, o := range s.Import(ctx, batch) {
			if o.Err != nil {
				b.Fatal(o.Err)
			}
		}
	}
	if have, total := s.Coverage(); have != total {
		b.Fatalf("%d of %d claims have a vector", have, total)
	}
}
