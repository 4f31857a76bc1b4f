package gateway_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
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
