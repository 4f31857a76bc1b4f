package gateway_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/gateway"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/gateway/upstreamtest"
	"github.com/kenlayer/ken/internal/run/receipt"
)

// Without a key that is known, nothing is served and nothing goes on; the error has
// the shape that the client can read.
func TestKeysAreNeeded(t *testing.T) {
	up := upstreamtest.New(t)
	known, _ := keyFor("ana", "ana")
	g := start(t, layer(t, nil), up.URL, withKeys(known))
	for _, tt := range []struct {
		name, path, at, kind string
		header               []string
	}{
		{"none", "/v1/chat/completions", "error.type", "authentication_error", nil},
		{"unknown", "/v1/chat/completions", "error.code", "unknown_key", []string{"Authorization", "Bearer ken_unknown"}},
		{"the provider's", "/v1/files", "error.code", "missing_key", []string{"Authorization", "Bearer sk-x"}},
		{"the hash", "/v1/files", "error.code", "unknown_key", []string{"X-Ken-Key", known.Hash}},
		{"Anthropic's shape", "/v1/messages", "error.type", "authentication_error", nil},
		{"by its header", "/v1/models", "type", "error", []string{"Anthropic-Version", "2023-06-01"}},
		{"Ken's own", "/api/search", "code", "missing_key", nil},
		{"where Ken's own is described", "/api/search", "type", "/api/problems/missing_key", nil},
		{"metrics", "/metrics", "status", "401", nil},
		{"MCP", "/mcp", "status", "401", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := post(t, g.URL+tt.path, chat(question), tt.header...)
			if got.StatusCode != http.StatusUnauthorized || got.Header.Get("X-Ken-Error") == "" || gjson.Get(got.body, tt.at).String() != tt.kind {
				t.Errorf("%d %v %s", got.StatusCode, got.Header, got.body)
			}
		})
	}
	if n := len(up.Requests()); n > 0 {
		t.Errorf("%d requests went on", n)
	}
	if log := g.log.String(); strings.Contains(log, "ken_unknown") || strings.Contains(log, "sk-x") {
		t.Errorf("a key is in the log: %s", log)
	}
}

// Whoever has the local key may do everything and names the owner, with keys beside it or
// without. Nobody else comes in without a key.
func TestLocalKey(t *testing.T) {
	up := upstreamtest.New(t)
	local := access.NewKey()
	known, key := keyFor("ana", "ana")
	for name, keys := range map[string]func(*gateway.Options){"alone": func(*gateway.Options) {}, "beside a key": withKeys(known)} {
		t.Run(name, func(t *testing.T) {
			var who access.Principal
			see := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { who = access.From(r.Context()) })
			g := start(t, layer(t, nil), up.URL, keys, func(o *gateway.Options) { o.LocalKey, o.Operator().API = local, see })
			for header, want := range map[string]int{"": http.StatusUnauthorized, access.NewKey(): http.StatusUnauthorized, local: http.StatusOK} {
				if got := post(t, g.URL+"/api/search", "{}", "X-Ken-Key", header, "X-Ken-Owner", "bob"); got.StatusCode != want {
					t.Errorf("with the key %q: %d %s", header, got.StatusCode, got.body)
				}
			}
			if who.Name != access.Local || who.Owner != "bob" || !who.Can(access.Operate) {
				t.Errorf("the bearer of the local key is %+v", who)
			}
			if got := post(t, g.URL+"/api/search", "{}", "X-Ken-Key", key); (got.StatusCode == http.StatusOK) != (name == "beside a key") || got.StatusCode == http.StatusOK && who.Owner != "ana" {
				t.Errorf("with another key: %d, %+v", got.StatusCode, who)
			}
		})
	}
}

// Whoever gets an error can read what it means, and how the API is described, without a key.
func TestDescriptionsNeedNoKey(t *testing.T) {
	l := layer(t, nil)
	known, _ := keyFor("ana", "ana")
	g := start(t, l, upstreamtest.New(t).URL, withKeys(known), withAPI(l))
	for path, want := range map[string]int{"/api/openapi.json": http.StatusOK, "/api/problems/missing_key": http.StatusOK, "/api/claims": http.StatusUnauthorized, "/api/problems": http.StatusUnauthorized} {
		if got := do(t, request(t, http.MethodGet, g.URL+path, "")); got.StatusCode != want {
			t.Errorf("%s: %d %s", path, got.StatusCode, got.body)
		}
	}
}

// The owner is the key's. What a client says of itself, in headers or in the body,
// opens nobody else's knowledge.
func TestKeyOpensItsOwnersKnowledgeAlone(t *testing.T) {
	up := upstreamtest.New(t)
	ana, anasKey := keyFor("ana", "ana")
	bob, bobsKey := keyFor("bob", "bob")
	l := layer(t, map[string]string{"ana": "PaymentService settles invoices for ana.", "bob": "PaymentService settles invoices for bob."})
	g := start(t, l, up.URL, withKeys(ana, bob))
	for key, want := range map[string]string{anasKey: "ana", bobsKey: "bob"} {
		body := strings.Replace(chat(question), "{", `{"user":"bob","metadata":{"session_id":"s","owner":"bob"},`, 1)
		post(t, g.URL+"/v1/chat/completions", body, "X-Ken-Key", key, "X-Ken-Owner", "bob", "X-Ken-Session", "the same")
		injected(t, body, up.Last(t).Body, "invoices for "+want+".")
		// Who asked is noted, so that the console can show people their own turns.
		if err := l.Operator().Recorded(t.Context()); err != nil {
			t.Fatal(err)
		}
		kept, _, err := l.Operator().Receipts(want).List(t.Context(), receipt.Query{})
		info, err2 := l.Operator().Journal(want).Info(t.Context(), "the same")
		if err != nil || err2 != nil || len(kept) != 1 || kept[0].Key != want || info.Key != want {
			t.Errorf("%s: receipts %+v, %v; session %+v, %v", want, kept, err, info, err2)
		}
	}
}

// Without keys, the header says whose knowledge it is, and nothing that could be a
// path.
func TestOwnerByHeader(t *testing.T) {
	up := upstreamtest.New(t)
	l := layer(t, map[string]string{"ana": about})
	g := start(t, l, up.URL)
	post(t, g.URL+"/v1/chat/completions", chat(question), "X-Ken-Owner", "ana")
	if err := l.Operator().Recorded(t.Context()); err != nil {
		t.Fatal(err)
	}
	injected(t, chat(question), up.Last(t).Body, "02:00 UTC")
	if kept, _, err := l.Operator().Receipts("ana").List(t.Context(), receipt.Query{}); err != nil || len(kept) != 1 || kept[0].Key != "" {
		t.Errorf("without keys: %+v, %v", kept, err)
	}
	for _, owner := range []string{"", "../ana", "a/b", ".", strings.Repeat("a", 129), "a b", "ana\xff"} {
		if got := post(t, g.URL+"/v1/chat/completions", chat(question), "X-Ken-Owner", owner); got.StatusCode != http.StatusBadRequest {
			t.Errorf("%q: %d", owner, got.StatusCode)
		}
	}
}

func TestRights(t *testing.T) {
	up := upstreamtest.New(t)
	reader, readersKey := keyFor("reader", "", "read")
	boss, bossKey := keyFor("boss", "", "operate")
	both, bothKey := keyFor("both", "", "chat", "read")
	var seen []access.Principal
	g := start(t, layer(t, nil), up.URL, withKeys(reader, boss, both), func(o *gateway.Options) {
		o.Operator().API = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = append(seen, access.From(r.Context())) })
	})
	for _, tt := range []struct {
		key, path string
		want      int
	}{
		{readersKey, "/v1/chat/completions", 403},
		{readersKey, "/v1/files", 403},
		{bothKey, "/v1/chat/completions", 200},
		{readersKey, "/api/x", 200},
		{readersKey, "/metrics", 403},
		{bossKey, "/metrics", 404}, // there are none
		{bossKey, "/mcp", 404},
	} {
		if got := post(t, g.URL+tt.path, chat(question), "X-Ken-Key", tt.key); got.StatusCode != tt.want {
			t.Errorf("%s: %d, want %d: %s", tt.path, got.StatusCode, tt.want, got.body)
		}
	}
	if len(seen) != 1 || seen[0].Name != "reader" || seen[0].Owner != "default" || !seen[0].Can(access.Read) || seen[0].Can(access.Write) {
		t.Errorf("the API saw %+v", seen)
	}
}

// A web page can't use a gateway that trusts whoever reaches it.
func TestForeignNamesAndPages(t *testing.T) {
	up := upstreamtest.New(t)
	l := layer(t, nil)
	open := start(t, l, up.URL, configured(func(c *config.Gateway) { c.Hosts = []string{"ken.internal"} }))
	k, key := keyFor("k", "")
	keyed := start(t, l, up.URL, withKeys(k))
	for _, tt := range []struct {
		name string
		g    *gate
		head string
		want string
	}{
		{"loopback", open, "Host: 127.0.0.1:8484", "200"},
		{"IPv6", open, "Host: [::1]:8484", "200"},
		{"localhost", open, "Host: LOCALHOST", "200"},
		{"below localhost", open, "Host: ken.localhost:1", "200"},
		{"configured", open, "Host: Ken.internal:8484", "200"},
		{"a name pointed here", open, "Host: evil.example", "421"},
		{"its suffix", open, "Host: localhost.evil.example", "421"},
		{"another address", open, "Host: 10.1.2.3", "421"},
		{"none", open, "Host: ", "421"},
		{"a page", open, "Host: localhost\r\nOrigin: https://evil.example", "403"},
		{"a page without origin", open, "Host: localhost\r\nOrigin: null", "403"},
		{"an image", open, "Host: localhost\r\nSec-Fetch-Site: cross-site", "403"},
		{"a page of this machine", open, "Host: localhost\r\nOrigin: http://localhost:3000", "200"},
		{"with keys", keyed, "Host: ken.example.com\r\nX-Ken-Key: " + key, "200"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			conn := dial(t, tt.g.URL, "GET /v1/models HTTP/1.1\r\n"+tt.head+"\r\nConnection: close\r\n\r\n")
			b, err := io.ReadAll(conn)
			if err != nil || !strings.HasPrefix(string(b), "HTTP/1.1 "+tt.want) {
				t.Errorf("%v %s", err, b)
			}
			if strings.Contains(string(b), "Access-Control-Allow-Origin") {
				t.Error("a page may read it")
			}
		})
	}
}

func TestNoTunnels(t *testing.T) {
	g := start(t, layer(t, nil), upstreamtest.New(t).URL)
	conn := dial(t, g.URL, "CONNECT localhost:22 HTTP/1.1\r\nHost: localhost:22\r\nConnection: close\r\n\r\n")
	if b, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(b), "HTTP/1.1 405") {
		t.Errorf("%v %s", err, b)
	}
}

// Keys come and go while the gateway serves, and an answer that is under way for a key
// that has gone is not cut.
func TestReloadChangesWhoComesIn(t *testing.T) {
	up := upstreamtest.New(t)
	pace := make(chan struct{})
	slow := upstreamtest.Recording("chat_stream")
	slow.Pace = pace
	up.Next(slow)
	a, keyA := keyFor("a", "")
	b, keyB := keyFor("b", "")
	g := start(t, layer(t, nil), up.URL, withKeys(a))
	c := config.Default().Gateway
	resp, err := client(t).Do(request(t, http.MethodPost, g.URL+"/v1/chat/completions", chat(question), "X-Ken-Key", keyA))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for _, tt := range []struct {
		keys []config.GatewayKey
		want [3]int // with no key, with a's, with b's
	}{
		{[]config.GatewayKey{b}, [3]int{401, 401, 200}},
		{[]config.GatewayKey{a, b}, [3]int{401, 200, 200}},
		{nil, [3]int{200, 200, 200}},
		{[]config.GatewayKey{a}, [3]int{401, 200, 401}},
	} {
		c.Keys = tt.keys
		if _, err := g.Reload(c); err != nil {
			t.Fatal(err)
		}
		for i, key := range []string{"", keyA, keyB} {
			got := do(t, request(t, http.MethodGet, g.URL+"/v1/models", "", "X-Ken-Key", key))
			if got.StatusCode != tt.want[i] {
				t.Errorf("%d keys, request %d: %d, want %d", len(tt.keys), i, got.StatusCode, tt.want[i])
			}
		}
	}
	close(pace)
	if b, err := io.ReadAll(resp.Body); err != nil || string(b) != string(slow.Body()) {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}

// Of a configuration what can change does, the rest stays, and what is in force is told.
func TestReloadTellsWhatIsInForce(t *testing.T) {
	g := start(t, layer(t, nil), "")
	have := config.Default().Gateway
	have.Listen, have.Notice = "127.0.0.1:0", 0
	next := have
	next.Rate, next.Burst, next.InFlight, next.BodyBytes, next.Hosts = 0.001, 2, 7, 2048, []string{"a.example"}
	next.LookBytes = 5 << 20
	next.Stall, next.Drain, next.Notice = time.Minute, 2, 3
	want := next
	next.Listen, next.Console, next.Anthropic, next.Taint, next.Idle = "127.0.0.1:1", false, "http://x", config.TaintBlock, 1
	got, err := g.Reload(next)
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	for i, want := range []int{200, 200, 429} {
		if got := do(t, request(t, http.MethodGet, g.URL+"/v1/models", "")); got.StatusCode != want {
			t.Errorf("request %d: %d, want %d", i, got.StatusCode, want)
		}
	}
	next.Rate = 0
	if _, err := g.Reload(next); err != nil {
		t.Fatal(err)
	}
	if got := post(t, g.URL+"/v1/chat/completions", string(make([]byte, 2049))); got.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
}

// What can't be is refused whole.
func TestReloadOfWhatCantBe(t *testing.T) {
	k, _ := keyFor("k", "")
	g, err := gateway.New(layer(t, nil), gateway.Options{Log: quiet, Config: &config.Gateway{Keys: []config.GatewayKey{k}, InFlight: 9}})
	if err != nil {
		t.Fatal(err)
	}
	bad := k
	bad.Hash = "sha256:no"
	got, err := g.Reload(config.Gateway{Keys: []config.GatewayKey{bad}, InFlight: 1})
	if !errors.Is(err, ken.ErrInvalid) || got.InFlight != 9 || got.Keys[0].Hash != k.Hash {
		t.Errorf("%+v, %v", got, err)
	}
}

// Requests and reloads at once: each request is served on the one or the other.
func TestReloadsAmongRequests(t *testing.T) {
	a, keyA := keyFor("a", "")
	b, _ := keyFor("b", "")
	g := start(t, layer(t, nil), "", withKeys(a, b), configured(func(c *config.Gateway) { c.Rate, c.Burst = 1e6, 1e6 }))
	var wg sync.WaitGroup
	c := client(t)
	for range 4 {
		wg.Go(func() {
			for range 50 {
				resp, err := c.Do(request(t, http.MethodGet, g.URL+"/v1/models", "", "X-Ken-Key", keyA))
				if err != nil {
					t.Error(err)
					return
				}
				if resp.StatusCode != http.StatusOK {
					t.Errorf("%d", resp.StatusCode)
				}
				resp.Body.Close()
			}
		})
	}
	next := config.Default().Gateway
	for i := range 200 {
		next.Keys, next.Rate = []config.GatewayKey{b, a}[i%2:], float64(i%2)*1e6
		next.Burst = 1e6
		if _, err := g.Reload(next); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
}
