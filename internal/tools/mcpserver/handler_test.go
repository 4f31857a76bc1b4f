package mcpserver_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/tools/mcpserver"
	"github.com/kenlayer/ken/store"
	"github.com/kenlayer/ken/tools"
)

// byKey returns the caller of a request as a gateway would: by its key alone.
func byKey(r *http.Request) (tools.Caller, error) {
	switch key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "); key {
	case "a", "b":
		return tools.Caller{Owner: key, Agent: "agent of " + key, Rights: tools.Rights()}, nil
	case "reader":
		return tools.Caller{Owner: "a", Rights: []tools.Right{tools.Read}}, nil
	case "locked":
		return tools.Caller{}, &ken.Error{Code: ken.CodeRefused, Msg: "this key lacks the right to read"}
	}
	return tools.Caller{}, &ken.Error{Code: ken.CodeInvalid, Msg: "no such key"}
}

// keyed adds a key to every request.
type keyed struct {
	key  string
	next http.RoundTripper
}

func (k keyed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+k.key)
	r.Header.Set("X-Ken-Owner", "b") // nobody listens to it
	return k.next.RoundTrip(r)
}

func (k *kit) listen(o mcpserver.Options) *httptest.Server {
	h := mcpserver.Handler(k.registry, byKey, o)
	srv := httptest.NewServer(h)
	k.Cleanup(func() {
		if err := h.Close(); err != nil {
			k.Errorf("close handler: %v", err)
		}
		srv.Close()
	})
	return srv
}

func (k *kit) overHTTP(srv *httptest.Server, key string) *mcp.ClientSession {
	k.Helper()
	tr := &http.Transport{}
	k.Cleanup(tr.CloseIdleConnections)
	return connect(k, &mcp.StreamableClientTransport{Endpoint: srv.URL, HTTPClient: &http.Client{Transport: keyed{key, tr}}}, nil)
}

func TestStreamableHTTP(t *testing.T) {
	k := newKit(t)
	id := k.operator("b", "Zebra launches its orbital shop in Nairobi.")
	srv := k.listen(mcpserver.Options{Structured: true})
	a, b := k.overHTTP(srv, "a"), k.overHTTP(srv, "b")
	if _, text := call(t, b, "memory_recall", map[string]any{"query": "Zebra Nairobi"}); !strings.Contains(text, "orbital") {
		t.Errorf("B reads %q", text)
	}
	if _, text := call(t, a, "memory_recall", map[string]any{"query": "Zebra Nairobi"}); strings.Contains(text, "orbital") {
		t.Errorf("A reads %q", text)
	}
	_, err := a.ReadResource(context.Background(), &mcp.ReadResourceParams{URI: tools.ClaimURI + id})
	wantCode(t, err, jsonrpc.CodeInvalidParams)
	res, _ := call(t, a, "memory_ingest", map[string]any{"text": "The lamp is green."})
	var learned struct{ ID string }
	structured(t, res, &learned)
	k.store("a", func(s store.Engine) {
		if c, err := s.Get(context.Background(), learned.ID); err != nil || c.Session != a.ID() || c.Session == "" || c.Actor.ID != "agent of a" {
			t.Errorf("claim %+v, %v", c, err)
		}
	})
	if a.ID() == b.ID() {
		t.Error("two clients share a session")
	}
	reader := k.overHTTP(srv, "reader")
	if list, err := reader.ListTools(context.Background(), nil); err != nil || len(list.Tools) == 0 || len(list.Tools) >= len(k.registry.Tools(everybody)) {
		t.Errorf("a reader is offered %d tools, %v", len(list.Tools), err)
	}
	if _, err := reader.CallTool(context.Background(), &mcp.CallToolParams{Name: "memory_ingest", Arguments: map[string]any{"text": "x"}}); err == nil {
		t.Error("a reader writes")
	}
}

// post sends a request that the SDK's client would not send.
func post(t *testing.T, url, key, session, body string, change ...func(*http.Request)) (status int, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Authorization", "Bearer "+key)
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	for _, f := range change {
		f(req)
	}
	tr := &http.Transport{DisableKeepAlives: true}
	resp, err := (&http.Client{Transport: tr}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

const recall = `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"memory_list","arguments":{}}}`

// A session's id is no key: a request with another caller's key, or with a changed id, finds no session.
func TestSessionsBelongToTheirCaller(t *testing.T) {
	k := newKit(t)
	k.operator("a", "The vault of A opens with a brass lever.")
	srv := k.listen(mcpserver.Options{})
	a := k.overHTTP(srv, "a")
	if status, text := post(t, srv.URL, "a", a.ID(), recall); status != http.StatusOK || !strings.Contains(text, "brass lever") {
		t.Errorf("A itself: %d %s", status, text)
	}
	last := a.ID()[len(a.ID())-1:]
	flipped := a.ID()[:len(a.ID())-1] + map[bool]string{true: "1", false: "0"}[last == "0"]
	for name, try := range map[string][2]string{"B with A's session": {"b", a.ID()}, "a reader of A": {"reader", a.ID()}, "a guess": {"a", "x"}, "a changed id": {"a", flipped}} {
		if status, text := post(t, srv.URL, try[0], try[1], recall); status != http.StatusNotFound || strings.Contains(text, "brass") {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
}

func TestWhoMayCall(t *testing.T) {
	k := newKit(t)
	srv := k.listen(mcpserver.Options{})
	origin := func(values ...string) func(*http.Request) {
		return func(r *http.Request) { r.Header["Origin"] = values }
	}
	for _, tt := range []struct {
		name   string
		key    string
		change func(*http.Request)
		status int
	}{
		{"no page", "a", func(*http.Request) {}, http.StatusOK},
		{"no key", "", func(r *http.Request) { r.Header.Del("Authorization") }, http.StatusUnauthorized},
		{"an unknown key", "c", func(*http.Request) {}, http.StatusUnauthorized},
		{"a key without the right", "locked", func(*http.Request) {}, http.StatusForbidden},
		{"a page on this machine", "a", origin("http://localhost:6274"), http.StatusOK},
		{"another page", "a", origin("https://evil.example"), http.StatusForbidden},
		{"one that looks alike", "a", origin("http://localhost.evil.example"), http.StatusForbidden},
		{"a file", "a", origin("null"), http.StatusForbidden},
		{"two origins", "a", origin("http://localhost", "https://evil.example"), http.StatusForbidden},
		{"a name that points here", "a", func(r *http.Request) { r.Host = "evil.example"; r.Header.Set("Origin", "http://evil.example") }, http.StatusForbidden},
	} {
		t.Run(tt.name, func(t *testing.T) {
			line, _, _ := strings.Cut(hello, "\n")
			if status, text := post(t, srv.URL, tt.key, "", line, tt.change); status != tt.status {
				t.Errorf("%d %s, want %d", status, text, tt.status)
			}
		})
	}
}

func TestBadBodies(t *testing.T) {
	k := newKit(t)
	srv := k.listen(mcpserver.Options{})
	a := k.overHTTP(srv, "a")
	for name, body := range map[string]string{"not JSON": `{`, "nothing": ``, "no message": `{"a":1}`, "too long": `{"x":"` + strings.Repeat("x", 5<<20) + `"}`} {
		if status, text := post(t, srv.URL, "a", a.ID(), body); status < 400 || status >= 500 {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	call(t, a, "memory_stats", nil) // the session goes on
}

// A handler serves many callers, each with a server of its own.
func TestManyCallers(t *testing.T) {
	k := newKit(t)
	n := 0
	h := mcpserver.Handler(k.registry, func(*http.Request) (tools.Caller, error) {
		n++
		return tools.Caller{Owner: "a", Agent: strings.Repeat("x", n), Rights: tools.Rights()}, nil
	}, mcpserver.Options{})
	srv := httptest.NewServer(h)
	defer srv.Close()
	defer h.Close()
	line, _, _ := strings.Cut(hello, "\n")
	for range 100 {
		if status, text := post(t, srv.URL, "a", "", strings.Replace(line, `"initialize"`, `"ping"`, 1)); status >= 500 {
			t.Fatalf("%d %s", status, text)
		}
	}
	if n != 100 {
		t.Errorf("asked %d times", n)
	}
}

// Close ends the sessions, so that the HTTP server can shut down.
func TestClose(t *testing.T) {
	k := newKit(t)
	h := mcpserver.Handler(k.registry, byKey, mcpserver.Options{})
	srv := httptest.NewServer(h)
	defer srv.Close()
	a := k.overHTTP(srv, "a")
	call(t, a, "memory_stats", nil)
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if status, _ := post(t, srv.URL, "a", a.ID(), recall); status != http.StatusServiceUnavailable {
		t.Errorf("after the end: %d", status)
	}
}
