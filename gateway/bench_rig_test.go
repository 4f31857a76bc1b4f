package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"testing"
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
func benchGateway(b *testing.B, upstream string, claims int) (address string, l *middleware.Layer) {
	b.Helper()
	cfg := config.Default()
	cfg.Repository.Index, cfg.Middleware.Events, cfg.Retrieval.Floor = false, false, 0
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
	g, err := gateway.New(l, gateway.Options{Upstream: "http://" + upstream + "/v1", Log: slog.New(slog.DiscardHandler),
		Usage: u, Keys: operator.OpenKeys(operator.KeysPath(l.Config().State(l.Root())), nil)})
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
