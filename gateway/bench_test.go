package gateway_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/synth"
	"github.com/kenlayer/ken/middleware"
)

// These benchmarks make each call twice, over a direct connection and through the
// gateway, in turns, so that both meet the same machine. Client and upstream run on
// the same cores. added-p50-ms and added-p99-ms are what the gateway adds to the time
// until the first byte of the answer.

// sizes are those of the stores: none, 10,000 and 100,000 claims, or what
// KEN_BENCH_SIZES asks for.
func sizes(b *testing.B) []int {
	if os.Getenv("KEN_BENCH_SIZES") != "" {
		return synth.Sizes(b)
	}
	return []int{0, 10_000, 100_000}
}

// BenchmarkFirstByte is a model call with a new question each time, in conversations
// of ten turns.
func BenchmarkFirstByte(b *testing.B) {
	for _, n := range sizes(b) {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			_, upstream := newCannedServer(b)
			address, l := benchGateway(b, upstream, n)
			if r := assembled(l); n > 0 && (r.Mode != ken.ModeHybrid || len(r.Items) == 0) {
				b.Fatalf("mode %s: %s, %d items", r.Mode, r.Cause, len(r.Items))
			}
			twice(b, upstream, address, newConversations(1).next)
		})
	}
}

// assembled is the receipt of a turn as the benchmarks ask for them.
func assembled(l *middleware.Layer) ken.Receipt {
	q := synth.New(3).Question()
	return l.Assemble(context.Background(), ken.Turn{Messages: []ken.Message{{Role: "user", Text: q}}}).Receipt
}

// BenchmarkPassThrough is what Ken has no part in.
func BenchmarkPassThrough(b *testing.B) {
	body := `{"model":"text-embedding-3-small","input":"` + synth.New(1).Text(300) + `"}`
	for name, r := range map[string][]byte{
		"path":       onWire("/v1/audio/speech", "", body),
		"embeddings": onWire("/v1/embeddings", "", body),
		"models":     []byte("GET /v1/models HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer sk-bench\r\n\r\n"),
	} {
		b.Run(name, func(b *testing.B) {
			_, upstream := newCannedServer(b)
			address, _ := benchGateway(b, upstream, 0)
			twice(b, upstream, address, func() []byte { return r })
		})
	}
}

// twice sends each request on both ways.
func twice(b *testing.B, upstream, address string, next func() []byte) {
	b.Helper()
	direct, through := dialWire(b, upstream), dialWire(b, address)
	var took [2][]time.Duration
	one := func() {
		r := next()
		for side, c := range []*wireClient{direct, through} {
			start := time.Now()
			first, err := c.ask(r)
			if err != nil {
				b.Fatal(err)
			}
			took[side] = append(took[side], first.Sub(start))
		}
	}
	for range 50 { // connections, pools and caches
		one()
	}
	took[0], took[1] = took[0][:0], took[1][:0]
	for b.Loop() {
		one()
	}
	sides(b, took[0], took[1])
}

// BenchmarkStreamEvent is one event of a stream on its way from the upstream's write
// to the client's read, each after the one before has arrived: nothing is gathered
// into larger pieces, as it would be in a stream that comes faster than it is read.
func BenchmarkStreamEvent(b *testing.B) {
	type side struct {
		s    *cannedServer
		body io.ReadCloser
		took []time.Duration
	}
	var all [2]side
	for i := range all {
		s, upstream := newCannedServer(b)
		address := upstream
		if i == 1 {
			address, _ = benchGateway(b, upstream, 0)
		}
		c := dialWire(b, address)
		if _, err := c.c.Write(onWire("/v1/chat/completions", "s", `{"stream":true,"messages":[{"role":"user","content":"hi"}]}`)); err != nil {
			b.Fatal(err)
		}
		resp, err := http.ReadResponse(c.r, nil) //nolint:bodyclose // it is closed once it was read to its end
		if err != nil {
			b.Fatal(err)
		}
		all[i].s, all[i].body = s, resp.Body
	}
	event := make([]byte, len(cannedEvent))
	one := func() {
		for i := range all {
			start := time.Now()
			all[i].s.next <- struct{}{}
			if _, err := io.ReadFull(all[i].body, event); err != nil {
				b.Fatal(err)
			}
			all[i].took = append(all[i].took, time.Since(start))
		}
	}
	for range 200 {
		one()
	}
	all[0].took, all[1].took = all[0].took[:0], all[1].took[:0]
	for b.Loop() {
		one()
	}
	sides(b, all[0].took, all[1].took)
	for i := range all {
		close(all[i].s.next)
		if _, err := io.Copy(io.Discard, all[i].body); err != nil {
			b.Fatal(err)
		}
		if err := all[i].body.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

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
