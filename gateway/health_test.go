package gateway_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/gateway"
	"github.com/kenlayer/ken/internal/gateway/upstreamtest"
	"github.com/kenlayer/ken/internal/run/telemetry/metrics"
	"github.com/kenlayer/ken/internal/trust"
	"github.com/kenlayer/ken/middleware"
)

func TestHealthAndReadiness(t *testing.T) {
	up := upstreamtest.New(t)
	k, _ := keyFor("k", "")
	g := start(t, layer(t, nil), up.URL, withKeys(k)) // neither needs a key
	get := func(path string) reply { return do(t, request(t, http.MethodGet, g.URL+path, "")) }
	if got := get("/healthz"); got.StatusCode != http.StatusOK || !strings.Contains(got.body, `"ok"`) {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	if got := get("/readyz"); got.StatusCode != http.StatusOK || gjson.Get(got.body, "status").String() != "ok" || gjson.Get(got.body, "store").String() != "open" {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	if n := len(up.Requests()); n > 0 {
		t.Errorf("the upstream was asked %d times", n)
	}
}

func TestReadyAfterTheUpstreamFailed(t *testing.T) {
	g := start(t, layer(t, nil), upstreamtest.Refusing(t))
	post(t, g.URL+"/v1/chat/completions", chat(question))
	got := do(t, request(t, http.MethodGet, g.URL+"/readyz", ""))
	if got.StatusCode != http.StatusOK || gjson.Get(got.body, "status").String() != "degraded" || gjson.Get(got.body, "upstream.openai.fault").String() == "" {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
}

// Without a store the gateway passes everything on, and says what is missing.
func TestStoreThatCantBeOpened(t *testing.T) {
	up := upstreamtest.New(t)
	root := t.TempDir()
	if err := trust.Mark(root, filepath.Join(root, ".ken", "state")); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(root, ".ken", "state", ken.DefaultOwner), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, ".ken", "state", ken.DefaultOwner, "ken.db"), []byte(strings.Repeat("not a store\n", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	c := config.Default()
	c.Repository.Index, c.Middleware.Events = false, false
	l, err := middleware.Open(context.Background(), middleware.Options{Root: root, Config: &c, Foreground: true, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // what couldn't be opened can't be closed well
	g := start(t, l, up.URL)
	if got := post(t, g.URL+"/v1/chat/completions", chat(question)); got.StatusCode != http.StatusOK || got.Header.Get("X-Ken-Mode") != "none" {
		t.Errorf("%d %v", got.StatusCode, got.Header)
	}
	if got := string(up.Last(t).Body); got != chat(question) {
		t.Errorf("arrived %s", got)
	}
	got := do(t, request(t, http.MethodGet, g.URL+"/readyz", ""))
	if got.StatusCode != http.StatusOK || gjson.Get(got.body, "status").String() != "degraded" || gjson.Get(got.body, "store").String() == "open" || strings.Contains(got.body, root) {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
}

func TestReadinessWhileStopping(t *testing.T) {
	g, err := gateway.New(layer(t, nil), gateway.Options{Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	g.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil))
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "stopping") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// Each request has one line, with what an operator asks for and nothing that is a
// client's secret.
func TestRequestsAreLogged(t *testing.T) {
	up := upstreamtest.New(t)
	g := start(t, layer(t, map[string]string{"": about}), up.URL)
	got := post(t, g.URL+"/v1/chat/completions?api-key=sk-query", chat(question), "Authorization", "Bearer sk-secret", "X-Ken-Session", "abc")
	post(t, g.URL+"/v1/files/secret-name", "secret body")
	g.stop()
	var lines []string
	for line := range strings.Lines(g.log.String()) {
		if gjson.Get(line, "msg").String() == "request" {
			lines = append(lines, line)
		}
	}
	if len(lines) != 2 {
		t.Fatalf("%d lines: %q", len(lines), lines)
	}
	if gjson.Get(lines[0], "route").String() == "/*" { // a line is written when the client has its answer already
		lines[0], lines[1] = lines[1], lines[0]
	}
	for path, want := range map[string]string{"level": "INFO", "method": "POST", "route": "/v1/chat/completions", "status": "200", "session": "abc",
		"turn": got.Header.Get("X-Ken-Turn"), "mode": "hybrid", "owner": "default", "key": "local", "model": gjson.Get(got.body, "model").String(),
		"input_tokens": gjson.Get(got.body, "usage.prompt_tokens").String(), "output_tokens": gjson.Get(got.body, "usage.completion_tokens").String(),
		"bytes": strconv.Itoa(len(got.body))} {
		if v := gjson.Get(lines[0], path).String(); v != want {
			t.Errorf("%s is %q, want %q", path, v, want)
		}
	}
	for _, path := range []string{"block_chars", "ms", "first_ms", "ken_ms", "stage_ms.retrieve"} {
		if gjson.Get(lines[0], path).Float() <= 0 {
			t.Errorf("no %s in %s", path, lines[0])
		}
	}
	if gjson.Get(lines[1], "level").String() != "INFO" || gjson.Get(lines[1], "route").String() != "/*" {
		t.Errorf("%s", lines[1])
	}
	for _, secret := range []string{"sk-query", "sk-secret", "secret-name", "secret body", "PaymentService"} {
		if strings.Contains(g.log.String(), secret) {
			t.Errorf("%q is in the log", secret)
		}
	}
}

func TestMetricsAreCounted(t *testing.T) {
	up := upstreamtest.New(t)
	m := metrics.New()
	l := layer(t, nil)
	g := start(t, l, up.URL, func(o *gateway.Options) { o.Metrics = m })
	post(t, g.URL+"/v1/chat/completions", chat(question))
	up.Next(upstreamtest.Recording("error_429"))
	post(t, g.URL+"/v1/chat/completions", chat(question))
	g.stop()
	want := []string{
		`ken_http_requests_total{route="/v1/chat/completions",status="2xx"} 1`,
		`ken_http_requests_total{route="/v1/chat/completions",status="4xx"} 1`,
		`ken_upstream_errors_total{kind="rate_limited"} 1`,
		`ken_http_streams 0`,
		`ken_gen_ai_tokens_total{model="gpt-4.1-mini-2025-04-14",type="output"}`,
	}
	if err := l.Close(); err != nil { // waits for what is counted behind the client's back
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	got := w.Body.String()
	for _, line := range want {
		if !strings.Contains(got, line) {
			t.Errorf("no %s in\n%s", line, got)
		}
	}
}

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
