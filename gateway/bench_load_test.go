package gateway_test

import (
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	loadRate          = 500 // requests a second
	loadConversations = 100 // at a time
	loadConnections   = 256 // at most, of the client
)

// BenchmarkLoad makes 500 requests a second, at their times whether or not those
// before are answered, for KEN_BENCH_LOAD (3s, if nothing is set), to a store of
// 10,000 claims: first directly, for a tenth of the time, then through the gateway.
// Latency counts from when a request was due. A hundred conversations go on at once,
// each of ten turns with all that was said before; then another begins.
//
// The heap is what the last garbage collection left, the resident size what the
// system counts, client and upstream included: at the first and at the last tenth of
// the time.
func BenchmarkLoad(b *testing.B) {
	span := 3 * time.Second
	if env := os.Getenv("KEN_BENCH_LOAD"); env != "" {
		var err error
		if span, err = time.ParseDuration(env); err != nil {
			b.Fatalf("KEN_BENCH_LOAD: %v", err)
		}
	}
	_, upstream := newCannedServer(b)
	address, _ := benchGateway(b, upstream, 10_000)
	for b.Loop() {
		direct := load(b, upstream, max(span/10, time.Second), nil)
		var memory memorySamples
		through := load(b, address, span, &memory)
		sides(b, direct, through)
		memory.report(b)
		b.ReportMetric(float64(len(through))/span.Seconds(), "requests/s")
	}
}

// load makes the requests and returns how long each took from when it was due.
func load(b *testing.B, address string, span time.Duration, memory *memorySamples) []time.Duration {
	b.Helper()
	type job struct {
		due     time.Time
		request []byte
	}
	total := int(span.Seconds() * loadRate)
	jobs := make(chan job, total) // a dispatcher that waits would not be on time
	took := make([]time.Duration, 0, total)
	failed := 0
	var mu sync.Mutex // guards took and failed
	var clients sync.WaitGroup
	for range loadConnections {
		c := dialWire(b, address)
		clients.Go(func() {
			defer c.c.Close()
			for j := range jobs {
				first, err := c.ask(j.request)
				mu.Lock()
				if err != nil {
					if failed++; failed <= 5 {
						b.Errorf("a request failed: %v", err)
					}
					c = dialWire(b, address)
				} else {
					took = append(took, first.Sub(j.due))
				}
				mu.Unlock()
			}
		})
	}
	src := newConversations(loadConversations)
	start := time.Now()
	pace := time.NewTicker(time.Second / loadRate)
	defer pace.Stop()
	for i := range total {
		r := src.next()
		due := start.Add(time.Duration(i) * time.Second / loadRate)
		for time.Now().Before(due) {
			<-pace.C
		}
		jobs <- job{due, r}
		if memory != nil && i%(total/10) == total/10-1 {
			memory.sample()
		}
	}
	close(jobs)
	clients.Wait()
	if failed > 0 {
		b.Errorf("%d of %d requests failed", failed, total)
	}
	return took
}

// memorySamples are taken along a load, in megabytes.
type memorySamples struct{ heap, resident []float64 }

func (m *memorySamples) sample() {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	m.heap = append(m.heap, float64(s[0].Value.Uint64())/(1<<20))
	m.resident = append(m.resident, resident())
}

// resident is the size of this process in memory, 0 where the system does not say.
func resident() float64 {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil || runtime.GOOS != "linux" {
		return 0
	}
	pages, err := strconv.ParseFloat(strings.Fields(string(b))[1], 64)
	if err != nil {
		return 0
	}
	return pages * float64(os.Getpagesize()) / (1 << 20)
}

func (m *memorySamples) report(b *testing.B) {
	for name, s := range map[string][]float64{"heap": m.heap, "resident": m.resident} {
		b.ReportMetric(s[0], name+"-first-MB")
		b.ReportMetric(s[len(s)-1], name+"-last-MB")
	}
	b.Logf("heap %.0f MB, resident %.0f MB", m.heap, m.resident)
}
