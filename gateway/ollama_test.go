package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/kenlayer/ken/gateway"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/gateway/api"
	"github.com/kenlayer/ken/internal/gateway/upstreamtest"
	"github.com/kenlayer/ken/middleware"
)

// withAPI serves Ken's own API.
func withAPI(l *middleware.Layer) func(*gateway.Options) {
	return func(o *gateway.Options) { o.API = api.New(l, api.Options{Log: quiet}) }
}

// ollamaPaths are what Ollama's router has under /api.
var ollamaPaths = []string{"/api/version", "/api/pull", "/api/push", "/api/tags", "/api/show", "/api/delete", "/api/me", "/api/signout",
	"/api/user/keys/a2V5", "/api/create", "/api/blobs/sha256:29fd", "/api/copy", "/api/experimental/web_search", "/api/ps", "/api/generate",
	"/api/chat", "/api/embed", "/api/embeddings"}

// Ollama's own API is under /api, as Ken's is: each path goes to whom it belongs.
func TestOllamaPathsPassBesideKens(t *testing.T) {
	up := upstreamtest.New(t)
	l := layer(t, nil)
	g := start(t, l, up.URL+"/v1", withAPI(l))
	for _, path := range ollamaPaths {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
			up.Forget()
			got := do(t, request(t, method, g.URL+path+"?x=%20", `{"model":"m"}`))
			if r := up.Requests(); len(r) != 1 || r[0].Target != path+"?x=%20" || string(r[0].Body) != `{"model":"m"}` {
				t.Errorf("%s %s: %d %s", method, path, got.StatusCode, got.body)
			}
		}
	}
	up.Forget()
	for path, status := range map[string]int{"/api/openapi.json": 200, "/api/claims": 200, "/api/claims/nothing/here": 404, "/api/claims/": 404, "/api": 404, "/api/": 404} {
		if got := do(t, request(t, http.MethodGet, g.URL+path, "")); got.StatusCode != status || len(up.Requests()) > 0 {
			t.Errorf("%s: %d, and %d requests passed on", path, got.StatusCode, len(up.Requests()))
		}
	}
	alone := start(t, l, "", withAPI(l))
	if got := do(t, request(t, http.MethodGet, alone.URL+"/api/tags", "")); got.StatusCode != http.StatusNotFound || got.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("without an upstream: %d %s", got.StatusCode, got.body)
	}
}

// With keys, the right to chat opens Ollama's paths, and no key opens none.
func TestOllamaPathsNeedChat(t *testing.T) {
	up := upstreamtest.New(t)
	l := layer(t, nil)
	reader, readers := keyFor("r", "", string(access.Read))
	talker, talkers := keyFor("c", "", string(access.Chat))
	g := start(t, l, up.URL, withAPI(l), withKeys(reader, talker))
	for key, status := range map[string]int{"": 401, readers: 403, talkers: 200} {
		up.Forget()
		got := do(t, request(t, http.MethodGet, g.URL+"/api/tags", "", "X-Ken-Key", key))
		if passed := len(up.Requests()); got.StatusCode != status || (passed == 1) != (status == 200) {
			t.Errorf("%d, and %d passed on: %s", got.StatusCode, passed, got.body)
		}
		if status != 200 && !strings.HasPrefix(got.body, `{"error":"ken: `) {
			t.Errorf("a fault that Ollama's clients can't read: %s", got.body)
		}
	}
}

// A chat gets its block, each line of the answer is there before the next is sent, and
// the session's journal has both.
func TestOllamaChat(t *testing.T) {
	for _, stream := range []bool{true, false} {
		up := upstreamtest.New(t)
		l := layer(t, map[string]string{"": about})
		g := start(t, l, up.URL, withAPI(l))
		body := `{"model":"llama3.2","messages":[{"role":"user","content":"` + question + `"}],"options":{"seed":1e999}}`
		name, pace := "ollama_chat_stream", make(chan struct{})
		if !stream {
			body, name = strings.Replace(body, "{", `{"stream": false,`, 1), "ollama_chat"
		}
		a := upstreamtest.Recording(name)
		a.Pace = pace
		up.Next(a)
		go func() { // the head of an answer with a length comes with its first piece
			if !stream {
				close(pace)
			}
		}()
		resp, err := client(t).Do(request(t, http.MethodPost, g.URL+"/api/chat", body, "X-Ken-Session", "s"))
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range a.Pieces {
			if stream {
				pace <- struct{}{}
			}
			got := make([]byte, len(p))
			if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != string(p) {
				t.Fatalf("line %d: %q, %v", i, got, err)
			}
		}
		if rest, err := io.ReadAll(resp.Body); err != nil || len(rest) > 0 {
			t.Errorf("%q, %v", rest, err)
		}
		resp.Body.Close()
		if resp.Header.Get("Content-Type") != a.Get("Content-Type") || resp.Header.Get("X-Ken-Turn") == "" {
			t.Errorf("headers %v", resp.Header)
		}
		injected(t, body, up.Last(t).Body, "02:00 UTC")
		if err := l.Recorded(t.Context()); err != nil {
			t.Fatal(err)
		}
		tr, err := l.Transcript(t.Context(), "", "s")
		if err != nil {
			t.Fatal(err)
		}
		if n := len(tr.Entries); n != 2 || tr.Entries[1].Message.Text != "The payments service retries three times." {
			t.Errorf("the journal has %+v", tr.Entries)
		}
	}
}

// What Ollama says goes back as it is: its errors, and what is no chat.
func TestOllamaAnswersPassUnchanged(t *testing.T) {
	up := upstreamtest.New(t)
	l := layer(t, map[string]string{"": about})
	g := start(t, l, up.URL+"/v1", withAPI(l))
	for _, tt := range []struct{ method, path, body, recording string }{
		{"GET", "/api/tags", "", "ollama_tags"},
		{"POST", "/api/embed", `{"model":"all-minilm","input":"x"}`, "ollama_embed"},
		{"POST", "/api/generate", `{"model":"llama3.2","prompt":"` + question + `"}`, "ollama_generate_stream"},
		{"POST", "/api/chat", `{"model":"missing","messages":[{"role":"user","content":"hi"}]}`, "ollama_error_404"},
	} {
		want := upstreamtest.Recording(tt.recording)
		got := do(t, request(t, tt.method, g.URL+tt.path, tt.body))
		if got.StatusCode != max(want.Status, 200) || got.body != string(want.Body()) || got.Header.Get("Content-Type") != want.Get("Content-Type") {
			t.Errorf("%s: %d %s", tt.path, got.StatusCode, got.body)
		}
		if tt.path != "/api/chat" && string(up.Last(t).Body) != tt.body {
			t.Errorf("%s: arrived as %s", tt.path, up.Last(t).Body)
		}
	}
}
