package gateway_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/gateway"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/gateway/upstreamtest"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	marker   = "[Pipeline Knowledge]"
	about    = "PaymentService settles invoices every night at 02:00 UTC."
	question = "when does PaymentService settle invoices?"
)

// layer opens a layer in an empty project, with what the owners know.
func layer(t testing.TB, known map[string]string, change ...func(*config.Config)) *middleware.Layer {
	t.Helper()
	c := config.Default()
	c.Retrieval.Deadline = 30 * time.Second // a busy machine must not change what is found
	c.Repository.Index, c.Middleware.Events, c.Gateway.Notice = false, false, 0
	for _, f := range change {
		f(&c)
	}
	l, err := middleware.Open(context.Background(), middleware.Options{Root: t.TempDir(), Config: &c, Foreground: true, Strict: true,
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatalf("open layer: %v", err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close layer: %v", err)
		}
	})
	for owner, text := range known {
		learn(t, l, owner, text)
	}
	return l
}

func learn(t testing.TB, l *middleware.Layer, owner, text string) {
	t.Helper()
	s, release, err := l.Store(context.Background(), owner)
	if err != nil {
		t.Fatalf("store: %v", err)
	}
	defer release()
	c, err := ken.NewClaim(text, ken.FromUserStatement("s", "m"))
	if err != nil {
		t.Fatalf("claim: %v", err)
	}
	for _, o := range s.Import(context.Background(), []store.Incoming{{Claim: c}}) {
		if o.Err != nil {
			t.Fatalf("learn: %v", o.Err)
		}
	}
}

// gate is a gateway that runs.
type gate struct {
	*gateway.Gateway
	URL  string
	log  *logged
	stop func() // as a first signal does, and waits
}

// start serves a gateway in front of up, which may be "" for none, on a loopback
// port, until the test ends.
func start(t testing.TB, l *middleware.Layer, up string, change ...func(*gateway.Options)) *gate {
	t.Helper()
	c := l.Config().Gateway
	c.Listen = "127.0.0.1:0"
	log := &logged{}
	o := gateway.Options{Upstream: up, Config: &c, Log: slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	for _, f := range change {
		f(&o)
	}
	g, err := gateway.New(l, o)
	if err != nil {
		t.Fatalf("new gateway: %v", err)
	}
	in, err := gateway.Listen(*o.Config)
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	now, cut := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- g.Serve(ctx, now, in) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	t.Cleanup(func() {
		cut()
		stop()
	})
	return &gate{Gateway: g, URL: "http://" + in.Addr().String(), log: log, stop: stop}
}

// logged keeps what is logged.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// client adds nothing to requests and changes nothing in answers. Its connections
// end with the test.
func client(t testing.TB) *http.Client {
	tr := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 1000}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// request is one that is sent as it is written here.
func request(t testing.TB, method, url, body string, header ...string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	return req
}

// reply is an answer that was read to its end.
type reply struct {
	*http.Response
	body string
	err  error // of reading it
}

func do(t testing.TB, req *http.Request) reply {
	t.Helper()
	resp, err := client(t).Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", req.Method, req.URL, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return reply{resp, string(b), err}
}

func post(t testing.TB, url, body string, header ...string) reply {
	t.Helper()
	return do(t, request(t, http.MethodPost, url, body, append([]string{"Content-Type", "application/json"}, header...)...))
}

// chat is the body of a chat completions request.
func chat(text string) string {
	return `{"model":"gpt-4o", "temperature":0,"messages":[{"role":"user","content":"` + text + `"}]}`
}

// dial sends bytes as they are and returns the connection.
func dial(t testing.TB, url, request string) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	return conn
}

// keyFor is an entry of gateway.keys and the key that opens it.
func keyFor(name, owner string, rights ...string) (config.GatewayKey, string) {
	key := access.NewKey()
	return config.GatewayKey{Name: name, Owner: owner, Hash: access.HashKey(key).String(), Rights: rights}, key
}

// configured changes the gateway's section.
func configured(f func(*config.Gateway)) func(*gateway.Options) {
	return func(o *gateway.Options) { f(o.Config) }
}

// withKeys is configured with keys.
func withKeys(keys ...config.GatewayKey) func(*gateway.Options) {
	return configured(func(c *config.Gateway) { c.Keys = keys })
}

// injected fails unless got is sent with one block in it that says want.
func injected(t testing.TB, sent string, got []byte, want string) {
	t.Helper()
	spans, ok := upstreamtest.Added([]byte(sent), got)
	if !ok || len(spans) != 1 || !strings.Contains(spans[0], marker) || !strings.Contains(spans[0], want) {
		t.Errorf("sent\n%s\narrived\n%s\nadded %q", sent, got, spans)
	}
}

// transport has the gateway use a client's connections.
func transport(c *http.Client) func(*gateway.Options) {
	return func(o *gateway.Options) { o.Transport = c.Transport }
}

// quiet is a log that nobody reads.
var quiet = slog.New(slog.DiscardHandler)
