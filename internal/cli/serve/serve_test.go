package serve

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/gateway/upstreamtest"
	"github.com/kenlayer/ken/middleware"
)

// A gateway in front of itself would ask itself until something breaks.
func TestServeIsNotItsOwnUpstream(t *testing.T) {
	at := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8484}
	for _, tt := range []struct {
		flag, configured, variable string
		want                       string // "" is refused
	}{
		{"", "", "", openAI},
		{"", "", "http://other:1/v1", "http://other:1/v1"},
		{"", "", "http://127.0.0.1:8484/v1", openAI},
		{"", "http://configured/v1", "http://other:1/v1", "http://configured/v1"},
		{"http://flag/v1", "http://configured/v1", "", "http://flag/v1"},
		{"http://localhost:8484/v1", "", "", ""},
		{"http://[::1]:8484", "", "", ""},
		{"", "http://127.0.0.2:8484/v1", "", ""},
		{"http://localhost:8485/v1", "", "", "http://localhost:8485/v1"},
		{"http://example.com:8484/v1", "", "", "http://example.com:8484/v1"},
	} {
		t.Setenv("OPENAI_BASE_URL", tt.variable)
		cfg := config.Default()
		cfg.Upstream.BaseURL = tt.configured
		got, err := serveUpstream(tt.flag, cfg, at)
		if got != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("%+v: %q, %v", tt, got, err)
		}
	}
	if got, err := serveUpstream(noUpstream, config.Default(), at); got != "" || err != nil {
		t.Errorf("none: %q, %v", got, err)
	}
}

// bearer is a client with a key, which says of itself that it is somebody else.
type bearer struct {
	t    *testing.T
	url  string
	key  string
	next *http.Transport
}

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Ken-Key", b.key)
	r.Header.Set("X-Ken-Owner", "bob")
	r.Header.Set("X-Ken-Session", "session-of-bob")
	return b.next.RoundTrip(r)
}

// ask makes a request and returns the status, the turn that the answer names, and the
// body.
func (b bearer) ask(method, path, body string) (status int, turn, text string) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.url+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := b.RoundTrip(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header.Get("X-Ken-Turn"), string(got)
}

// call calls a tool over MCP, at an address that lists others.
func (b bearer) call(name string, args map[string]any) string {
	b.t.Helper()
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil).Connect(b.t.Context(),
		&mcp.StreamableClientTransport{Endpoint: b.url + "/mcp?tools=code", HTTPClient: &http.Client{Transport: b}, DisableStandaloneSSE: true}, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	defer cs.Close()
	if list, err := cs.ListTools(b.t.Context(), nil); err != nil || len(list.Tools) != 3 {
		b.t.Fatalf("%d tools are listed, %v", len(list.Tools), err)
	}
	res, err := cs.CallTool(b.t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		b.t.Fatalf("%s: %v", name, err)
	}
	return res.Content[0].(*mcp.TextContent).Text
}

// keyedGateway is ken serve as it is put together, with a key of each owner that may
// do everything.
func keyedGateway(t *testing.T, owners ...string) (l *middleware.Layer, clients []bearer) {
	t.Helper()
	up := upstreamtest.New(t)
	cfg := config.Default()
	cfg.Retrieval.Deadline = 30 * time.Second // a busy machine must not change what is found
	cfg.Repository.Index, cfg.Middleware.Events = false, false
	keys := make([]string, len(owners))
	for i, owner := range owners {
		keys[i] = access.NewKey()
		k := config.GatewayKey{Name: owner, Hash: access.HashKey(keys[i]).String(), Owner: owner}
		for _, r := range access.Rights() {
			k.Rights = append(k.Rights, string(r))
		}
		cfg.Gateway.Keys = append(cfg.Gateway.Keys, k)
	}
	log := slog.New(slog.DiscardHandler)
	s, err := newServing(context.Background(), cfg, log, up.URL+"/v1")
	if err != nil {
		t.Fatal(err)
	}
	l, err = middleware.Open(context.Background(), middleware.Options{Root: t.TempDir(), Config: &cfg, Foreground: true, Strict: true, Log: log, OnReceipt: s.receipt})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	g, err := s.gateway(l, false)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(g)
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		if err := s.mcp.Close(); err != nil {
			t.Error(err)
		}
		srv.Close()
	})
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	for _, key := range keys {
		clients = append(clients, bearer{t: t, url: srv.URL, key: key, next: tr})
	}
	return l, clients
}

// The figures of another owner, and those that all owners add to, are for the keys of
// the configured owner alone.
func TestMetricsTellAKeyOfItsOwnerAlone(t *testing.T) {
	_, clients := keyedGateway(t, "ana", "bob", config.Default().Knowledge.Owner)
	if status, _, text := clients[1].ask(http.MethodPost, "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hi"}]}`); status != http.StatusOK {
		t.Fatal(status, text)
	}
	status, _, text := clients[0].ask(http.MethodGet, "/metrics", "")
	if status != http.StatusOK || !strings.Contains(text, `ken_records{owner="ana"}`) {
		t.Errorf("ana's own: %d %s", status, text)
	}
	for _, other := range []string{"bob", "default", "ken_turns_total", "ken_gen_ai", "ken_http", "ken_journal", "process_", "go_"} {
		if strings.Contains(text, other) {
			t.Errorf("ana is told of %s", other)
		}
	}
	status, _, text = clients[2].ask(http.MethodGet, "/metrics", "")
	for _, all := range []string{`ken_key_requests_total{key="bob",`, `ken_records{owner="ana"}`, `ken_records{owner="bob"}`, "ken_turns_total{", "ken_gen_ai_tokens_total"} {
		if status != http.StatusOK || !strings.Contains(text, all) {
			t.Errorf("the configured owner's key is not told of %s: %d", all, status)
		}
	}
}

// With a key of ana's, nothing of bob's is to be had: not by the id of a claim, by
// search, by the receipt of a turn, by session, by an export or by a tool, whatever
// the headers say. With a key of his own, he has all of it.
func TestAKeyOpensNothingOfAnotherOwner(t *testing.T) {
	const secret = "quagmire"
	l, clients := keyedGateway(t, "ana", "bob")
	ana, bob := clients[0], clients[1]
	status, _, learned := bob.ask(http.MethodPost, "/api/claims", `{"text":"The `+secret+` vault opens with a brass lever.","evidence":[{"kind":"decision","id":"d"}]}`)
	_, rest, _ := strings.Cut(learned, `"id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	if status != http.StatusCreated || id == "" {
		t.Fatalf("learn: %d %s", status, learned)
	}
	status, turn, _ := bob.ask(http.MethodPost, "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"How does the `+secret+` vault open?"}]}`)
	if status != http.StatusOK || turn == "" {
		t.Fatalf("chat: %d, turn %q", status, turn)
	}
	if err := l.Operator().Recorded(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path   string
		status int // for ana
		tells  string
	}{
		{"/api/claims/" + id, http.StatusNotFound, secret},
		{"/api/claims/" + id + "/history", http.StatusNotFound, "claim.written"},
		{"/api/claims/" + id + "/evidence", http.StatusNotFound, "decision"},
		{"/api/claims", http.StatusOK, secret},
		{"/api/search?q=" + secret + "+vault", http.StatusOK, "brass"},
		{"/api/turns/" + turn, http.StatusNotFound, secret},
		{"/api/turns/" + turn + "/explain?claim=" + id, http.StatusNotFound, "injected"},
		{"/api/turns", http.StatusOK, turn},
		{"/api/sessions/session-of-bob", http.StatusNotFound, "session-of-bob"},
		{"/api/sessions/session-of-bob/messages", http.StatusNotFound, secret},
		{"/api/sessions", http.StatusOK, "session-of-bob"},
		{"/api/export", http.StatusOK, secret},
	} {
		if status, _, text := bob.ask(http.MethodGet, tt.path, ""); status != http.StatusOK || !strings.Contains(text, tt.tells) {
			t.Errorf("bob's own %s: %d %s", tt.path, status, text)
		}
		status, _, text := ana.ask(http.MethodGet, tt.path, "")
		if status != tt.status || status == http.StatusOK && strings.Contains(text, tt.tells) || strings.Contains(text, "brass") {
			t.Errorf("%s for ana: %d %s", tt.path, status, text)
		}
	}
	for _, tt := range []struct {
		tool  string
		args  map[string]any
		tells string
	}{
		{"memory_recall", map[string]any{"query": secret + " vault"}, "brass"},
		{"memory_list", map[string]any{}, "brass"},
		{"knowledge_history", map[string]any{"id": id}, "brass"},
		{"knowledge_explain", map[string]any{"turn": turn, "claim": id}, "injected"},
		{"knowledge_explain", map[string]any{}, turn},
		{"recall_session", map[string]any{"session": "session-of-bob"}, secret},
	} {
		if text := bob.call(tt.tool, tt.args); !strings.Contains(text, tt.tells) {
			t.Errorf("bob's own %s %v: %s", tt.tool, tt.args, text)
		}
		if text := ana.call(tt.tool, tt.args); strings.Contains(text, tt.tells) || strings.Contains(text, "brass") {
			t.Errorf("%s %v for ana: %s", tt.tool, tt.args, text)
		}
	}
}

func TestLoopbackAddress(t *testing.T) {
	for addr, ok := range map[string]bool{"": true, "127.0.0.1:7777": true, "localhost:0": true, "[::1]:80": true, "127.9.9.9:1": true,
		"0.0.0.0:7777": false, ":7777": false, "192.168.1.4:80": false, "[::]:80": false, "example.org:80": false, "7777": false, "127.0.0.1": false} {
		err := loopbackAddress(addr)
		if (err == nil) != ok {
			t.Errorf("%q: %v", addr, err)
		}
		if err != nil && ken.Hint(err) == "" {
			t.Errorf("%q: no advice in %v", addr, err)
		}
	}
}
