package bolt_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/synth"
	"github.com/kenlayer/ken/store"
)

const benchDim = 256

// fill imports n claims, a thousand at a time, two batches on their way.
func fill(b *testing.B, s *bolt.Store, n int) {
	b.Helper()
	src := synth.New(1)
	var wg sync.WaitGroup
	slots := make(chan struct{}, 2)
	for left := n; left > 0; left -= 1000 {
		in := make([]store.Incoming, min(left, 1000))
		for i := range in {
			in[i].Claim = src.Claim()
		}
		slots <- struct{}{}
		wg.Go(func() {
			for _, o := range s.Import(context.Background(), in) {
				if o.Err != nil {
					b.Error(o.Err)
				}
			}
			<-slots
		})
	}
	wg.Wait()
}

func BenchmarkWriteOne(b *testing.B) {
	s := open(b, b.TempDir(), bolt.Options{Embedder: synth.NewEmbedder(benchDim)})
	src := synth.New(2)
	var took []time.Duration
	for b.Loop() {
		c := src.Claim()
		start := time.Now()
		if _, err := s.WriteClaim(context.Background(), c); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(start))
	}
	synth.Percentiles(b, took)
}

func BenchmarkWriteSixteen(b *testing.B) {
	s := open(b, b.TempDir(), bolt.Options{Embedder: synth.NewEmbedder(benchDim)})
	var wg sync.WaitGroup
	var mu sync.Mutex
	var took []time.Duration
	b.ResetTimer()
	for w := range 16 {
		wg.Go(func() {
			src := synth.New(uint64(w))
			for range max(1, b.N/16) {
				c := src.Claim()
				start := time.Now()
				if _, err := s.WriteClaim(context.Background(), c); err != nil {
					b.Error(err)
					return
				}
				mu.Lock()
				took = append(took, time.Since(start))
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(len(took))/b.Elapsed().Seconds(), "writes/s")
	synth.Percentiles(b, took)
}

// BenchmarkImport fills a store from empty.
func BenchmarkImport(b *testing.B) {
	for _, n := range synth.Sizes(b) {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				s := open(b, b.TempDir(), bolt.Options{Embedder: synth.NewEmbedder(benchDim)})
				start := time.Now()
				fill(b, s, n)
				b.ReportMetric(float64(n)/time.Since(start).Seconds(), "claims/s")
			}
		})
	}
}

// BenchmarkOpen opens a filled store in a process of its own, and reports how long
// that took and how much memory the process then held.
func BenchmarkOpen(b *testing.B) {
	for _, n := range synth.Sizes(b) {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir := b.TempDir()
			s, err := bolt.Open(context.Background(), dir, bolt.Options{Embedder: synth.NewEmbedder(benchDim), NoSync: true})
			if err != nil {
				b.Fatal(err)
			}
			fill(b, s, n)
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
			var ms, mb float64
			rounds := 0.0
			for b.Loop() {
				out, err := child(b, "opener", dir).Output()
				if err != nil {
					b.Fatal(err)
				}
				var oneMS, oneMB float64
				if _, err := fmt.Sscan(string(out), &oneMS, &oneMB); err != nil {
					b.Fatalf("child said %q: %v", out, err)
				}
				ms, mb, rounds = ms+oneMS, max(mb, oneMB), rounds+1
			}
			b.ReportMetric(ms/rounds, "open-ms")
			b.ReportMetric(mb, "rss-MB")
			b.ReportMetric(0, "ns/op") // of starting a process, which nobody asked for
		})
	}
}

// childOpener opens a store, prints milliseconds and resident megabytes, and runs one
// query so that lazy work is included.
func childOpener() {
	e := synth.NewEmbedder(benchDim)
	start := time.Now()
	s, err := bolt.Open(context.Background(), os.Getenv("KEN_TEST_DIR"), bolt.Options{Embedder: e})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	took := time.Since(start)
	if _, err := s.Query(context.Background(), ken.Query{Question: synth.New(9).Question()}); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	status, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kb, _ := strconv.ParseFloat(strings.Fields(rest + " 0")[0], 64)
	fmt.Println(float64(took.Microseconds())/1000, kb/1024)
	s.Close()
}

// BenchmarkOutlines asks a store for what eight names have, where every second claim
// is about two of a fifth as many names.
func BenchmarkOutlines(b *testing.B) {
	for _, n := range synth.Sizes(b) {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := open(b, b.TempDir(), bolt.Options{NoSync: true})
			src := synth.New(3)
			name := func(i int) string { return fmt.Sprintf("service %d", i%(n/5)) }
			for from := 0; from < n; from += 1000 {
				in := make([]store.Incoming, min(n-from, 1000))
				for i := range in {
					in[i].Claim = src.Claim()
					c, at := &in[i].Claim, from+i
					c.Entities, c.Aspect, c.Constraint = []string{name(at * 7), name(at * 13)}, fmt.Sprint("aspect ", at%8), at%50 == 0
					if at%40 == 1 {
						c.Kind, c.Importance = ken.KindDependency, 0.5
					}
				}
				for _, o := range s.Import(b.Context(), in) {
					if o.Err != nil {
						b.Fatal(o.Err)
					}
				}
			}
			var took []time.Duration
			f := &ken.Filter{Now: time.Now()}
			for i := 0; b.Loop(); i++ {
				names := make([]string, 8)
				for j := range names {
					names[j] = name(i*31 + j*17)
				}
				start := time.Now()
				if _, err := s.Outlines(b.Context(), names, f, store.OutlineOptions{}); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(start))
			}
			synth.Percentiles(b, took)
		})
	}
}
