package gateway_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/gateway"
	"github.com/kenlayer/ken/internal/gateway/upstreamtest"
	"github.com/kenlayer/ken/internal/run/telemetry/usage"
)

// answered reads one answer from a connection.
func answered(t *testing.T, conn net.Conn) (status int, body string) {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode, whole(t, resp)
}

func whole(t *testing.T, resp *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// counted waits until so many requests are counted: that happens when the client has its
// answer already.
func counted(t *testing.T, u *usage.Store, n int64) []usage.Row {
	t.Helper()
	for {
		rows, err := u.Rows(1)
		if err != nil {
			t.Fatal(err)
		}
		var sum int64
		for _, r := range rows {
			sum += r.Requests
		}
		if sum >= n {
			return rows
		}
		if t.Context().Err() != nil {
			t.Fatalf("%d of %d were counted", sum, n)
		}
		runtime.Gosched()
	}
}

// What an answer says of its tokens is counted, whatever becomes of the rest of it: with
// knowledge or without, streamed or whole, compressed or not. No byte of it is changed.
func TestUsageIsRead(t *testing.T) {
	prices := []config.GatewayPrice{{Model: "gpt-*", Input: 1, CachedInput: .5, Output: 10}, {Model: "claude*", Input: 3, Output: 15}}
	for _, tt := range []struct {
		name, path, recording string
		gzip                  bool
		header                []string
		usage                 string // where the recording says so
	}{
		{name: "chat", path: "/v1/chat/completions", recording: "chat", usage: "usage"},
		{name: "chat, stream", path: "/v1/chat/completions", recording: "chat_stream"},
		{name: "without knowledge", path: "/v1/chat/completions", recording: "chat", header: []string{"X-Ken", "off"}, usage: "usage"},
		{name: "packed", path: "/v1/chat/completions", recording: "chat", gzip: true, usage: "usage"},
		{name: "responses, stream", path: "/v1/responses", recording: "responses_stream"},
		{name: "messages", path: "/v1/messages", recording: "messages", usage: "usage"},
		{name: "messages, stream", path: "/v1/messages", recording: "messages_stream"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			up := upstreamtest.New(t)
			u, err := usage.Open("", usage.Options{})
			if err != nil {
				t.Fatal(err)
			}
			a := upstreamtest.Recording(tt.recording)
			if tt.gzip {
				a = upstreamtest.Gzipped(a)
			}
			up.Next(a)
			k, key := keyFor("ci", "carl")
			g := start(t, layer(t, nil), up.URL, withKeys(k), configured(func(c *config.Gateway) { c.Prices = prices }), func(o *gateway.Options) { o.Usage = u })
			got := post(t, g.URL+tt.path, chat(question), append([]string{"X-Ken-Key", key, "Accept-Encoding", "gzip"}, tt.header...)...)
			if got.body != string(a.Body()) {
				t.Errorf("%d bytes came of %d", len(got.body), len(a.Body()))
			}
			rows := counted(t, u, 1)
			r := rows[0]
			if len(rows) != 1 || r.Key != "ci" || r.Owner != "carl" || r.Model == "" || r.Input == 0 || r.Output == 0 || r.Unmetered != 0 || r.Estimated != 0 {
				t.Errorf("%+v", rows)
			}
			if r.Cost <= 0 || r.Unpriced != 0 {
				t.Errorf("cost %v of %s", r.Cost, r.Model)
			}
			if tt.usage != "" && !tt.gzip {
				said := gjson.Get(got.body, tt.usage)
				if in := said.Get("prompt_tokens").Int() + said.Get("input_tokens").Int(); in > 0 && in > r.Input {
					t.Errorf("%d, want %d", r.Input, in)
				}
			}
		})
	}
}

// Where a stream does not say what it took, a budget counts an estimate, and usage says
// that it is one.
func TestUsageIsEstimatedForBudgetsAlone(t *testing.T) {
	up := upstreamtest.New(t)
	u, err := usage.Open("", usage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	stream := "data: {\"id\":\"1\",\"model\":\"gpt-5\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n"
	up.Next(upstreamtest.Answer{Header: []upstreamtest.Field{{Name: "Content-Type", Value: "text/event-stream"}}, Pieces: [][]byte{[]byte(strings.Repeat(stream, 30))}})
	k, key := keyFor("ci", "")
	k.TokensPerDay = 40
	g := start(t, layer(t, nil), up.URL, withKeys(k), configured(func(c *config.Gateway) { c.Prices = []config.GatewayPrice{{Model: "*", Input: 1, Output: 1}} }),
		func(o *gateway.Options) { o.Usage = u })
	if got := post(t, g.URL+"/v1/chat/completions", chat(question), "X-Ken-Key", key); got.StatusCode != http.StatusOK {
		t.Fatal(got.StatusCode)
	}
	r := counted(t, u, 1)[0]
	if r.Model != "gpt-5" || r.Input != 0 || r.Output != 0 || r.Cost != 0 || r.Unmetered != 1 || r.Estimated < 30+20 || r.Estimated > 300 {
		t.Errorf("%+v", r)
	}
	if got := post(t, g.URL+"/v1/chat/completions", chat(question), "X-Ken-Key", key); got.StatusCode != http.StatusTooManyRequests {
		t.Errorf("%d", got.StatusCode)
	}
}

// Embeddings are counted from the end of their answer, and what fails has no model.
func TestUsageOfEmbeddingsAndFailures(t *testing.T) {
	up := upstreamtest.New(t)
	u, err := usage.Open("", usage.Options{Now: func() time.Time { return time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC) }})
	if err != nil {
		t.Fatal(err)
	}
	g := start(t, layer(t, nil), up.URL, func(o *gateway.Options) { o.Usage = u })
	vectors := `{"object":"list","data":[{"embedding":[` + strings.Repeat("0.25,", 20_000) + `1]}],"model":"text-embedding-3-small","usage":{"prompt_tokens":8,"total_tokens":8}}`
	up.Next(upstreamtest.Answer{Header: []upstreamtest.Field{{Name: "Content-Type", Value: "application/json"}}, Pieces: [][]byte{[]byte(vectors[:50_000]), []byte(vectors[50_000:])}})
	post(t, g.URL+"/v1/embeddings", `{"model":"text-embedding-3-small","input":"a"}`)
	up.Next(upstreamtest.Recording("error_429"))
	post(t, g.URL+"/v1/chat/completions", chat(question))
	rows := counted(t, u, 2)
	if len(rows) != 2 || rows[0].Model != "" || rows[0].Input != 0 || rows[1].Model != "text-embedding-3-small" || rows[1].Input != 8 || rows[1].Unpriced != 1 || rows[1].Unmetered != 0 {
		t.Errorf("%+v", rows)
	}
}

// Taking the block out gives back what the client sent, byte for byte, and the
// answer is the upstream's, with Ken's headers behind its own.
func TestModelCallsCarryWhatKenKnows(t *testing.T) {
	up := upstreamtest.New(t)
	l := layer(t, map[string]string{"": about})
	g := start(t, l, up.URL+"/api/v3")
	for _, tt := range []struct{ name, path, arrives, body, recording string }{
		{"chat", "/v1/chat/completions", "/api/v3/chat/completions", chat(question), "chat"},
		{"chat, streamed", "/v1/chat/completions", "/api/v3/chat/completions", strings.Replace(chat(question), "{", `{"stream":true,`, 1), "chat_stream"},
		{"responses", "/v1/responses", "/api/v3/responses", `{"model":"gpt-4o","input":[{"role":"user","content":"` + question + `"}],"x":1e400}`, "responses"},
		{"messages", "/v1/messages", "/api/v3/messages", `{"model":"claude","max_tokens":9,"messages":[{"role":"user","content":"` + question + `"}]}`, "messages"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.recording == "responses" { // there is none for an answer that is not streamed and calls no tool
				up.Next(upstreamtest.Answer{Header: []upstreamtest.Field{{Name: "Content-Type", Value: "application/json"}}, Pieces: [][]byte{[]byte(`{"id":"resp_1","output":[]}`)}})
			} else {
				up.Next(upstreamtest.Recording(tt.recording))
			}
			up.Forget()
			got := post(t, g.URL+tt.path+"?a=%7e&b", tt.body)
			r := up.Last(t)
			injected(t, tt.body, r.Body, "02:00 UTC")
			if r.Target != tt.arrives+"?a=%7e&b" {
				t.Errorf("arrived at %s", r.Target)
			}
			if tt.recording != "responses" {
				if want := string(upstreamtest.Recording(tt.recording).Body()); got.body != want {
					t.Errorf("answer\n%s\nwant\n%s", got.body, want)
				}
			}
			if got.Header.Get("X-Ken-Turn") == "" || got.Header.Get("X-Ken-Mode") != "hybrid" || !strings.HasPrefix(got.Header.Get("Server-Timing"), "ken;dur=") {
				t.Errorf("headers %v", got.Header)
			}
		})
	}
}

// What the layer can't or may not look into goes on as it came.
func TestModelCallsThatPassUntouched(t *testing.T) {
	up := upstreamtest.New(t)
	g := start(t, layer(t, map[string]string{"": about}), up.URL)
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write([]byte(chat(question))); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	long := strings.Replace(chat(question), "{", `{"x":"`+strings.Repeat("y", 33<<20)+`",`, 1)
	for _, tt := range []struct {
		name, body string
		header     []string
	}{
		{"off", chat(question), []string{"X-Ken", "off"}},
		{"not JSON", `{"messages":[{"role":"user","content":"` + question + `"`, nil},
		{"no messages", `{"model":"gpt-4o"}`, nil},
		{"empty", "", nil},
		{"compressed", zipped.String(), []string{"Content-Encoding", "gzip"}},
		{"too long to look into", long, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			up.Forget()
			post(t, g.URL+"/v1/chat/completions", tt.body, tt.header...)
			if got := string(up.Last(t).Body); got != tt.body {
				t.Errorf("arrived %d bytes, sent %d", len(got), len(tt.body))
			}
		})
	}
}

// A chunked request arrives with its true length.
func TestChunkedModelCall(t *testing.T) {
	up := upstreamtest.New(t)
	g := start(t, layer(t, map[string]string{"": about}), up.URL)
	req := request(t, http.MethodPost, g.URL+"/v1/chat/completions", chat(question))
	req.ContentLength = -1
	do(t, req)
	injected(t, chat(question), up.Last(t).Body, "02:00 UTC")
	if up.Last(t).Get("Content-Length") == "" || up.Last(t).Get("Transfer-Encoding") != "" {
		t.Errorf("framed as %v", up.Last(t).Header)
	}
}

// The upstream's own headers stay, but for the names that are Ken's, and those too
// where Ken has no part in the answer.
func TestHeaderClash(t *testing.T) {
	up := upstreamtest.New(t)
	a := upstreamtest.Recording("chat").With("X-Ken-Turn", "theirs").With("Server-Timing", "model;dur=5").With("X-Ken-Else", "stays")
	up.Next(a, a)
	g := start(t, layer(t, nil), up.URL)
	h := post(t, g.URL+"/v1/chat/completions", chat(question)).Header
	if turns := h.Values("X-Ken-Turn"); len(turns) != 1 || turns[0] == "theirs" {
		t.Errorf("turns %q", turns)
	}
	if turns := post(t, g.URL+"/v1/files", "").Header.Values("X-Ken-Turn"); len(turns) != 1 || turns[0] != "theirs" {
		t.Errorf("passed on: turns %q", turns)
	}
	if times := h.Values("Server-Timing"); len(times) != 2 || times[0] != "model;dur=5" {
		t.Errorf("times %q", times)
	}
	if h.Get("X-Ken-Else") != "stays" {
		t.Errorf("headers %v", h)
	}
}

func TestIncognitoLearnsNothing(t *testing.T) {
	up := upstreamtest.New(t)
	l := layer(t, map[string]string{"": about})
	g := start(t, l, up.URL)
	post(t, g.URL+"/v1/chat/completions", chat(question), "X-Ken-Session", "secret", "X-Ken-Incognito", "1")
	injected(t, chat(question), up.Last(t).Body, "02:00 UTC")
	post(t, g.URL+"/v1/chat/completions", chat(question), "X-Ken-Session", "open")
	g.stop()
	if _, err := l.Harvest(t.Context(), ""); err != nil { // waits for what was heard
		t.Fatal(err)
	}
	list, err := l.Journal("").List(t.Context())
	if err != nil || len(list) != 1 || list[0].ID != "open" {
		t.Errorf("sessions %v, %v", list, err)
	}
}

func TestScopesNarrow(t *testing.T) {
	up := upstreamtest.New(t)
	g := start(t, layer(t, map[string]string{"": about}), up.URL)
	if got := post(t, g.URL+"/v1/chat/completions", chat(question), "X-Ken-Scopes", "nonsense"); got.StatusCode != http.StatusBadRequest {
		t.Errorf("a scope that can't be read: %d", got.StatusCode)
	}
	if n := len(up.Requests()); n != 0 {
		t.Errorf("%d requests went on", n)
	}
}

// Neither Ken's headers nor its keys leave the machine.
func TestKensHeadersStayHere(t *testing.T) {
	up := upstreamtest.New(t)
	g := start(t, layer(t, nil), up.URL)
	for _, path := range []string{"/v1/chat/completions", "/v1/files", "/v1/embeddings"} {
		post(t, g.URL+path, chat(question), "X-Ken-Session", "s", "X-Ken-Key", "ken_a", "x-api-key", "ken_b", "Authorization", "bearer ken_c", "X-KEN-other", "x")
		for _, f := range up.Last(t).Header {
			if strings.HasPrefix(strings.ToLower(f.Name), "x-ken") || strings.Contains(f.Value, "ken_") {
				t.Errorf("%s: sent %s: %s", path, f.Name, f.Value)
			}
		}
	}
}

// A client without a key of its own is lent the gateway's; another keeps its own.
func TestCredentials(t *testing.T) {
	t.Setenv("LENT", "sk-lent")
	up := upstreamtest.New(t)
	g := start(t, layer(t, nil), up.URL, configured(func(c *config.Gateway) { c.UpstreamKeyEnv = "LENT" }))
	for _, tt := range []struct {
		name   string
		header []string
		want   string
	}{
		{"a key of Ken", []string{"Authorization", "Bearer ken_x"}, "Bearer sk-lent"},
		{"in the other header", []string{"X-Ken-Key", "ken_x"}, "Bearer sk-lent"},
		{"beside its own", []string{"X-Ken-Key", "ken_x", "Authorization", "Bearer sk-own"}, "Bearer sk-own"},
		{"its own alone", []string{"Authorization", "Bearer sk-own"}, "Bearer sk-own"},
		{"none", nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			post(t, g.URL+"/v1/chat/completions", chat(question), tt.header...)
			if got := up.Last(t).Get("Authorization"); got != tt.want {
				t.Errorf("sent %q, want %q", got, tt.want)
			}
		})
	}
}

// Anthropic's API may be elsewhere, and is told by its header and its path.
func TestAnthropicsUpstream(t *testing.T) {
	t.Setenv("LENT", "sk-ant")
	openAI, other := upstreamtest.New(t), upstreamtest.New(t)
	g := start(t, layer(t, nil), openAI.URL+"/v1", configured(func(c *config.Gateway) { c.Anthropic, c.AnthropicKeyEnv = other.URL, "LENT" }))
	post(t, g.URL+"/v1/messages", `{"messages":[]}`, "x-api-key", "ken_x")
	post(t, g.URL+"/v1/messages/count_tokens", `{"messages":[]}`)
	do(t, request(t, http.MethodGet, g.URL+"/v1/models", "", "anthropic-version", "2023-06-01"))
	do(t, request(t, http.MethodGet, g.URL+"/v1/models", ""))
	var got []string
	for _, r := range other.Requests() {
		got = append(got, r.Target)
	}
	if strings.Join(got, " ") != "/v1/messages /v1/messages/count_tokens /v1/models" || len(openAI.Requests()) != 1 {
		t.Errorf("went to Anthropic: %q", got)
	}
	if other.Requests()[0].Get("X-Api-Key") != "sk-ant" {
		t.Errorf("headers %v", other.Requests()[0].Header)
	}
}
