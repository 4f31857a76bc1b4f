package gateway_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/gateway"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/gateway/upstreamtest"
	"github.com/kenlayer/ken/internal/knowledge/operator"
	"github.com/kenlayer/ken/internal/run/telemetry/usage"
)

// A key of the upstream that the gateway lends opens what asks a model. Every other path
// needs a right of its own, or a key of the client's.
func TestALentKeyOpensModelRoutesAlone(t *testing.T) {
	t.Setenv("KEN_TEST_LENT", "sk-lent")
	up := upstreamtest.New(t)
	chatter, chatKey := keyFor("chatter", "")
	admin, adminKey := keyFor("admin", "", "chat", "upstream")
	g := start(t, layer(t, nil), up.URL, withKeys(chatter, admin), configured(func(c *config.Gateway) { c.UpstreamKeyEnv = "KEN_TEST_LENT" }))
	for _, tt := range []struct {
		method, path string
		lent         bool // to a key with chat alone
	}{
		{"POST", "/v1/chat/completions", true},
		{"POST", "/v1/responses", true},
		{"POST", "/v1/messages", true},
		{"POST", "/v1/messages/count_tokens", true},
		{"POST", "/v1/responses/compact", true},
		{"POST", "/v1/embeddings", true},
		{"GET", "/v1/models", true},
		{"GET", "/v1/models/openai/gpt-5.1", true},
		{"DELETE", "/v1/files/file-1", false},
		{"GET", "/v1/organization/admin_api_keys", false},
		{"GET", "/v1/responses/resp_1", false},
		{"DELETE", "/v1/models/ft:gpt", false},
		{"POST", "/v1/batches", false},
		{"GET", "/v1/chat/completions", false},
		{"GET", "/v1/models/../files", false},
		{"GET", "/v1/models/%2e%2e/files", false},
		{"GET", "/v1/models//files", false},
		{"GET", "/v1/models/a/./b", false},
		{"GET", "/dashboard/billing", false},
	} {
		for key, may := range map[string]bool{chatKey: tt.lent, adminKey: true} {
			up.Forget()
			conn := dial(t, g.URL, tt.method+" "+tt.path+" HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "+key+"\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
			status, body := answered(t, conn)
			sent := up.Requests()
			switch {
			case may && (len(sent) != 1 || sent[0].Get("Authorization") != "Bearer sk-lent"):
				t.Errorf("%s %s: %d, %d went on", tt.method, tt.path, status, len(sent))
			case !may && (len(sent) != 0 || status != http.StatusForbidden || !strings.Contains(body, "upstream")):
				t.Errorf("%s %s is open: %d %s", tt.method, tt.path, status, body)
			}
		}
	}
	// Who brings a key of their own is lent nothing, and goes where that leads.
	up.Forget()
	got := do(t, request(t, http.MethodDelete, g.URL+"/v1/files/x", "", "X-Ken-Key", chatKey, "Authorization", "Bearer sk-own"))
	if sent := up.Requests(); len(sent) != 1 || sent[0].Get("Authorization") != "Bearer sk-own" {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	// The refusal has the shape that the client reads.
	got = post(t, g.URL+"/v1/messages/batches", "{}", "X-Api-Key", chatKey)
	if got.StatusCode != http.StatusForbidden || gjson.Get(got.body, "error.type").String() == "" {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
}

// A key asks the models that it may, however the request spells the field.
func TestModelsOfAKey(t *testing.T) {
	up := upstreamtest.New(t)
	k, key := keyFor("ci", "")
	k.Models = []string{"gpt-4*", "text-embedding-3-small"}
	g := start(t, layer(t, nil), up.URL, withKeys(k))
	ask := func(path, body string, header ...string) reply {
		t.Helper()
		return post(t, g.URL+path, body, append([]string{"X-Ken-Key", key}, header...)...)
	}
	for _, tt := range []struct {
		path, body string
		header     []string
		want       int
	}{
		{"/v1/chat/completions", chat(question), nil, 200},
		{"/v1/chat/completions", chat(question), []string{"X-Ken", "off"}, 200},
		{"/v1/chat/completions", strings.Replace(chat(question), "gpt-4o", "gpt-5", 1), nil, 403},
		{"/v1/chat/completions", strings.Replace(chat(question), "gpt-4o", "gpt-5", 1), []string{"X-Ken", "off"}, 403},
		{"/v1/chat/completions", `{"model":"gpt-4o","messages":[],"model":"gpt-5"}`, nil, 403},
		{"/v1/chat/completions", `{"model":"gpt-4o","messages":[],"MODEL":"gpt-5"}`, nil, 403},
		{"/v1/chat/completions", `{"model":"gpt-4o","messages":[],"mod\u0065l":"gpt-5"}`, nil, 403},
		{"/v1/chat/completions", `{"model":["gpt-4o"],"messages":[]}`, nil, 403},
		{"/v1/chat/completions", `{"messages":[]}`, nil, 403},
		{"/v1/chat/completions", `not JSON`, nil, 403},
		{"/v1/chat/completions", chat(question), []string{"Content-Encoding", "gzip"}, 403},
		{"/v1/embeddings", `{"model":"text-embedding-3-small","input":"a"}`, nil, 200},
		{"/v1/embeddings", `{"model":"text-embedding-3-large","input":"a"}`, nil, 403},
		{"/v1/images/generations", `{"model":"gpt-4-image"}`, nil, 200},
		{"/v1/images/generations", `{"model":"dall-e"}`, nil, 403},
		{"/v1/audio/transcriptions", "--x\r\nmultipart\r\n", []string{"Content-Type", "multipart/form-data; boundary=x"}, 403},
	} {
		up.Forget()
		got := ask(tt.path, tt.body, tt.header...)
		if went := len(up.Requests()) > 0; tt.want == 403 && (got.StatusCode != 403 || went || !strings.HasPrefix(got.Header.Get("X-Ken-Error"), "model_")) || tt.want == 200 && !went {
			t.Errorf("%s %s %v: %d %s", tt.path, tt.body, tt.header, got.StatusCode, got.body)
		}
	}
	if got := do(t, request(t, http.MethodGet, g.URL+"/v1/models", "", "X-Ken-Key", key)); got.StatusCode != http.StatusOK {
		t.Errorf("the list of models: %d", got.StatusCode)
	}
	conn := dial(t, g.URL, "GET /v1/realtime HTTP/1.1\r\nHost: localhost\r\nX-Ken-Key: "+key+"\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	if status, body := answered(t, conn); status != http.StatusUpgradeRequired || !strings.Contains(body, "limits_need_http") {
		t.Errorf("a websocket whose model nobody reads: %d", status)
	}
}

// testClock is a clock that tests move while a gateway reads it.
type testClock struct{ at atomic.Int64 }

func newTestClock(at time.Time) *testClock {
	c := &testClock{}
	c.at.Store(at.UnixNano())
	return c
}

func (c *testClock) now() time.Time         { return time.Unix(0, c.at.Load()).UTC() }
func (c *testClock) move(d time.Duration)   { c.at.Add(int64(d)) }
func (c *testClock) set(o *gateway.Options) { o.Now = c.now }

func TestKeysEnd(t *testing.T) {
	clock := newTestClock(time.Date(2026, 3, 14, 23, 0, 0, 0, time.UTC))
	k, key := keyFor("k", "")
	k.Expires = clock.now().Add(time.Hour)
	g := start(t, layer(t, nil), upstreamtest.New(t).URL, withKeys(k), clock.set)
	if got := post(t, g.URL+"/v1/chat/completions", chat(question), "X-Ken-Key", key); got.StatusCode != http.StatusOK {
		t.Errorf("before: %d", got.StatusCode)
	}
	clock.move(time.Hour)
	got := post(t, g.URL+"/v1/messages", chat(question), "X-Api-Key", key)
	if got.StatusCode != http.StatusUnauthorized || got.Header.Get("X-Ken-Error") != "expired_key" || !strings.Contains(got.body, "2026-03-15T00:00:00Z") ||
		gjson.Get(got.body, "error.type").String() != "authentication_error" {
		t.Errorf("after: %d %s", got.StatusCode, got.body)
	}
}

// A key that has used its requests or tokens of the day is told when to come back, in the
// shape that its client reads.
func TestBudgetsOfAKey(t *testing.T) {
	clock := newTestClock(time.Date(2026, 3, 14, 23, 0, 0, 0, time.UTC))
	u, err := usage.Open("", usage.Options{Now: clock.now})
	if err != nil {
		t.Fatal(err)
	}
	few, fewKey := keyFor("few", "")
	few.RequestsPerDay = 2
	small, smallKey := keyFor("small", "")
	small.TokensPerDay = 5
	g := start(t, layer(t, nil), upstreamtest.New(t).URL, withKeys(few, small), clock.set, func(o *gateway.Options) { o.Operator().Usage = u })
	ask := func(path, key string) reply {
		return post(t, g.URL+path, chat(question), "X-Ken-Key", key)
	}
	for range 2 {
		if got := ask("/v1/chat/completions", fewKey); got.StatusCode != http.StatusOK {
			t.Fatalf("%d %s", got.StatusCode, got.body)
		}
	}
	got := ask("/v1/chat/completions", fewKey)
	if got.StatusCode != http.StatusTooManyRequests || got.Header.Get("Retry-After") != "3601" || gjson.Get(got.body, "error.code").String() != "budget_reached" {
		t.Errorf("%d %v %s", got.StatusCode, got.Header, got.body)
	}
	if got = ask("/v1/messages", fewKey); got.StatusCode != http.StatusTooManyRequests || gjson.Get(got.body, "error.type").String() != "rate_limit_error" {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	// What asks no model costs none of it.
	if got = do(t, request(t, http.MethodGet, g.URL+"/v1/models", "", "X-Ken-Key", fewKey)); got.StatusCode != http.StatusOK {
		t.Errorf("the list of models: %d", got.StatusCode)
	}
	if got = ask("/v1/chat/completions", smallKey); got.StatusCode != http.StatusOK {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	counted(t, u, 3)
	if got = ask("/v1/chat/completions", smallKey); got.StatusCode != http.StatusTooManyRequests || !strings.Contains(got.body, "5 tokens") {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	clock.move(time.Hour)
	if got = ask("/v1/chat/completions", fewKey); got.StatusCode != http.StatusOK {
		t.Errorf("on the next day: %d %s", got.StatusCode, got.body)
	}
}

// In a program of its own, a gateway that was given no store of usage keeps to the budgets of its keys.
func TestBudgetsWithoutAStore(t *testing.T) {
	k, key := keyFor("few", "")
	k.RequestsPerDay = 1
	g := start(t, layer(t, nil), upstreamtest.New(t).URL, withKeys(k))
	for _, want := range []int{http.StatusOK, http.StatusTooManyRequests} {
		if got := post(t, g.URL+"/v1/chat/completions", chat(question), "X-Ken-Key", key); got.StatusCode != want {
			t.Errorf("%d, want %d: %s", got.StatusCode, want, got.body)
		}
	}
}

// A key that is handed out opens the gateway at once, and nothing once it is revoked. An
// answer that is under way goes on.
func TestKeysThatAreHandedOut(t *testing.T) {
	l := layer(t, nil)
	path := operator.KeysPath(l.Config().State(l.Root()))
	desk := operator.OpenKeys(path, nil)
	up := upstreamtest.New(t)
	var rings []*access.Ring
	inFile, fileKey := keyFor("configured", "")
	g := start(t, l, up.URL, func(o *gateway.Options) {
		o.Operator().Keys = operator.OpenKeys(path, nil)
		o.Operator().KeysChanged = func(r *access.Ring) { rings = append(rings, r) }
	})
	list := func(key string) int {
		return do(t, request(t, http.MethodGet, g.URL+"/v1/models", "", "X-Ken-Key", key)).StatusCode
	}
	if got := list(""); got != http.StatusOK {
		t.Fatalf("without keys: %d", got)
	}
	key, _, err := desk.Create(t.Context(), config.GatewayKey{Name: "ana", Owner: "ana"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if none, with := list(""), list(key); none != http.StatusUnauthorized || with != http.StatusOK {
		t.Errorf("with a key: %d without it, %d with it", none, with)
	}
	// The configuration's keys count beside it, also after a reload.
	c := l.Config().Gateway
	c.Keys = []config.GatewayKey{inFile}
	if _, err := g.Reload(c); err != nil {
		t.Fatal(err)
	}
	if a, b := list(key), list(fileKey); a != http.StatusOK || b != http.StatusOK {
		t.Errorf("both: %d, %d", a, b)
	}
	pace := make(chan struct{})
	slow := upstreamtest.Recording("chat_stream")
	slow.Pace = pace
	up.Next(slow)
	resp, err := client(t).Do(request(t, http.MethodPost, g.URL+"/v1/chat/completions", chat(question), "X-Ken-Key", key))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := desk.Revoke(t.Context(), "ana"); err != nil {
		t.Fatal(err)
	}
	if a, b := list(key), list(fileKey); a != http.StatusUnauthorized || b != http.StatusOK {
		t.Errorf("revoked: %d, the other one %d", a, b)
	}
	close(pace)
	if got := whole(t, resp); got != string(slow.Body()) {
		t.Errorf("what was under way: %q", got)
	}
	// Without any key left, nobody comes in.
	c.Keys = nil
	if _, err := g.Reload(c); err != nil {
		t.Fatal(err)
	}
	if none, old := list(""), list(key); none != http.StatusUnauthorized || old != http.StatusUnauthorized {
		t.Errorf("without any left: %d, %d", none, old)
	}
	if len(rings) < 4 || rings[0] != nil || rings[len(rings)-1] == nil {
		t.Errorf("%d rings", len(rings))
	}
}

// A variable that is missing is told at the start: otherwise only the upstream refuses its clients.
func TestVariableOfTheUpstreamKeyIsNotSet(t *testing.T) {
	t.Setenv("KEN_TEST_LENT", "sk-lent")
	up := upstreamtest.New(t)
	for name, want := range map[string]bool{"KEN_TEST_NOT_SET": true, "KEN_TEST_LENT": false, "": false} {
		g := start(t, layer(t, nil), up.URL, configured(func(c *config.Gateway) { c.UpstreamKeyEnv = name }))
		if got := strings.Contains(g.log.String(), `"level":"WARN"`) && strings.Contains(g.log.String(), `"variable":"`+name+`"`); got != want {
			t.Errorf("%q: %s", name, g.log.String())
		}
	}
}
