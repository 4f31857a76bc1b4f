package gateway_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/gateway"
	"github.com/kenlayer/ken/internal/gateway/upstreamtest"
)

func TestTooManyAtOnce(t *testing.T) {
	up := upstreamtest.New(t)
	g := start(t, layer(t, nil), up.URL, configured(func(c *config.Gateway) { c.InFlight = 1 }))
	up.Next(upstreamtest.Stalled(upstreamtest.Recording("chat_stream"), 1))
	ctx, cancel := context.WithCancel(t.Context())
	resp, err := client(t).Do(request(t, http.MethodPost, g.URL+"/v1/chat/completions", chat(question)).WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got := post(t, g.URL+"/v1/chat/completions", chat(question))
	if got.StatusCode != http.StatusServiceUnavailable || got.Header.Get("Retry-After") != "1" || !strings.Contains(got.body, `"type":"server_error"`) {
		t.Errorf("%d %v %s", got.StatusCode, got.Header, got.body)
	}
	if got := do(t, request(t, http.MethodGet, g.URL+"/healthz", "")); got.StatusCode != http.StatusOK {
		t.Errorf("health: %d", got.StatusCode)
	}
	cancel()
	<-up.Wait(t, 0).Gone()
	g.stop() // the place is free when it is over
	if strings.Contains(g.log.String(), "cut off") {
		t.Error("a request was left")
	}
}

// A key's requests are counted by key, and whoever is told to wait is told how long.
func TestRateOfAKey(t *testing.T) {
	up := upstreamtest.New(t)
	var mu sync.Mutex
	now := time.Unix(1_700_000_000, 0)
	a, keyA := keyFor("a", "")
	b, keyB := keyFor("b", "")
	g := start(t, layer(t, nil), up.URL, func(o *gateway.Options) {
		o.Config.Keys, o.Config.Rate, o.Config.Burst = []config.GatewayKey{a, b}, 0.1, 2
		o.Now = func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return now
		}
	})
	ask := func(key string) reply {
		return post(t, g.URL+"/v1/messages", `{"messages":[]}`, "X-Ken-Key", key)
	}
	for range 2 {
		if got := ask(keyA); got.StatusCode != http.StatusOK {
			t.Fatalf("%d %s", got.StatusCode, got.body)
		}
	}
	got := ask(keyA)
	if got.StatusCode != http.StatusTooManyRequests || got.Header.Get("Retry-After") != "10" || !strings.Contains(got.body, `"rate_limit_error"`) {
		t.Errorf("%d %v %s", got.StatusCode, got.Header, got.body)
	}
	if got := ask(keyB); got.StatusCode != http.StatusOK {
		t.Errorf("another key: %d", got.StatusCode)
	}
	mu.Lock()
	now = now.Add(10 * time.Second)
	mu.Unlock()
	if got := ask(keyA); got.StatusCode != http.StatusOK {
		t.Errorf("after the wait: %d", got.StatusCode)
	}
}

func TestBodyTooLong(t *testing.T) {
	up := upstreamtest.New(t)
	g := start(t, layer(t, nil), up.URL, configured(func(c *config.Gateway) { c.BodyBytes = 1 << 10 }))
	long := `{"x":"` + strings.Repeat("y", 2<<10) + `"}`
	for _, path := range []string{"/v1/files", "/v1/chat/completions", "/v1/embeddings"} {
		for _, chunked := range []bool{false, true} {
			req := request(t, http.MethodPost, g.URL+path, long)
			if chunked {
				req.ContentLength = -1
			}
			if got := do(t, req); got.StatusCode != http.StatusRequestEntityTooLarge || got.Header.Get("X-Ken-Error") != "too_large" {
				t.Errorf("%s, chunked %t: %d %s", path, chunked, got.StatusCode, got.body)
			}
		}
	}
}

func TestHeadersTooLong(t *testing.T) {
	up := upstreamtest.New(t)
	g := start(t, layer(t, nil), up.URL, configured(func(c *config.Gateway) { c.HeaderBytes = 4 << 10 }))
	if got := post(t, g.URL+"/v1/files", "", "X-Long", strings.Repeat("x", 16<<10)); got.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("%d", got.StatusCode)
	}
	if len(up.Requests()) > 0 {
		t.Error("it went on")
	}
}

// A client that sends nothing, or takes nothing, is let go after gateway.stall; one
// whose stream flows slowly is not, however long it takes.
func TestSlowClients(t *testing.T) {
	l := layer(t, nil)
	for _, tt := range []struct {
		name, send string
		answer     func(ctx context.Context) io.ReadCloser
		read       func(t *testing.T, conn net.Conn)
	}{
		{"no headers", "POST /v1/chat/completions HT", nil, wantEnd("")},
		{"no body", "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{", nil, wantEnd("HTTP/1.1 408")},
		{"takes nothing", "POST /v1/files HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n",
			func(context.Context) io.ReadCloser {
				return io.NopCloser(strings.NewReader(strings.Repeat("x", 1<<20)))
			},
			func(t *testing.T, conn net.Conn) {
				<-time.After(2 * time.Minute)
				wantEnd("")(t, conn)
			}},
		{"slow but steady", "POST /v1/files HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n",
			func(ctx context.Context) io.ReadCloser { return &dripping{ctx: ctx, left: 10} },
			func(t *testing.T, conn net.Conn) {
				resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					t.Fatal(err)
				}
				if b, err := io.ReadAll(resp.Body); err != nil || len(b) != 10 {
					t.Errorf("%q, %v", b, err)
				}
				_ = resp.Body.Close()
				_ = conn.Close() // ends the server's wait for another request
			}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := l.Config().Gateway
				cfg.ReadHeader, cfg.Stall = 10*time.Second, time.Minute
				g, err := gateway.New(l, gateway.Options{Upstream: "http://up", Config: &cfg, Log: quiet, Transport: answering(tt.answer)})
				if err != nil {
					t.Fatal(err)
				}
				in := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- g.Serve(ctx, ctx, in) }()
				conn := in.dial()
				go func() { _, _ = io.WriteString(conn, tt.send) }() // what isn't taken is lost with the connection
				tt.read(t, conn)
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
				_ = conn.Close()
			})
		})
	}
}

// wantEnd reads to the end of a connection that began with want and was closed by
// the other side.
func wantEnd(want string) func(*testing.T, net.Conn) {
	return func(t *testing.T, conn net.Conn) {
		b, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(b), want) {
			t.Errorf("%.60q, %v; want %q", b, err, want)
		}
		if len(b) > 1<<20 {
			t.Error("all of it came")
		}
	}
}

// dripping is a body of one byte each 50 seconds.
type dripping struct {
	ctx  context.Context
	left int
}

func (d *dripping) Read(p []byte) (int, error) {
	if d.left == 0 {
		return 0, io.EOF
	}
	select {
	case <-time.After(50 * time.Second):
	case <-d.ctx.Done():
		return 0, d.ctx.Err()
	}
	d.left--
	p[0] = '.'
	return 1, nil
}

func (d *dripping) Close() error { return nil }

// answering is an upstream that answers with a body.
type answering func(context.Context) io.ReadCloser

// RoundTrip implements http.RoundTripper.
func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	if a == nil {
		return nil, errors.New("nothing should come here")
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: a(r.Context()), ContentLength: -1, Request: r, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}, nil
}

// pipes is a listener of connections in memory, which a bubble can wait for.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipes) dial() net.Conn {
	here, there := net.Pipe()
	p.conns <- there
	return here
}

// Accept implements net.Listener.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr implements net.Listener.
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8484} }
