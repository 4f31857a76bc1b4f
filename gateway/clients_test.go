package gateway_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/gateway"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/gateway/api"
	"github.com/kenlayer/ken/internal/gateway/upstreamtest"
	"github.com/kenlayer/ken/internal/middleware/wire"
	"github.com/kenlayer/ken/middleware"
)

// Agents say in headers of their own which conversation it is. A sub-agent's is one of
// its own, and knows whose it is; Ken's own header comes before all that.
func TestSubAgentsHaveSessionsOfTheirOwn(t *testing.T) {
	l := layer(t, nil)
	g := start(t, l, upstreamtest.New(t).URL)
	ask := func(text string, header ...string) { post(t, g.URL+chatPath, chat(text), header...) }
	const id = "3f6c1a52-8a7e-4a53-9a54-0a4f8d2f8a11"
	ask("How does the ledger work?", "X-Claude-Code-Session-Id", id, "User-Agent", "claude-cli/2.1.197 (external, cli)")
	ask("Read the tests.", "X-Claude-Code-Session-Id", id, "X-Claude-Code-Agent-Id", "a1")
	ask("Fix it.", "X-Session-Id", "ses_1")
	ask("Fix it.", "X-Session-Id", "ses_2", "X-Parent-Session-Id", "ses_1")
	ask("Hello.", "X-Session-Id", "ses_3", "X-Ken-Session", "mine")
	long := strings.Repeat("x", 10<<10)
	ask("Hello again.", "X-Session-Id", long+"2", "X-Parent-Session-Id", long)
	post(t, g.URL+chatPath, strings.Replace(chat("Hello there."), "{", `{"prompt_cache_key":"a\nb0123456789abcdef01","metadata":{"session_id":"`+long+`"},`, 1))
	if err := l.Operator().Recorded(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct{ parent, agent string }{
		wire.NameOf("default", long+"2"): {wire.NameOf("default", long), ""}, wire.NameOf("default", long): {},
		id: {"", "claude-code"}, id + "~a1": {id, ""}, "ses_1": {}, "ses_2": {"ses_1", ""}, "mine": {},
	} {
		s, err := l.Operator().Journal("").Info(t.Context(), name)
		if err != nil || s.Parent != want.parent || s.Agent != want.agent || s.Messages != 2 {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
}

// Aider puts an example and its files in front of each conversation, in the user's name.
// Two conversations are two all the same, a block stays where it stood when the files
// change, and only what the user said is journaled.
func TestAidersConversations(t *testing.T) {
	l := layer(t, map[string]string{"default": about}, func(c *config.Config) { c.Retrieval.Deadline = 30 * time.Second })
	up := upstreamtest.New(t)
	g := start(t, l, up.URL)
	const head = `{"model":"m","messages":[{"role":"system","content":"Act as an expert software developer."},` +
		`{"role":"user","content":"Change the greeting."},{"role":"assistant","content":"Ok, I will."},` +
		`{"role":"user","content":"I switched to a new code base. Please don't consider the above files or try to edit them any longer."},{"role":"assistant","content":"Ok."},`
	const none = `{"role":"user","content":"I am not sharing any files that you can edit yet."},{"role":"assistant","content":"Ok."},`
	const file = `{"role":"user","content":"I have *added these files to the chat* so you can go ahead and edit them.\n\npay.py"},{"role":"assistant","content":"Ok, any changes I propose will be to those files."},`
	asked := `{"role":"user","content":"` + question + `"}`
	send := func(said string) (body string) {
		up.Forget()
		post(t, g.URL+chatPath, head+said+`]}`)
		if err := l.Operator().Recorded(t.Context()); err != nil {
			t.Fatal(err)
		}
		return string(up.Requests()[0].Body)
	}
	first := send(none + asked)
	at := strings.Index(first, `{"role":"user","content":"`+marker)
	if at < 0 || !strings.Contains(first, none+first[at:strings.Index(first, asked)]+asked) {
		t.Fatalf("no block before the question: %s", first)
	}
	block := first[at:strings.Index(first, asked)]
	answer, err := json.Marshal(gjson.GetBytes(upstreamtest.Recording("chat").Body(), "choices.0.message.content").Str)
	if err != nil {
		t.Fatal(err)
	}
	later := send(asked + `,{"role":"assistant","content":` + string(answer) + `},` + file + `{"role":"user","content":"thanks!"}`)
	if !strings.Contains(later, block+asked+`,{"role":"assistant"`) || strings.Count(later, marker) != 1 {
		t.Errorf("the block does not stay: %s", later)
	}
	send(none + `{"role":"user","content":"Which database does the ledger use?"}`)
	sessions, err := l.Operator().Journal("").List(t.Context())
	if err != nil || len(sessions) != 2 {
		t.Fatalf("%d sessions, %v", len(sessions), err)
	}
	for _, s := range sessions {
		tr, err := l.Operator().Journal("").Read(t.Context(), s.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range tr.Entries {
			if m := e.Message; m.Role == "user" && m.Text != question && m.Text != "thanks!" && m.Text != "Which database does the ledger use?" {
				t.Errorf("%s: the user did not say %q", s.ID, m.Text)
			}
		}
	}
}

// withAPI serves Ken's own API.
func withAPI(l *middleware.Layer) func(*gateway.Options) {
	return func(o *gateway.Options) { o.Operator().API = api.New(l, api.Options{Log: quiet}) }
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
	for path, status := range map[string]int{"/api/openapi.json": 200, "/api/claims": 200, "/api/claims/nothing/here": 404, "/api/claims/": 404, "/api": 404, "/api/": 404,
		"/api/claim": 404, "/api/serch?q=x": 404, "/api/entity/payments": 404, "/api/dependancies": 404, "/api/constraint": 404, "/api/sesions/s/end": 404, "/api/export.": 404} {
		if got := do(t, request(t, http.MethodGet, g.URL+path, "")); got.StatusCode != status || len(up.Requests()) > 0 {
			t.Errorf("%s: %d, and %d requests passed on", path, got.StatusCode, len(up.Requests()))
		}
	}
	for _, path := range []string{"/api/models", "/api/v1/chat", "/api/tags", "/api/tokens", "/api/user", "/api/turnstile", "/api/clients", "/api/rerank", "/api/logs", "/api/audio/speech"} {
		up.Forget()
		if do(t, request(t, http.MethodGet, g.URL+path, "")); len(up.Requests()) != 1 {
			t.Errorf("%s is not passed on", path)
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
		if err := l.Operator().Recorded(t.Context()); err != nil {
			t.Fatal(err)
		}
		tr, err := l.Operator().Transcript(t.Context(), "", "s")
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
