package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/gateway"
	"github.com/kenlayer/ken/internal/knowledge/operator"
	"github.com/kenlayer/ken/internal/run/telemetry/usage"
	"github.com/kenlayer/ken/internal/synth"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// cannedServer answers every request with the same bytes. It does as little as a
// server can: it shares the machine's cores with what is measured. A request with
// "stream":true gets canned.head, and then an event for each value on canned.next.
type cannedServer struct {
	whole []byte
	next  chan struct{}
	event []byte
}

const cannedEvent = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1763460000,"model":"m","choices":[{"index":0,"delta":{"content":" token"},"logprobs":null,"finish_reason":null}]}` + "\n\n"

func newCannedServer(b *testing.B) (*cannedServer, string) {
	const body = `{"id":"chatcmpl-1","object":"chat.completion","created":1763460000,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Three times, ten seconds apart."},"finish_reason":"stop"}],"usage":{"prompt_tokens":60,"completion_tokens":8,"total_tokens":68}}`
	s := &cannedServer{
		whole: []byte("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nDate: Tue, 18 Nov 2025 10:00:00 GMT\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body),
		next:  make(chan struct{}),
		event: []byte(strconv.FormatInt(int64(len(cannedEvent)), 16) + "\r\n" + cannedEvent + "\r\n"),
	}
	l, err := (&net.ListenConfig{}).Listen(b.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(c)
		}
	}()
	return s, l.Addr().String()
}

func (s *cannedServer) serve(c net.Conn) {
	defer c.Close()
	r := bufio.NewReaderSize(c, 64<<10)
	var body []byte
	for {
		n := 0
		for {
			line, err := r.ReadSlice('\n')
			if err != nil {
				return
			}
			if len(line) <= 2 {
				break
			}
			if v, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
				n, _ = strconv.Atoi(string(bytes.TrimSpace(v)))
			}
		}
		body = slices.Grow(body[:0], n)[:n]
		if _, err := io.ReadFull(r, body); err != nil {
			return
		}
		if bytes.HasPrefix(body, []byte(`{"stream":true`)) {
			if !s.stream(c) {
				return
			}
		} else if _, err := c.Write(s.whole); err != nil {
			return
		}
	}
}

// stream writes an event for each that is asked for, until next is closed.
func (s *cannedServer) stream(c net.Conn) bool {
	if _, err := io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nDate: Tue, 18 Nov 2025 10:00:00 GMT\r\nTransfer-Encoding: chunked\r\n\r\n"); err != nil {
		return false
	}
	for range s.next {
		if _, err := c.Write(s.event); err != nil {
			return false
		}
	}
	_, err := io.WriteString(c, "0\r\n\r\n")
	return err == nil
}

// wireClient is one connection of a client that writes requests it made before, and
// looks at the clock when the first byte of the answer is there.
type wireClient struct {
	c net.Conn
	r *bufio.Reader
}

func dialWire(b testing.TB, address string) *wireClient {
	c, err := (&net.Dialer{}).DialContext(b.Context(), "tcp", address)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	return &wireClient{c, bufio.NewReaderSize(c, 16<<10)}
}

// ask returns when the first byte of the answer was there.
func (w *wireClient) ask(request []byte) (first time.Time, err error) {
	if _, err = w.c.Write(request); err != nil {
		return first, err
	}
	if _, err = w.r.Peek(1); err != nil {
		return first, err
	}
	first = time.Now()
	resp, err := http.ReadResponse(w.r, nil)
	if err != nil {
		return first, err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %s", resp.Status)
	}
	return first, err
}

// onWire is a request as it goes over the wire.
func onWire(path, session, body string) []byte {
	head := "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nUser-Agent: bench/1.0\r\nAccept: application/json\r\nContent-Type: application/json\r\nAuthorization: Bearer sk-bench\r\n"
	if session != "" {
		head += "X-Ken-Session: " + session + "\r\n"
	}
	return []byte(head + "Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body)
}

// conversations make model calls, in order: so many go on at a time, by turns, each
// with a system prompt, all that was said in it, and a new question of ten words.
// After conversationTurns it is over, and another begins.
type conversations struct {
	src  *synth.Source
	said []string
	n    int
}

const conversationTurns = 10

func newConversations(atATime int) *conversations {
	return &conversations{src: synth.New(2), said: make([]string, atATime)}
}

func (c *conversations) next() []byte {
	i, turn := c.n%len(c.said), c.n/len(c.said)
	c.n++
	if turn%conversationTurns == 0 {
		c.said[i] = `{"model":"m","messages":[{"role":"system","content":"` + c.src.Text(200) + `"}`
	} else {
		c.said[i] += `,{"role":"assistant","content":"Three times, ten seconds apart."}`
	}
	c.said[i] += `,{"role":"user","content":"` + c.src.Question() + `"}`
	return onWire("/v1/chat/completions", fmt.Sprintf("conversation %d, %d", i, turn/conversationTurns), c.said[i]+"]}")
}

// benchGateway starts a gateway before an upstream, over a layer with so many claims
// and the embedder that comes with Ken, and returns its address. There is no floor:
// the words of the synthetic claims bear on nothing, and a turn without a block
// would cost less than a real one.
func benchGateway(b *testing.B, upstream string, claims int, change ...func(*config.Config)) (address string, l *middleware.Layer) {
	b.Helper()
	cfg := config.Default()
	cfg.Repository.Index, cfg.Middleware.Events, cfg.Retrieval.Floor = false, false, 0
	for _, f := range change {
		f(&cfg)
	}
	l, err := middleware.Open(context.Background(), middleware.Options{Root: b.TempDir(), Config: &cfg, Foreground: true, Strict: true,
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	fill(b, l, claims)
	u, err := usage.Open("", usage.Options{})
	if err != nil {
		b.Fatal(err)
	}
	o := gateway.Options{Upstream: "http://" + upstream + "/v1", Log: slog.New(slog.DiscardHandler)}
	o.Operator().Usage, o.Operator().Keys = u, operator.OpenKeys(operator.KeysPath(l.Config().State(l.Root())), nil)
	g, err := gateway.New(l, o)
	if err != nil {
		b.Fatal(err)
	}
	ln, err := (&net.ListenConfig{}).Listen(b.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan struct{})
	go func() {
		defer close(served)
		if err := g.Serve(ctx, ctx, ln); err != nil {
			b.Error(err)
		}
	}()
	b.Cleanup(func() { stop(); <-served })
	return ln.Addr().String(), l
}

// fill writes claims, a thousand at a time.
func fill(b *testing.B, l *middleware.Layer, claims int) {
	b.Helper()
	s, release, err := l.Store(context.Background(), "")
	if err != nil {
		b.Fatal(err)
	}
	defer release()
	src := synth.New(1)
	for left := claims; left > 0; left -= 1000 {
		in := make([]store.Incoming, min(left, 1000))
		for i := range in {
			in[i].Claim = src.Claim()
		}
		for _, o := range s.Import(context.Background(), in) {
			if o.Err != nil {
				b.Fatal(o.Err)
			}
		}
	}
}

// percentile of sorted durations, in milliseconds.
func percentile(sorted []time.Duration, p float64) float64 {
	return float64(sorted[int(p*float64(len(sorted)-1))].Nanoseconds()) / 1e6
}

// sides reports two series side by side, and what the gateway adds: the difference
// of their percentiles.
func sides(b *testing.B, direct, through []time.Duration) {
	b.Helper()
	slices.Sort(direct)
	slices.Sort(through)
	for name, p := range map[string]float64{"p50": .5, "p99": .99} {
		b.ReportMetric(percentile(direct, p), "direct-"+name+"-ms")
		b.ReportMetric(percentile(through, p), "gateway-"+name+"-ms")
		b.ReportMetric(percentile(through, p)-percentile(direct, p), "added-"+name+"-ms")
	}
	b.ReportMetric(0, "ns/op") // of both sides together: it says nothing
}

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
