package gateway_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/gateway"
	"github.com/kenlayer/ken/internal/gateway/upstreamtest"
	"github.com/kenlayer/ken/internal/run/telemetry/metrics"
)

// Taking the block out gives back what the client sent, byte for byte, and the
// upstreamBody is the upstream's, with Ken's headers behind its own.
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
	list, err := l.Operator().Journal("").List(t.Context())
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

// A request that counts tokens has the block that the model call has, as a client that
// budgets with it needs; it is no turn, and the answer is the upstream's.
func TestCountedTokensIncludeTheBlock(t *testing.T) {
	up := upstreamtest.New(t)
	l := layer(t, map[string]string{"": about})
	g := start(t, l, up.URL)
	for _, tt := range []struct{ count, call, body string }{
		{"/v1/messages/count_tokens", "/v1/messages", `{"model":"claude","messages":[{"role":"user","content":"` + question + `"}]}`},
		{"/v1/messages/count_tokens/?beta=true", "/v1/messages?beta=true", `{"model":"claude","messages":[{"role":"user","content":[{"type":"text","text":"` + question + `"}]}]}`},
		{"/v1/responses/input_tokens", "/v1/responses", `{"model":"gpt-5","input":"` + question + `"}`},
	} {
		up.Next(upstreamtest.Recording("messages_count_tokens"))
		counted := post(t, g.URL+tt.count, tt.body)
		arrived := up.Last(t)
		if arrived.Target != tt.count || counted.body != `{"input_tokens":71}`+"\n" && counted.body != `{"input_tokens":71}` || counted.Header.Get("X-Ken-Turn") != "" {
			t.Errorf("%s: at %s: %s %v", tt.count, arrived.Target, counted.body, counted.Header)
		}
		post(t, g.URL+tt.call, tt.body)
		if sent := up.Last(t); string(sent.Body) != string(arrived.Body) || !strings.Contains(string(sent.Body), "02:00 UTC") {
			t.Errorf("counted as\n%s\nsent as\n%s", arrived.Body, sent.Body)
		}
	}
	for _, header := range [][]string{{"X-Ken", "off"}, {"Content-Encoding", "gzip"}} {
		post(t, g.URL+"/v1/messages/count_tokens", chat(question), header...)
		if got := string(up.Last(t).Body); got != chat(question) {
			t.Errorf("%s: counted as %s", header, got)
		}
	}
	if got := do(t, request(t, http.MethodGet, g.URL+"/v1/responses/input_tokens", "")); got.StatusCode != http.StatusNotFound {
		t.Errorf("a GET: %d", got.StatusCode)
	}
}

// llamaRefusal is what llama.cpp's server says to two user messages in a row.
const llamaRefusal = `{"error":{"code":500,"message":"Jinja Exception: Conversation roles must alternate user/assistant/user/assistant/...","type":"server_error"}}`

// A server whose chat template insists on alternating roles refuses once, and no client
// notices.
func TestAlternatingRoles(t *testing.T) {
	up := upstreamtest.New(t)
	up.Handle(func(r *upstreamtest.Request) upstreamtest.Answer {
		if gjson.GetBytes(r.Body, "messages.#").Int() > 1 {
			return upstreamtest.Answer{Status: http.StatusInternalServerError, Header: []upstreamtest.Field{{Name: "Content-Type", Value: "application/json"}}, Pieces: [][]byte{[]byte(llamaRefusal)}}
		}
		return upstreamtest.Recorded(r)
	})
	g := start(t, layer(t, map[string]string{"": about}), up.URL+"/v1")
	body := strings.Replace(chat(question), "{", `{"stream":true,`, 1)
	want := upstreamtest.Recording("chat_stream")
	for i := range 3 {
		got := post(t, g.URL+"/v1/chat/completions", body)
		if got.StatusCode != http.StatusOK || got.body != string(want.Body()) || got.Header.Get("X-Ken-Turn") == "" {
			t.Fatalf("%d %s", got.StatusCode, got.body)
		}
		last := up.Last(t)
		if n := len(up.Requests()); n != i+2 || len(bytes.TrimSpace(last.Body)) == 0 {
			t.Errorf("%d requests after %d calls", n, i+1)
		}
		injected(t, body, last.Body, "02:00 UTC")
		if !bytes.Contains(last.Body, []byte(`[/Pipeline Knowledge]\n\n`+question)) {
			t.Errorf("sent as %s", last.Body)
		}
	}
}

// A request that fits into the model's context without its block alone is answered, and an error
// names the client's own messages.
func TestARefusedBlock(t *testing.T) {
	up := upstreamtest.New(t)
	refuse := func(s string) upstreamtest.Answer {
		return upstreamtest.Answer{Status: http.StatusBadRequest, Header: []upstreamtest.Field{{Name: "Content-Type", Value: "application/json"}}, Pieces: [][]byte{[]byte(s)}}
	}
	up.Handle(func(r *upstreamtest.Request) upstreamtest.Answer {
		switch last := gjson.GetBytes(r.Body, "messages.#").Int() - 1; {
		case gjson.GetBytes(r.Body, "model").Str == "strict":
			return refuse(fmt.Sprintf(`{"error":{"message":"messages[%d]: unknown field"}}`, last))
		case last > 0:
			return refuse(`{"error":{"message":"This model's maximum context length is 40 tokens."}}`)
		}
		return upstreamtest.Recorded(r)
	})
	m := metrics.New()
	g := start(t, layer(t, map[string]string{"": about}), up.URL+"/v1", func(o *gateway.Options) { o.Operator().Metrics = m })
	got := post(t, g.URL+chatPath, chat(question))
	if got.StatusCode != http.StatusOK || got.Header.Get("X-Ken-Untouched") != "refused" || string(up.Last(t).Body) != chat(question) || len(up.Requests()) != 2 {
		t.Errorf("%d %v %s after %d requests", got.StatusCode, got.Header, got.body, len(up.Requests()))
	}
	got = post(t, g.URL+chatPath, strings.Replace(chat(question), "gpt-4o", "strict", 1))
	if got.StatusCode != http.StatusBadRequest || got.Header.Get("X-Ken-Untouched") != "" || !strings.Contains(got.body, "messages[0]") || len(up.Requests()) != 4 {
		t.Errorf("%d %v %s after %d requests", got.StatusCode, got.Header, got.body, len(up.Requests()))
	}
	g.stop() // so that every call has been counted
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if !strings.Contains(w.Body.String(), `ken_untouched_total{reason="refused"} 1`+"\n") {
		t.Error("not counted")
	}
}

// A question that two hundred programs ask, one after the other, leaves nothing behind
// that would stand between it and its answer.
func TestARepeatedQuestionDoesNotHideItsAnswer(t *testing.T) {
	const asked = "Which port does the ledger service listen on?"
	l := layer(t, map[string]string{"default": "The ledger service listens on port 7443."}, func(c *config.Config) {
		c.Retrieval.Deadline = 30 * time.Second // a slow machine must not change what is found
	})
	learn(t, l, "default", "The payments service settles invoices at 02:00 UTC.")
	up := upstreamtest.New(t)
	up.Handle(func(*upstreamtest.Request) upstreamtest.Answer {
		return upstreamtest.Answer{Header: []upstreamtest.Field{{Name: "Content-Type", Value: "application/json"}}, Pieces: [][]byte{[]byte(`{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"I was told nothing about that."},"finish_reason":"stop"}]}`)}}
	})
	g := start(t, l, up.URL)
	for i := range 200 {
		post(t, g.URL+chatPath, fmt.Sprintf(`{"model":"m","messages":[{"role":"system","content":"You are client %c%c of the fleet."},{"role":"user","content":%q}]}`,
			'a'+i/26, 'a'+i%26, asked))
	}
	if err := l.Operator().Recorded(t.Context()); err != nil {
		t.Fatal(err)
	}
	sessions, err := l.Operator().Journal("").List(t.Context())
	if err != nil || len(sessions) != 200 {
		t.Fatalf("%d sessions, %v", len(sessions), err)
	}
	for _, s := range sessions {
		if err := l.End(t.Context(), "", s.ID); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Harvest(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	a := l.Assemble(t.Context(), ken.Turn{Messages: []ken.Message{{Role: "user", Text: asked}}})
	if len(a.Receipt.Items) == 0 || !strings.Contains(a.Receipt.Items[0].Text, "7443") {
		t.Errorf("the answer is not first: %s", a.Receipt.Block)
	}
	for _, it := range a.Receipt.Items {
		if it.Kind == ken.KindEpisode {
			t.Errorf("an episode of nothing but the question: %q", it.Text)
		}
	}
	st, release, err := l.Store(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	for c, err := range st.Claims(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if c.Session != "" && c.Kind == ken.KindEpisode {
			t.Fatalf("a session left %s %q", c.Kind, c.Text)
		}
	}
}
