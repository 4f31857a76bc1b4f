package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

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
	for range 2 {
		got := do(t, request(t, http.MethodGet, g.URL+"/readyz", ""))
		if got.StatusCode != http.StatusOK || gjson.Get(got.body, "status").String() != "degraded" || gjson.Get(got.body, "store").String() == "open" || strings.Contains(got.body, root) {
			t.Errorf("%d %s", got.StatusCode, got.body)
		}
	}
	if n := strings.Count(g.log.String(), "an owner's store can't be opened"); n != 1 || !strings.Contains(g.log.String(), "ken.db") {
		t.Errorf("the cause is logged %d times: %s", n, g.log.String())
	}
}

// A check of many keys opens no store. It names what is wrong with a store that is open, whichever key it belongs to.
func TestReadinessOpensNoStore(t *testing.T) {
	l := layer(t, nil)
	var keys []config.GatewayKey
	for i := range 40 {
		k, _ := keyFor(fmt.Sprintf("k%d", i), fmt.Sprintf("owner%d", i))
		keys = append(keys, k)
	}
	g := start(t, l, upstreamtest.New(t).URL, withKeys(keys...))
	if got := do(t, request(t, http.MethodGet, g.URL+"/readyz", "")); gjson.Get(got.body, "status").String() != "ok" {
		t.Error(got.body)
	}
	if got, err := l.Operator().Owners(t.Context()); err != nil || len(got) != 1 {
		t.Errorf("there are the stores of %q, %v", got, err)
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
	g := start(t, l, up.URL, func(o *gateway.Options) { o.Operator().Metrics = m })
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
