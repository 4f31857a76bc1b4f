package gateway_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

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

const (
	chatPath      = "/v1/chat/completions"
	responsesPath = "/v1/responses"
	messagesPath  = "/v1/messages"

	asks  = `{"role":"user","content":"` + rigQuestion + `"}`
	tools = `"tools":[{"type":"function","function":{"name":"read_file","parameters":{"type":"object"}}}]`
)

// hugeTools is 2 MB of schema.
func hugeTools() string {
	one := `{"type":"function","function":{"name":"f%d","description":"` + strings.Repeat("long \\u00e9 ", 100) + `","parameters":{"type":"object","properties":{"a":{"enum":[1e400,-0.0,1.10]}}}}}`
	all := make([]string, 1700)
	for i := range all {
		all[i] = fmt.Sprintf(one, i)
	}
	return `"tools":[` + strings.Join(all, ",\n") + `]`
}

func gzipped(s string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(s))
	z.Close()
	return b.String()
}

// dialects are requests in every shape that clients send, with the number of blocks
// that each gets.
func dialects() map[string]struct {
	message
	blocks int
} {
	type tt = struct {
		message
		blocks int
	}
	post := func(path, body string) message { return message{target: path, body: body} }
	stream := func(body string) string { return strings.TrimSuffix(body, "}") + `,"stream":true}` }
	chat := `{"model":"m","messages":[{"role":"system","content":"Be brief."},` + asks + `]}`
	toolLoop := `{"model":"m",` + tools + `,"messages":[` + asks + `,{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"read_file","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"3"}]}`
	items := `{"model":"m","input":[` + asks + `],"store":false}`
	text := `{"model":"m", "input" : "` + rigQuestion + `" ,"reasoning":{"effort":"low"}}`
	msgs := `{"model":"m","max_tokens":10,"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],"messages":[` + asks + `]}`
	thinking := `{"model":"m","max_tokens":10,"thinking":{"type":"enabled","budget_tokens":5},"messages":[{"role":"user","content":[{"type":"text","text":"` + rigQuestion + `"}]}]}`
	results := `{"model":"m","max_tokens":10,"tools":[{"name":"read_file","input_schema":{}}],"messages":[` + asks + `,{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"read_file","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"3"}]}]}`
	all := map[string]tt{
		"chat":                         {post(chatPath, chat), 1},
		"chat, streamed":               {post(chatPath, stream(chat)), 1},
		"chat in chunks":               {message{target: chatPath, body: stream(chat), length: -1}, 1},
		"chat with a query":            {post(chatPath+"?api-version=2024-10-21&x=%2F&y=a+b&;&", chat), 1},
		"chat with tools":              {post(chatPath, strings.TrimSuffix(chat, "}")+","+tools+"}"), 1},
		"chat with tools, streamed":    {post(chatPath, stream(strings.TrimSuffix(chat, "}")+","+tools+"}")), 1},
		"chat with huge tools":         {post(chatPath, `{`+hugeTools()+`,"messages":[`+asks+`]}`), 1},
		"chat, a tool's result":        {post(chatPath, stream(toolLoop)), 1},
		"chat, spaces":                 {post(chatPath, "\n{ \"messages\" :\t[ "+asks+" ] , \"n\" : 1 } \r\n"), 1},
		"chat, duplicate keys":         {post(chatPath, `{"model":"a","model":"b","messages":[],"messages":[{"role":"system","role":"user","content":"x","content":"`+rigQuestion+`"}],"n":1,"n":2}`), 1},
		"chat, numbers beyond float64": {post(chatPath, `{"seed":123456789012345678901234567890,"temperature":1e999,"top_p":0.1000000000000000000001,"x":-0,"messages":[`+asks+`]}`), 1},
		"chat, escapes":                {post(chatPath, `{"messages":[{"role":"user","content":"\u0048ow often does the payments service retry a failed transfer \ud83d\ude00 \/ \u003c?"}],"x":"\ud800"}`), 1},
		"chat, developer":              {post(chatPath, `{"messages":[{"role":"developer","content":"Be brief."},`+asks+`]}`), 1},
		"chat, nothing to know":        {post(chatPath, `{"messages":[{"role":"user","content":"thanks!"}]}`), 0},
		"chat, off":                    {message{target: chatPath, body: chat, header: map[string]string{"X-Ken": "off"}}, 0},
		"responses":                    {post(responsesPath, items), 1},
		"responses, streamed":          {post(responsesPath, stream(items)), 1},
		"responses, a text":            {post(responsesPath, text), 1},
		"responses, a text, streamed":  {post(responsesPath, stream(text)), 1},
		"responses with tools":         {post(responsesPath, stream(strings.TrimSuffix(items, "}")+`,"tools":[{"type":"function","name":"read_file","parameters":{}}]}`)), 1},
		"messages":                     {message{target: messagesPath, body: msgs, header: map[string]string{"Anthropic-Version": "2023-06-01", "X-Api-Key": "sk-ant"}}, 1},
		"messages, streamed":           {post(messagesPath, stream(msgs)), 1},
		"messages, thinking, streamed": {post(messagesPath, stream(thinking)), 1},
		"messages, a tool's result":    {post(messagesPath, stream(results)), 1},
		"count tokens":                 {post(messagesPath+"/count_tokens", msgs), 1},
		"embeddings":                   {post("/v1/embeddings", `{"model":"text-embedding-3-small","input":"`+rigQuestion+`"}`), 0},
		"embeddings in base64":         {post("/v1/embeddings", `{"model":"text-embedding-3-small","input":["a","b"],"encoding_format":"base64"}`), 0},
		"models":                       {message{method: http.MethodGet, target: "/v1/models"}, 0},
		"a model":                      {message{method: http.MethodGet, target: "/v1/models/org%2Fmodel%20x"}, 0},
		"HEAD":                         {message{method: http.MethodHead, target: "/v1/models"}, 0},
		"DELETE":                       {message{method: http.MethodDelete, target: "/v1/files/file-1?purge"}, 0},
		"OPTIONS":                      {message{method: http.MethodOptions, target: "/v1/chat/completions"}, 0},
		"a method of its own":          {message{method: "PURGE", target: "/v1/cache", body: "x"}, 0},
		"GET with a body":              {message{method: http.MethodGet, target: chatPath, body: chat}, 0},
		"another path":                 {post("/v1/audio/transcriptions?a=1&a=2", "--b\r\nContent-Disposition: form-data\r\n\r\n\x00\xff\r\n--b--\r\n"), 0},
		"no version":                   {message{method: http.MethodGet, target: "/some/../other//path/%2e%2e/%41?q=%zz"}, 0},
		"not JSON":                     {post(chatPath, `{"messages":[`+asks), 0},
		"not UTF-8":                    {post(chatPath, "{\"messages\":[{\"role\":\"user\",\"content\":\"\xff\xfe\"}]}"), 0},
		"a byte order mark":            {post(chatPath, "\xef\xbb\xbf"+chat), 0},
		"two values":                   {post(chatPath, chat+chat), 0},
		"a bare word":                  {post(messagesPath, "NaN"), 0},
		"null":                         {post(responsesPath, "null"), 0},
		"nothing":                      {message{target: chatPath}, 0},
		"messages of no kind":          {post(chatPath, `{"messages":[1,null,[]]}`), 0},
		"as deep as it gets":           {post(chatPath, `{"messages":[`+asks+`],"x":`+strings.Repeat("[", 20_000)+strings.Repeat("]", 20_000)+`}`), -1},
		"compressed":                   {message{target: chatPath, body: gzipped(chat), header: map[string]string{"Content-Encoding": "gzip"}}, 0},
	}
	return all
}

// Whatever Ken did not add is byte for byte what the client sent, and the answer is
// byte for byte the provider's: status, headers, body and trailers.
func TestByteIdentityWithADirectConnection(t *testing.T) {
	up := upstreamtest.New(t)
	r := newRig(t, up)
	for name, tt := range dialects() {
		t.Run(name, func(t *testing.T) {
			tt.header = with(tt.header, "Authorization", "Bearer sk-test", "X-Odd", "a, b", "Accept-Encoding", "br;q=1.0, gzip;q=0.5", "X-Forwarded-For", "10.0.0.1", "Cookie", "a=b; c=d", "Te", "trailers")
			want := send(t, r.client, up.URL, tt.message)
			sent := up.Last(t)
			tt.header = with(tt.header, "X-Ken-Session", "identity: "+name)
			got := send(t, r.client, r.url, tt.message)
			arrived := up.Last(t)
			if arrived == sent {
				t.Fatalf("nothing arrived; the gateway says %d %s", got.Status, got.Body)
			}
			if diff := cmp.Diff(want.theirs(), got.theirs(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("the answer (-direct +gateway): %s", diff)
			}
			if arrived.Method != sent.Method || arrived.Target != sent.Target {
				t.Errorf("%s %s arrived as %s %s", sent.Method, sent.Target, arrived.Method, arrived.Target)
			}
			if diff := cmp.Diff(withoutKen(passedOn(sent)), passedOn(arrived)); diff != "" {
				t.Errorf("the request's headers (-direct +gateway): %s", diff)
			}
			spans, ok := upstreamtest.Added(sent.Body, arrived.Body)
			if !ok {
				t.Fatalf("the request changed:\n%.2000s\n%.2000s", sent.Body, arrived.Body)
			}
			n := strings.Count(strings.Join(spans, ""), rigMarker)
			if tt.blocks >= 0 && n != tt.blocks || n == 0 && len(spans) > 0 {
				t.Errorf("%d blocks, want %d: %.2000q", n, tt.blocks, spans)
			}
			if n > 0 && !strings.HasSuffix(tt.message.target, "count_tokens") && (got.Header.Get("X-Ken-Turn") == "" || got.Header.Get("X-Ken-Mode") == "" || got.Header.Get("Server-Timing") == "") {
				t.Errorf("the answer says nothing about the turn: %v", ours(got.Header))
			}
		})
	}
}

// with adds pairs of names and values to headers.
func with(h map[string]string, pairs ...string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, h)
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = pairs[i+1]
	}
	return out
}

// withoutKen is what of a request's headers may go on.
func withoutKen(h http.Header) http.Header {
	for name := range h {
		if strings.HasPrefix(name, "X-Ken") {
			delete(h, name)
		}
	}
	return h
}

// The next turn's request begins with all that the first one said, blocks included,
// so that a provider's prompt cache serves it.
func TestSecondTurnBeginsWithTheFirst(t *testing.T) {
	up := upstreamtest.New(t)
	r := newRig(t, up)
	for path, list := range map[string]string{chatPath: "messages", responsesPath: "input", messagesPath: "messages"} {
		var before []byte
		messages := asks
		for turn := range 5 {
			send(t, r.client, r.url, message{target: path, body: `{"` + list + `":[` + messages + `],"model":"m"}`, header: map[string]string{"X-Ken-Session": "turns " + path}})
			now := up.Last(t).Body
			if n := bytes.Count(now, []byte(rigMarker)); n != 1 {
				t.Fatalf("%s, turn %d: %d blocks", path, turn, n)
			}
			if !bytes.HasPrefix(now, before) {
				t.Errorf("%s: turn %d does not begin with the one before:\n%s\n%s", path, turn, now, before)
			}
			before = bytes.TrimSuffix(now, []byte(`],"model":"m"}`))
			messages += `,{"role":"assistant","content":"Three times."},{"role":"user","content":"thanks!"}`
		}
	}
}
