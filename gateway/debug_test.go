package gateway_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	tracesdk "go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/gateway"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/gateway/upstreamtest"
	"github.com/kenlayer/ken/internal/run/telemetry/trace"
)

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
	g := start(t, l, up.URL, func(o *gateway.Options) { o.Tracer = tracer })
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
