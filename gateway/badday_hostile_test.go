package gateway_test

import (
	"bufio"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/gateway"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/gateway/upstreamtest"
)

// keyed configures a key for each owner and returns them.
func keyed(owners ...string) (map[string]string, rigged) {
	keys := map[string]string{}
	for _, o := range owners {
		keys[o] = access.NewKey()
	}
	return keys, func(c *config.Config, _ *gateway.Options) {
		for _, o := range owners {
			c.Gateway.Keys = append(c.Gateway.Keys, config.GatewayKey{Name: o, Owner: o, Hash: access.HashKey(keys[o]).String()})
		}
	}
}

// Without a key that is known, nothing goes on and nothing is told.
func TestUnknownKey(t *testing.T) {
	up := upstreamtest.New(t)
	keys, change := keyed("alice")
	r := newRig(t, up, change)
	body := `{"messages":[` + asks + `]}`
	for name, header := range map[string]map[string]string{
		"none":            {},
		"another's":       {"Authorization": "Bearer " + access.NewKey()},
		"an API's":        {"Authorization": "Bearer sk-real"},
		"cut":             {"X-Ken-Key": keys["alice"][:len(keys["alice"])-1]},
		"longer":          {"X-Ken-Key": keys["alice"] + "x"},
		"in another case": {"X-Ken-Key": strings.ToUpper(keys["alice"])},
		"the name":        {"X-Ken-Key": "alice"},
		"the hash":        {"X-Ken-Key": access.HashKey(keys["alice"]).String()},
		"an owner":        {"X-Ken-Owner": "alice"},
		"empty":           {"X-Ken-Key": ""},
	} {
		for _, target := range []string{chatPath, responsesPath, messagesPath, "/v1/models", "/v1/files", "/api/search?q=x", "/mcp", "/metrics"} {
			got := send(t, r.client, r.url, message{target: target, body: body, header: header})
			if got.Status != http.StatusUnauthorized || strings.Contains(got.Body, "payments") || got.Header.Get("X-Ken-Error") == "" {
				t.Errorf("%s, %s: %d %s", name, target, got.Status, got.Body)
			}
			if target == messagesPath && !strings.Contains(got.Body, `"authentication_error"`) {
				t.Errorf("%s: not in Anthropic's words: %s", name, got.Body)
			}
		}
	}
	if n := len(up.Requests()); n != 0 {
		t.Errorf("%d requests went on", n)
	}
}

// A key opens its own owner's knowledge, whatever the rest of the request says, and
// never reaches the upstream.
func TestKeyDecidesTheOwner(t *testing.T) {
	up := upstreamtest.New(t)
	keys, change := keyed("alice", "bob")
	r := newRig(t, up, change)
	knows(t, r.layer, "alice", "The vault code of the payments service is 4711-alice.")
	knows(t, r.layer, "bob", "The vault code of the payments service is 0815-bob.")
	const ask = `{"role":"user","content":"What is the vault code of the payments service?"}`
	for _, path := range []string{chatPath, responsesPath, messagesPath} {
		for name, m := range map[string]message{
			"header":        {header: map[string]string{"X-Ken-Owner": "bob", "X-Ken-Key": keys["alice"], "Authorization": "Bearer sk-up"}},
			"API's place":   {header: map[string]string{"Authorization": "Bearer " + keys["alice"], "X-Ken-Owner": "bob"}},
			"x-api-key":     {header: map[string]string{"X-Api-Key": keys["alice"]}},
			"bob's too":     {header: map[string]string{"X-Ken-Key": keys["alice"], "Authorization": "Bearer " + keys["bob"]}},
			"bob's session": {header: map[string]string{"X-Ken-Key": keys["alice"], "X-Ken-Session": "shared"}},
		} {
			// Bob has been here before, in the session that alice names.
			send(t, r.client, r.url, message{target: path, body: `{"messages":[` + ask + `],"input":[` + ask + `]}`, header: map[string]string{"X-Ken-Key": keys["bob"], "X-Ken-Session": "shared"}})
			if b := string(up.Last(t).Body); !strings.Contains(b, "0815-bob") {
				t.Fatalf("bob got %s", b)
			}
			m.target, m.body = path, `{"user":"bob","owner":"bob","metadata":{"user_id":"bob","owner":"bob"},"messages":[`+ask+`],"input":[`+ask+`]}`
			if got := send(t, r.client, r.url, m); got.Status != http.StatusOK {
				t.Fatalf("%s %s: %d %s", path, name, got.Status, got.Body)
			}
			req := up.Last(t)
			if strings.Contains(string(req.Body), "0815-bob") || !strings.Contains(string(req.Body), "4711-alice") {
				t.Errorf("%s %s: alice got %s", path, name, req.Body)
			}
			if strings.Contains(string(req.Raw), access.KeyPrefix) {
				t.Errorf("%s %s: a key went on: %s", path, name, req.Raw)
			}
			if name == "header" && req.Get("Authorization") != "Bearer sk-up" {
				t.Errorf("%s: the API's key became %q", path, req.Get("Authorization"))
			}
		}
	}
}

// raw sends bytes as they are and returns what comes until the gateway closes the
// connection.
func raw(t testing.TB, r *rig, request string) string {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	got, _ := io.ReadAll(bufio.NewReader(c))
	return string(got)
}

// What is written into headers and paths to make of one request two, or of a name a
// path, does neither.
func TestHeaderAndPathInjection(t *testing.T) {
	up := upstreamtest.New(t)
	root := t.TempDir()
	inside := filepath.Join(root, "a", "b", "c")
	r := newRig(t, up, func(c *config.Config, _ *gateway.Options) { c.Knowledge.DBPath = inside })
	body := `{"messages":[` + asks + `]}`
	head := func(first string, lines ...string) string {
		return first + "\r\nHost: localhost\r\nConnection: close\r\n" + strings.Join(append(lines, ""), "\r\n")
	}
	const length = "Content-Length: 103"
	if len(body) != 103 {
		t.Fatalf("the body has %d bytes", len(body))
	}
	post := "POST /v1/chat/completions HTTP/1.1"
	for name, tt := range map[string]struct {
		request string
		passes  bool // goes on, once
	}{
		"two lengths":              {head(post, length, "Content-Length: 5") + "\r\n" + body, false},
		"length and chunks":        {head(post, "Content-Length: 5", "Transfer-Encoding: chunked") + "\r\n67\r\n" + body + "\r\n0\r\n\r\n", true},
		"a folded header":          {head(post, length, "X-Ken-Session: a\r\n X-Evil: 1") + "\r\n" + body, true},
		"a line feed in a name":    {head(post, length, "X-Ken\n-Session: a") + "\r\n" + body, false},
		"a return in a value":      {head(post, length, "X-Ken-Session: a\rX-Evil: 1") + "\r\n" + body, false},
		"NUL":                      {head(post, length, "X-Ken-Session: a\x00b") + "\r\n" + body, false},
		"an owner that is a path":  {head(post, length, "X-Ken-Owner: ../../evil") + "\r\n" + body, false},
		"an absolute owner":        {head(post, length, "X-Ken-Owner: /tmp/evil") + "\r\n" + body, false},
		"an owner of dots":         {head(post, length, "X-Ken-Owner: ..") + "\r\n" + body, false},
		"a session that is a path": {head(post, length, "X-Ken-Session: ../../../../evil") + "\r\n" + body, true},
		"another host's address":   {head("POST http://elsewhere.invalid/v1/chat/completions HTTP/1.1", length) + "\r\n" + body, false},
		"a tunnel":                 {"CONNECT elsewhere.invalid:443 HTTP/1.1\r\nHost: elsewhere.invalid:443\r\nConnection: close\r\n\r\n", false},
		"a host in the path":       {head("POST //elsewhere.invalid/v1/chat/completions HTTP/1.1", length) + "\r\n" + body, true},
		"a foreign name":           {strings.Replace(head(post, length), "localhost", "elsewhere.invalid", 1) + "\r\n" + body, false},
		"a foreign page":           {head(post, length, "Origin: https://elsewhere.invalid") + "\r\n" + body, false},
		"a scope that is none":     {head(post, length, "X-Ken-Scopes: ../x") + "\r\n" + body, false},
		"a name too long":          {head(post, length, "X-Ken-Session: "+strings.Repeat("x", 300)) + "\r\n" + body, false},
		"a head too long":          {head(post, length, "X-A: "+strings.Repeat("x", 1<<20)) + "\r\n" + body, false},
		"HTTP/0.9":                 {"GET /v1/models\r\n\r\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			up.Forget()
			got := raw(t, r, tt.request)
			requests := up.Requests()
			if passed := len(requests); passed > 1 || passed == 1 != tt.passes {
				t.Fatalf("%d requests went on; the answer is %.300s", passed, got)
			}
			if strings.Contains(strings.ToLower(got), "\r\nx-evil") || !strings.HasPrefix(got, "HTTP/1.1 ") && name != "a head too long" {
				t.Errorf("answered %.300s", got)
			}
			if !tt.passes {
				if strings.HasPrefix(got, "HTTP/1.1 2") {
					t.Errorf("answered %.300s", got)
				}
				return
			}
			if req := requests[0]; req.Get("X-Evil") != "" || len(req.Values("Content-Length")) > 1 || req.Get("X-Ken-Session") != "" {
				t.Errorf("arrived as %s", req.Raw)
			}
		})
	}
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.Contains(path, "evil") {
			t.Errorf("%s was made", path)
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Error(err)
	}
}

// A path is passed on as it came, and never becomes one of Ken's own on the way.
func TestPathsAreNotCleaned(t *testing.T) {
	up := upstreamtest.New(t)
	r := newRig(t, up)
	for _, target := range []string{
		"/v1/../v1/chat/completions", "/v1/chat/../chat/completions", "//v1//chat//completions", "/v1/%63hat/completions", "/v1/chat%2Fcompletions",
		"/v1/chat/completions/", "/v1/x/%2e%2e/api/search", "/v1/;a=b?c;d", "/v1/a%00b", "/v1/é", "/v1?", "/v1/files?x=%0d%0aX-Evil:1",
	} {
		up.Forget()
		m := message{target: target, body: `{"messages":[` + asks + `]}`}
		want := send(t, r.client, up.URL, m)
		got := send(t, r.client, r.url, m)
		requests := up.Requests()
		if len(requests) != 2 {
			t.Errorf("%s: %d requests arrived; %d %s", target, len(requests), got.Status, got.Body)
			continue
		}
		if requests[0].Target != requests[1].Target || got.Status != want.Status {
			t.Errorf("%s arrived as %s, directly as %s", target, requests[1].Target, requests[0].Target)
		}
		if _, ok := upstreamtest.Added(requests[0].Body, requests[1].Body); !ok {
			t.Errorf("%s: the body changed: %s", target, requests[1].Body)
		}
	}
}

// An upstream that forges Ken's headers is not believed.
func TestUpstreamForgesHeaders(t *testing.T) {
	up := upstreamtest.New(t)
	r := newRig(t, up)
	up.Next(upstreamtest.Recording("chat").With("X-Ken-Turn", "forged").With("X-Ken-Mode", "forged"))
	got := send(t, r.client, r.url, message{target: chatPath, body: `{"messages":[` + asks + `]}`})
	for _, name := range []string{"X-Ken-Turn", "X-Ken-Mode"} {
		if v := got.Header.Values(name); len(v) != 1 || v[0] == "forged" {
			t.Errorf("%s: %q", name, v)
		}
	}
}
