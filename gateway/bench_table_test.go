package gateway_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"text/tabwriter"
	"time"
)

// tableRun is how long each figure with several clients is measured, and how long the
// streams last.
const tableRun = 3 * time.Second

// BenchmarkTable prints what the gateway costs, side by side with no proxy and with Go's
// ReverseProxy, over a store of 10,000 claims: the time to the first byte, one request
// after the other; requests a second of 50 clients that each wait for their answer; 500
// fresh turns that come together; and 500 streams. Clients and upstream run on the same
// cores. make bench-gateway runs it.
func BenchmarkTable(b *testing.B) {
	s, upstream := newCannedServer(b)
	address, _ := benchGateway(b, upstream, 10_000)
	sides := []tableSide{{"direct", upstream}, {"ReverseProxy", benchProxy(b, upstream)}, {"ken", address}}
	for b.Loop() {
		out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(out, "\nfirst byte, c = 1, ms p50 / p99\t"+names(sides)+"\tadded to direct\tto ReverseProxy")
		for _, k := range kinds() {
			oneByOne(b, out, sides, k)
		}
		fmt.Fprintln(out, "\nc = 50, requests a second (ms p50 / p99)\t"+names(sides))
		for _, k := range kinds() {
			inParallel(b, out, sides, k)
		}
		together(b, out, address)
		streams(b, out, s, address)
		if err := out.Flush(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(0, "ns/op")
}

type tableSide struct{ name, address string }

func names(sides []tableSide) string {
	out := make([]string, len(sides))
	for i, s := range sides {
		out[i] = s.name
	}
	return strings.Join(out, "\t")
}

// tableKind is a sort of request. next makes the next one of a client.
type tableKind struct {
	name string
	next func() []byte
}

func kinds() []tableKind {
	pass := onWire("/v1/audio/speech", "", `{"model":"m","input":"`+strings.Repeat("A sentence of some words. ", 12)+`"}`)
	loop := onWire("/v1/chat/completions", "the same turn", `{"model":"m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"How often does the payments service retry?"},`+
		`{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"grep","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":"retry.go:1"}]}`)
	src := newConversations(50)
	var mu sync.Mutex
	return []tableKind{
		{"pass-through", func() []byte { return pass }},
		{"same turn again", func() []byte { return loop }},
		{"fresh turn", func() []byte {
			mu.Lock()
			defer mu.Unlock()
			return src.next()
		}},
	}
}

// benchProxy is Go's ReverseProxy in front of the upstream, with connections enough.
func benchProxy(b *testing.B, upstream string) string {
	b.Helper()
	p := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: upstream})
	t := &http.Transport{MaxIdleConns: 1024, MaxIdleConnsPerHost: 1024}
	p.Transport, p.FlushInterval, p.ErrorLog = t, -1, log.New(io.Discard, "", 0)
	srv := httptest.NewServer(p)
	b.Cleanup(func() { srv.Close(); t.CloseIdleConnections() })
	return srv.Listener.Addr().String()
}

// oneByOne asks each side in turns.
func oneByOne(b *testing.B, out io.Writer, sides []tableSide, k tableKind) {
	b.Helper()
	clients, took := make([]*wireClient, len(sides)), make([][]time.Duration, len(sides))
	for i, s := range sides {
		clients[i] = dialWire(b, s.address)
	}
	for n := range 1000 {
		r := k.next()
		for i, c := range clients {
			start := time.Now()
			first, err := c.ask(r)
			if err != nil {
				b.Fatal(err)
			}
			if n >= 100 { // pools and caches
				took[i] = append(took[i], first.Sub(start))
			}
		}
	}
	fmt.Fprint(out, k.name)
	p50, p99 := make([]float64, len(sides)), make([]float64, len(sides))
	for i := range sides {
		slices.Sort(took[i])
		p50[i], p99[i] = percentile(took[i], .5), percentile(took[i], .99)
		fmt.Fprintf(out, "\t%.3f / %.2f", p50[i], p99[i])
	}
	fmt.Fprintf(out, "\t%.3f / %.2f\t%.3f / %.2f\n", p50[2]-p50[0], p99[2]-p99[0], p50[2]-p50[1], p99[2]-p99[1])
}

// inParallel has 50 clients ask one side after the other.
func inParallel(b *testing.B, out io.Writer, sides []tableSide, k tableKind) {
	b.Helper()
	fmt.Fprint(out, k.name)
	for _, s := range sides {
		var mu sync.Mutex
		var took []time.Duration
		var clients sync.WaitGroup
		end := time.Now().Add(tableRun)
		for range 50 {
			c := dialWire(b, s.address)
			clients.Go(func() {
				var own []time.Duration
				for time.Now().Before(end) {
					r := k.next()
					start := time.Now()
					first, err := c.ask(r)
					if err != nil {
						b.Error(err)
						break
					}
					own = append(own, first.Sub(start))
				}
				mu.Lock()
				defer mu.Unlock()
				took = append(took, own...)
			})
		}
		clients.Wait()
		slices.Sort(took)
		fmt.Fprintf(out, "\t%.0f (%.1f / %.1f)", float64(len(took))/tableRun.Seconds(), percentile(took, .5), percentile(took, .99))
	}
	fmt.Fprintln(out)
}

// together asks for 500 fresh turns at once.
func together(b *testing.B, out io.Writer, address string) {
	b.Helper()
	src := newConversations(500)
	took := make([]time.Duration, 500)
	var untouched atomic.Int64
	var clients sync.WaitGroup
	begin := make(chan struct{})
	for i := range took {
		c, r := dialWire(b, address), []byte(strings.Replace(string(src.next()), "conversation ", "together ", 1))
		clients.Go(func() {
			<-begin
			start := time.Now()
			if _, err := c.c.Write(r); err != nil {
				b.Error(err)
				return
			}
			resp, err := http.ReadResponse(c.r, nil)
			if err != nil {
				b.Error(err)
				return
			}
			took[i] = time.Since(start)
			if resp.Header.Get("X-Ken-Untouched") != "" {
				untouched.Add(1)
			}
			_, err = io.Copy(io.Discard, resp.Body)
			if resp.Body.Close(); err != nil {
				b.Error(err)
			}
		})
	}
	close(begin)
	clients.Wait()
	slices.Sort(took)
	fmt.Fprintf(out, "\n500 fresh turns at once, ken: first byte ms p50 %.0f, p99 %.0f, last %.0f; %d passed without a new block\n",
		percentile(took, .5), percentile(took, .99), percentile(took, 1), untouched.Load())
}

// streams reads 500 streams, to which 5,000 events a second are sent.
func streams(b *testing.B, out io.Writer, s *cannedServer, address string) {
	b.Helper()
	const count = 500
	span := tableRun
	if env := os.Getenv("KEN_BENCH_STREAMS"); env != "" {
		var err error
		if span, err = time.ParseDuration(env); err != nil {
			b.Fatalf("KEN_BENCH_STREAMS: %v", err)
		}
	}
	var failed, read atomic.Int64
	var clients, begun sync.WaitGroup
	begun.Add(count)
	for i := range count {
		c := dialWire(b, address)
		clients.Go(func() {
			arrived := sync.OnceFunc(begun.Done)
			defer arrived()
			_, err := c.c.Write(onWire("/v1/chat/completions", fmt.Sprintf("stream %d", i), `{"stream":true,"messages":[{"role":"user","content":"hi"}]}`))
			if err == nil {
				var resp *http.Response
				if resp, err = http.ReadResponse(c.r, nil); err == nil {
					arrived()
					var n int64
					n, err = io.Copy(io.Discard, resp.Body)
					read.Add(n)
					_ = resp.Body.Close() // it was read to its end
				}
			}
			if err != nil {
				failed.Add(1)
			}
		})
	}
	begun.Wait()
	sent := int64(0)
	pace := time.NewTicker(10 * time.Millisecond)
	defer pace.Stop()
	for end := time.Now().Add(span); time.Now().Before(end); <-pace.C {
		for range 50 {
			s.next <- struct{}{}
			sent++
		}
	}
	close(s.next)
	clients.Wait()
	s.next = make(chan struct{})
	lost := sent - read.Load()/int64(len(cannedEvent))
	fmt.Fprintf(out, "%d streams of %s, ken: %d events, %d lost, %d errors\n", count, span, sent, lost, failed.Load())
}
