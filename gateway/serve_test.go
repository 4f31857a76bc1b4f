package gateway_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
	tracesdk "go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/gateway"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/gateway/upstreamtest"
	"github.com/kenlayer/ken/internal/run/telemetry/trace"
)

// running is a gateway whose end the test decides about.
type running struct {
	url         string
	end, cut    context.CancelFunc // the first and the second signal
	ended       chan error
	newRequests func() error // whether it still takes any
}

func run(t *testing.T, up string, change ...func(*config.Gateway)) *running {
	t.Helper()
	l := layer(t, nil)
	c := l.Config().Gateway
	c.Listen, c.Drain = "127.0.0.1:0", time.Hour
	for _, f := range change {
		f(&c)
	}
	g, err := gateway.New(l, gateway.Options{Upstream: up, Config: &c, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	in, err := gateway.Listen(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	now, cut := context.WithCancel(t.Context())
	r := &running{url: "http://" + in.Addr().String(), end: end, cut: cut, ended: make(chan error, 1)}
	go func() { r.ended <- g.Serve(ctx, now, in) }()
	t.Cleanup(cut)
	r.newRequests = func() error {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", in.Addr().String())
		if err == nil {
			err = conn.Close()
		}
		return err
	}
	return r
}

// A stream that is under way ends as the upstream ends it, and then the gateway
// does; what comes meanwhile is refused.
func TestShutdownLetsStreamsEnd(t *testing.T) {
	up := upstreamtest.New(t)
	pace := make(chan struct{})
	a := upstreamtest.Recording("chat_stream")
	a.Pace = pace
	up.Next(a)
	g := run(t, up.URL)
	resp, err := client(t).Do(request(t, http.MethodPost, g.url+"/v1/chat/completions", chat(question)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	pace <- struct{}{}
	g.end()
	for g.newRequests() == nil {
	}
	select {
	case err := <-g.ended:
		t.Fatalf("ended before the stream: %v", err)
	default:
	}
	close(pace)
	if b, err := io.ReadAll(resp.Body); err != nil || string(b) != string(a.Body()) {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if err := <-g.ended; err != nil {
		t.Error(err)
	}
}

// A second signal waits for nobody, and a stream that is cut off doesn't look whole.
func TestSecondSignalCutsStreams(t *testing.T) {
	up := upstreamtest.New(t)
	up.Next(upstreamtest.Stalled(upstreamtest.Recording("chat_stream"), 2))
	g := run(t, up.URL)
	resp, err := client(t).Do(request(t, http.MethodPost, g.url+"/v1/chat/completions", chat(question)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	g.end()
	g.cut()
	if err := <-g.ended; err != nil {
		t.Error(err)
	}
	if b, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("the stream ended well after %d bytes", len(b))
	}
	<-up.Last(t).Gone()
}

// Who balances load sees that the gateway is about to stop while it still serves, and a
// second signal waits for none of that.
func TestReadinessSaysStoppingWhileItServes(t *testing.T) {
	up := upstreamtest.New(t)
	g := run(t, up.URL, func(c *config.Gateway) { c.Notice = time.Hour })
	ready := func() reply { return do(t, request(t, http.MethodGet, g.url+"/readyz", "")) }
	if got := ready(); got.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", got.StatusCode, got.body)
	}
	g.end()
	got := ready()
	for got.StatusCode == http.StatusOK { // until the signal has arrived
		got = ready()
	}
	if got.StatusCode != http.StatusServiceUnavailable || gjson.Get(got.body, "status").String() != "stopping" {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	if got := post(t, g.url+"/v1/chat/completions", chat(question)); got.StatusCode != http.StatusOK {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	g.cut()
	if err := <-g.ended; err != nil {
		t.Error(err)
	}
	if g.newRequests() == nil {
		t.Error("it still listens")
	}
}

func TestListenIsCareful(t *testing.T) {
	k, _ := keyFor("k", "")
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	file := filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, listen string
		keys         []config.GatewayKey
		want         error // nil for none
	}{
		{"loopback", "127.0.0.1:0", nil, nil},
		{"by name", "localhost:0", nil, nil},
		{"all addresses", "0.0.0.0:0", nil, ken.ErrRefused},
		{"no address", ":0", nil, ken.ErrRefused},
		{"all of IPv6", "[::]:0", nil, ken.ErrRefused},
		{"all addresses, with keys", "0.0.0.0:0", []config.GatewayKey{k}, nil},
		{"taken", taken.Addr().String(), nil, ken.ErrUnavailable},
		{"no such host", "no.such.host.invalid:1", nil, ken.ErrInvalid},
		{"what is no socket", "unix:" + file, nil, ken.ErrUnavailable},
		{"no folder", "unix:" + file + "/x/y", nil, ken.ErrUnavailable},
		{"too long", "unix:" + filepath.Join(t.TempDir(), strings.Repeat("x", 150)), nil, ken.ErrUnavailable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := config.Default().Gateway
			c.Listen, c.Keys = tt.listen, tt.keys
			in, err := gateway.Listen(c)
			if err == nil {
				defer in.Close()
			}
			if !errors.Is(err, tt.want) || err != nil && ken.Hint(err) == "" {
				t.Errorf("%v, want %v; try: %s", err, tt.want, ken.Hint(err))
			}
		})
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "x" {
		t.Errorf("the file is %q, %v", b, err)
	}
}

// A listener that a program brings is looked at as well.
func TestServeIsCareful(t *testing.T) {
	g, err := gateway.New(layer(t, nil), gateway.Options{Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	in, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Serve(t.Context(), t.Context(), in); !errors.Is(err, ken.ErrRefused) {
		t.Errorf("%v", err)
	}
	if _, err := in.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the listener is open: %v", err)
	}
}

// A socket is its owner's alone, one that was left behind is no obstacle, one in
// use is, and it is gone with the gateway.
func TestUnixSocket(t *testing.T) {
	up := upstreamtest.New(t)
	path := filepath.Join(t.TempDir(), "k")
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	if err := left.Close(); err != nil {
		t.Fatal(err)
	}
	l := layer(t, map[string]string{"": about})
	c := l.Config().Gateway
	c.Listen = "unix:" + path
	in, err := gateway.Listen(c)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := gateway.Listen(c); !errors.Is(err, ken.ErrUnavailable) {
		t.Errorf("a second one: %v, %v", again, err)
	}
	if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", fi.Mode(), err)
	}
	g, err := gateway.New(l, gateway.Options{Upstream: up.URL, Config: &c, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- g.Serve(ctx, ctx, in) }()
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}
	defer tr.CloseIdleConnections()
	resp, err := (&http.Client{Transport: tr}).Do(request(t, http.MethodPost, "http://any.name/v1/chat/completions", chat(question)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("%d, %v", resp.StatusCode, err)
	}
	resp.Body.Close()
	injected(t, chat(question), up.Last(t).Body, "02:00 UTC")
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
}

func TestTLS(t *testing.T) {
	up := upstreamtest.New(t)
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	pool := certify(t, cert, key)
	l := layer(t, map[string]string{"": about})
	c := l.Config().Gateway
	c.Listen, c.TLSCert, c.TLSKey = "127.0.0.1:0", cert, key
	in, err := gateway.Listen(c)
	if err != nil {
		t.Fatal(err)
	}
	g, err := gateway.New(l, gateway.Options{Upstream: up.URL, Config: &c, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- g.Serve(ctx, ctx, in) }()
	for _, http2 := range []bool{false, true} {
		tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: http2}
		up.Next(upstreamtest.Recording("chat_stream"))
		resp, err := (&http.Client{Transport: tr}).Do(request(t, http.MethodPost, "https://"+in.Addr().String()+"/v1/chat/completions", chat(question)))
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		if err != nil || string(b) != string(upstreamtest.Recording("chat_stream").Body()) || (resp.ProtoMajor == 2) != http2 {
			t.Errorf("%s: %d bytes, %v", resp.Proto, len(b), err)
		}
		resp.Body.Close()
		tr.CloseIdleConnections()
		injected(t, chat(question), up.Last(t).Body, "02:00 UTC")
	}
	pool = certify(t, cert, key) // renewed
	later := time.Now().Add(time.Minute)
	if err := errors.Join(os.Chtimes(cert, later, later), os.Chtimes(key, later, later)); err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	defer tr.CloseIdleConnections()
	resp, err := (&http.Client{Transport: tr}).Do(request(t, http.MethodGet, "https://"+in.Addr().String()+"/healthz", ""))
	if err != nil {
		t.Fatalf("with the renewed certificate: %v", err)
	}
	_ = resp.Body.Close()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	c.TLSKey = cert
	if _, err := gateway.Listen(c); !errors.Is(err, ken.ErrInvalid) {
		t.Errorf("a key that is none: %v", err)
	}
}

// certify writes a certificate for 127.0.0.1 and its key, and returns who trusts it.
func certify(t *testing.T, cert, key string) *x509.CertPool {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	b, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := errors.Join(os.WriteFile(cert, certPEM, 0o600), os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: b}), 0o600)); err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(certPEM)
	return pool
}

// Profiles have an address of their own, and are for who may operate.
func TestProfiles(t *testing.T) {
	l := layer(t, nil)
	talker, talkers := keyFor("c", "", string(access.Chat))
	operator, operators := keyFor("o", "", string(access.Operate))
	for _, tt := range []struct {
		name   string
		keys   []config.GatewayKey
		header []string
		status int
	}{
		{"without keys", nil, nil, 200},
		{"by another name", nil, []string{"Host", "evil.example"}, 421},
		{"from a web page", nil, []string{"Origin", "https://evil.example"}, 403},
		{"no key", []config.GatewayKey{talker, operator}, nil, 401},
		{"a key that may chat", []config.GatewayKey{talker, operator}, []string{"X-Ken-Key", talkers}, 403},
		{"a key that may operate", []config.GatewayKey{talker, operator}, []string{"X-Ken-Key", operators}, 200},
	} {
		cfg := l.Config().Gateway
		cfg.DebugListen, cfg.Keys = "127.0.0.1:0", tt.keys
		in, err := gateway.ListenDebug(cfg)
		if err != nil {
			t.Fatal(err)
		}
		g, err := gateway.New(l, gateway.Options{Config: &cfg, Log: quiet})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- g.ServeDebug(ctx, in) }()
		for path, status := range map[string]int{"/debug/pprof/goroutine?debug=1": tt.status, "/debug/pprof/cmdline": map[bool]int{true: 404, false: tt.status}[tt.status == 200]} {
			req := request(t, http.MethodGet, "http://"+in.Addr().String()+path, "", tt.header...)
			if host := req.Header.Get("Host"); host != "" {
				req.Host = host
			}
			if got := do(t, req); got.StatusCode != status || status == 200 && !strings.Contains(got.body, "goroutine profile") {
				t.Errorf("%s: %s: %d %s", tt.name, path, got.StatusCode, got.body)
			}
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if in, err := gateway.ListenDebug(l.Config().Gateway); in != nil || err != nil {
		t.Errorf("by default: %v, %v", in, err)
	}
	_, err := gateway.ListenDebug(config.Gateway{DebugListen: "0.0.0.0:0"})
	if e, ok := err.(*ken.Error); !ok || e.Field != "gateway.debug_listen" || e.Code != ken.CodeRefused {
		t.Errorf("where others reach it: %v", err)
	}
	up := upstreamtest.New(t)
	start(t, l, up.URL)
	if got := do(t, request(t, http.MethodGet, start(t, l, up.URL).URL+"/debug/pprof/", "")); len(up.Requests()) != 1 || strings.Contains(got.body, "goroutine") {
		t.Errorf("the gateway's own address serves it: %s", got.body)
	}
}

// The upstream's spans belong below Ken's: traceparent names Ken's span, in the client's
// trace. Without a tracer the client's header passes as it is.
func TestTraceContextIsKens(t *testing.T) {
	const from, state = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "vendor=1"
	up := upstreamtest.New(t)
	l := layer(t, nil)
	spans := tracesdk.NewInMemoryExporter()
	tracer, err := trace.Open(t.Context(), trace.Options{Exporter: spans})
	if err != nil {
		t.Fatal(err)
	}
	g := start(t, l, up.URL, func(o *gateway.Options) { o.Operator().Tracer = tracer })
	for _, path := range []string{"/v1/chat/completions", "/v1/files"} {
		post(t, g.URL+path, chat(question), "traceparent", from, "tracestate", state)
		got := up.Last(t).Get("traceparent")
		if parts := strings.Split(got, "-"); len(parts) != 4 || parts[1] != from[3:35] || parts[2] == from[36:52] || up.Last(t).Get("tracestate") != state {
			t.Errorf("%s: %q, %q", path, got, up.Last(t).Get("tracestate"))
		}
		if len(up.Last(t).Values("traceparent")) != 1 {
			t.Errorf("%s: several", path)
		}
	}
	plain := start(t, l, up.URL)
	post(t, plain.URL+"/v1/files", "x", "traceparent", from)
	if got := up.Last(t).Get("traceparent"); got != from {
		t.Errorf("without a tracer: %q", got)
	}
	if err := tracer.Close(); err != nil {
		t.Error(err)
	}
}
