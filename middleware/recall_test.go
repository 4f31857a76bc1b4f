package middleware_test

import (
	"compress/gzip"
	"compress/zlib"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/middleware/wire"
	"github.com/kenlayer/ken/middleware"
)

func TestRecall(t *testing.T) {
	l := open(t, settings())
	ids := learn(t, l, plainFact("Payments are retried three times."), plainFact("The harbour is shallow."),
		plainFact("Payments may be refunded.", func(c *ken.Claim) { c.Status = ken.StatusHypothesis }))
	a, err := l.Operator().Search(t.Context(), middleware.RecallQuery{Question: "how are payments retried?"})
	if err != nil || a.Mode != ken.ModeHybrid || len(a.Claims) == 0 || a.Claims[0].ID != ids[0] || a.Claims[0].Tier != ken.Inferred || len(a.Signals.Keywords) == 0 {
		t.Fatalf("got %+v, %v", a, err)
	}
	for _, c := range a.Claims {
		if c.ID == ids[2] {
			t.Error("a hypothesis was recalled")
		}
	}
	q := middleware.RecallQuery{Question: "payments", Mode: ken.ModeKeyword, Limit: 1, Filter: ken.Filter{Statuses: []ken.Status{ken.StatusHypothesis}}}
	if a, err = l.Operator().Search(t.Context(), q); err != nil || a.Mode != ken.ModeKeyword || len(a.Claims) != 1 || a.Claims[0].ID != ids[2] {
		t.Errorf("got %+v, %v", a, err)
	}
	// A recall asks for what small talk would not.
	if a, err = l.Operator().Search(t.Context(), middleware.RecallQuery{Question: "harbour"}); err != nil || len(a.Claims) == 0 || a.Claims[0].ID != ids[1] {
		t.Errorf("got %+v, %v", a, err)
	}
	if a, err = l.Operator().Search(t.Context(), middleware.RecallQuery{Owner: "bert", Question: "payments"}); err != nil || len(a.Claims) != 0 {
		t.Errorf("another owner: %+v, %v", a, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Operator().Search(ctx, q); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// Mode returns the mode that runs, and a lesser mode has a cause.
func TestModeOfARecall(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*config.Config)
		mode   ken.Mode
		want   ken.Mode
		cause  bool
	}{
		{"the best", func(*config.Config) {}, "", ken.ModeHybrid, false},
		{"words alone", func(*config.Config) {}, ken.ModeKeyword, ken.ModeKeyword, false},
		{"likeness alone", func(*config.Config) {}, ken.ModeVector, ken.ModeVector, false},
		{"no embedder", func(c *config.Config) { c.Knowledge.Provider = config.ProviderNone }, "", ken.ModeKeyword, false},
		{"no embedder, and one asked for", func(c *config.Config) { c.Knowledge.Provider = config.ProviderNone }, ken.ModeHybrid, ken.ModeKeyword, true},
		{"no embedder, and nothing else asked for", func(c *config.Config) { c.Knowledge.Provider = config.ProviderNone }, ken.ModeVector, ken.ModeNone, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := open(t, settings(tt.change))
			learn(t, l, plainFact("Payments are retried."))
			s, release, err := l.Store(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			defer release()
			rc := l.Operator().Recaller(s, middleware.RecallQuery{Mode: tt.mode})
			mode, cause := rc.Mode()
			a, err := rc.Ask(t.Context(), "how are payments retried?", nil)
			if err != nil || mode != tt.want || a.Mode != tt.want || (cause != "") != tt.cause || (a.Cause != "") != tt.cause {
				t.Errorf("says %s (%s), runs %s (%s), %v", mode, cause, a.Mode, a.Cause, err)
			}
		})
	}
}

// The form of ken recall --json is a contract.
func TestFormOfARecall(t *testing.T) {
	l := open(t, settings())
	learn(t, l, plainFact("Payments are retried."))
	a, err := l.Operator().Search(t.Context(), middleware.RecallQuery{Question: "payments"})
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || got["mode"] == nil || got["cause"] == nil {
		t.Errorf("got %s", b)
	}
	c := got["claims"].([]any)[0].(map[string]any)
	for _, name := range []string{"id", "key", "text", "tier", "trust", "score", "legs", "evidence", "status"} {
		if _, ok := c[name]; !ok {
			t.Errorf("no %s in %s", name, b)
		}
	}
}

// With a limit of one, the answer has one claim, however many rules apply to the
// question, and says how many are left out.
func TestRecallKeepsToItsLimit(t *testing.T) {
	l := openIn(t, t.TempDir())
	defer l.Close()
	s, release, err := l.Store(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	write := func(text string) {
		t.Helper()
		c, err := ken.NewClaim(text, ken.FromToolResult("person", text))
		if err == nil {
			c.Entities, c.Constraint, c.AssignedBy = []string{"ledger"}, true, ken.AssignedByOperator
			_, err = s.WriteClaim(t.Context(), c)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range 40 {
		write(fmt.Sprintf("The ledger must never do thing %d.", i))
	}
	write("The ledger must stay on PostgreSQL 15.")
	for _, limit := range []int{1, 6} {
		got, err := l.Operator().Search(t.Context(), middleware.RecallQuery{Question: "ledger PostgreSQL", Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Claims) != limit || got.More == 0 || got.Claims[0].Text != "The ledger must stay on PostgreSQL 15." {
			t.Errorf("limit %d: %d claims, %d more, first %q", limit, len(got.Claims), got.More, got.Claims[0].Text)
		}
	}
}

// dialect is what a client of one dialect sends, and its server answers.
type dialect struct {
	wire.Dialect
	path string

	body   func(fields string, items ...string) string // a request of these messages or items
	system string                                      // fields with a system prompt
	user   func(text string) string
	said   func(text string) []string // the model's answer as it comes back
	call   string                     // the model's call of a tool, as it comes back
	result string                     // and what it returned
	whole  func(id, text string) string
	stream func(id, text string) string
}

// testDialects are the dialects, with the form that messages have in each.
var testDialects = []dialect{
	{Dialect: wire.Chat, path: "/v1/chat/completions", system: `"seed":1e999,`,
		body: func(fields string, items ...string) string {
			return `{` + fields + `"messages":[` + strings.Join(items, ",") + `],"temperature":0.0}`
		},
		user: func(text string) string { return object("role", "user", "content", text) },
		said: func(text string) []string { return []string{object("role", "assistant", "content", text)} },
		call: `{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"grep","arguments":"{}"}}]}`, result: object("role", "tool", "tool_call_id", "c1", "content", "retry.go:1"),
		whole: func(id, text string) string {
			return `{"id":"` + id + `", "choices":[{"index":0,"message":{"role":"assistant","content":` + quoted(text) + `},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":5}}}`
		},
		stream: func(id, text string) string {
			return `data: {"id":"` + id + `","choices":[{"index":0,"delta":{"content":` + quoted(text) + `}}]}` + "\n\n" +
				`data: {"id":"` + id + `","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n" +
				`data: {"id":"` + id + `","choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":5}}}` + "\n\ndata: [DONE]\n\n"
		}},
	{Dialect: wire.Responses, path: "/v1/responses", system: `"instructions":"Be brief.","store":false,`,
		body: func(fields string, items ...string) string {
			return `{` + fields + `"input":[` + strings.Join(items, ",") + `],"temperature":0.0}`
		},
		user: func(text string) string {
			return `{"role":"user","content":[{"type":"input_text","text":` + quoted(text) + `}]}`
		},
		said: func(text string) []string {
			return []string{`{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"x"}`,
				`{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":` + quoted(text) + `,"annotations":[]}]}`}
		},
		call:   `{"type":"function_call","id":"fc_1","call_id":"c1","name":"grep","arguments":"{}"}`,
		result: `{"type":"function_call_output","call_id":"c1","output":"retry.go:1"}`,
		whole:  responded,
		stream: func(id, text string) string {
			return "event: response.created\n" + `data: {"type":"response.created","response":{"id":"` + id + `","status":"in_progress"}}` + "\n\n" +
				"event: response.output_text.delta\n" + `data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":` + quoted(text) + "}\n\n" +
				"event: response.completed\n" + `data: {"type":"response.completed","response":` + responded(id, text) + "}\n\n"
		}},
	{Dialect: wire.Messages, path: "/v1/messages", system: `"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],`,
		body: func(fields string, items ...string) string {
			return `{` + fields + `"max_tokens":1e3,"messages":[` + strings.Join(items, ",") + `],"temperature":0.0}`
		},
		user: func(text string) string {
			return `{"role":"user","content":[{"type":"text","text":` + quoted(text) + `}]}`
		},
		said: func(text string) []string {
			return []string{`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"x"},{"type":"text","text":` + quoted(text) + `}]}`}
		},
		call:   `{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"grep","input":{}}]}`,
		result: `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"retry.go:1","cache_control":{"type":"ephemeral"}}]}`,
		whole: func(id, text string) string {
			return `{"id":"` + id + `","type":"message","role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":` + quoted(text) + `}],"stop_reason":"end_turn","usage":{"input_tokens":2,"cache_read_input_tokens":5,"output_tokens":3}}`
		},
		stream: func(id, text string) string {
			return "event: message_start\n" + `data: {"type":"message_start","message":{"id":"` + id + `","type":"message","content":[],"usage":{"input_tokens":2,"cache_read_input_tokens":5,"output_tokens":1}}}` + "\n\n" +
				"event: content_block_delta\n" + `data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}` + "\n\nevent: ping\ndata: {\"type\": \"ping\"}\n\n" +
				"event: content_block_delta\n" + `data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":` + quoted(text) + "}}\n\n" +
				"event: message_delta\n" + `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}` + "\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
		}},
	{Dialect: wire.Ollama, path: "/api/chat", system: `"options":{"num_ctx":8192},`,
		body: func(fields string, items ...string) string {
			return `{` + fields + `"model":"llama3.2","messages":[` + strings.Join(items, ",") + `],"keep_alive":-1}`
		},
		user: func(text string) string { return object("role", "user", "content", text) },
		said: func(text string) []string {
			return []string{`{"role":"assistant","thinking":"hm","content":` + quoted(text) + `}`}
		},
		call:   `{"role":"assistant","content":"","tool_calls":[{"function":{"name":"grep","arguments":{}}}]}`,
		result: object("role", "tool", "tool_name", "grep", "content", "retry.go:1"),
		whole: func(_, text string) string {
			return `{"model":"llama3.2","message":{"role":"assistant","thinking":"hm","content":` + quoted(text) + `},"done":true,"done_reason":"stop","prompt_eval_count":7,"eval_count":3}`
		},
		stream: func(_, text string) string {
			return `{"model":"llama3.2","message":{"role":"assistant","content":"","thinking":"hm"},"done":false}` + "\n" +
				`{"model":"llama3.2","message":{"role":"assistant","content":` + quoted(text) + `},"done":false}` + "\n" +
				`{"model":"llama3.2","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":7,"eval_count":3}` + "\n"
		}},
}

// media is the type of a streamed answer.
func (d dialect) media() string {
	if d.Dialect == wire.Ollama {
		return "application/x-ndjson"
	}
	return "text/event-stream"
}

func responded(id, text string) string {
	return `{"id":"` + id + `","object":"response","status":"completed","error":null,"output":[{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]},` +
		`{"type":"message","role":"assistant","content":[{"type":"output_text","text":` + quoted(text) + `}]}],"usage":{"input_tokens":7,"input_tokens_details":{"cached_tokens":5},"output_tokens":3}}`
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// each runs a test for each dialect, streamed and not.
func each(t *testing.T, fn func(t *testing.T, d dialect, stream bool)) {
	for _, d := range testDialects {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/stream=%v", d, stream), func(t *testing.T) { fn(t, d, stream) })
		}
	}
}

// model answers on all paths, with the text that is next, and keeps what it
// was sent.
type model struct {
	*httptest.Server
	d        dialect
	stream   bool
	encoding string

	mu      sync.Mutex // guards the rest
	answers []string
	sent    []string
	n       int
}

func serveModel(t *testing.T, d dialect, stream bool, answers ...string) *model {
	m := &model{d: d, stream: stream, answers: answers}
	m.Server = httptest.NewServer(m)
	t.Cleanup(m.Close)
	return m
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	m.mu.Lock()
	answer := m.answers[min(m.n, len(m.answers)-1)]
	m.n++
	id := fmt.Sprintf("id_%d", m.n)
	m.sent = append(m.sent, string(body))
	m.mu.Unlock()
	w.Header().Set("Trailer", "X-Last")
	out := io.Writer(w)
	switch m.encoding {
	case "gzip":
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		defer z.Close()
		out = z
	case "deflate":
		w.Header().Set("Content-Encoding", "deflate")
		z := zlib.NewWriter(w)
		defer z.Close()
		out = z
	case "br":
		w.Header().Set("Content-Encoding", "br")
	}
	if !m.stream {
		io.WriteString(out, m.d.whole(id, answer))
	} else {
		w.Header().Set("Content-Type", m.d.media())
		for _, event := range strings.SplitAfter(m.d.stream(id, answer), "\n\n") {
			io.WriteString(out, event)
			w.(http.Flusher).Flush()
		}
	}
	w.Header().Set("X-Last", "yes")
}

// last returns what the model was sent last.
func (m *model) last() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sent[len(m.sent)-1]
}

// client sends requests through a layer.
type client struct {
	t    *testing.T
	http *http.Client
	m    *model
}

func dial(t *testing.T, l *middleware.Layer, m *model, turn ken.Turn) *client {
	base := &http.Transport{DisableCompression: true}
	t.Cleanup(base.CloseIdleConnections)
	return &client{t, &http.Client{Transport: l.Transport(base, turn)}, m}
}

// post sends a body, checks that the client reads the model's bytes and trailer, and
// returns what the model was sent.
func (c *client) post(body string) string {
	c.t.Helper()
	resp, err := c.http.Do(chatRequest(c.t, c.m.URL+c.m.d.path, strings.NewReader(body)))
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if c.m.encoding == "" {
		id, text := fmt.Sprintf("id_%d", c.m.n), c.m.answers[min(c.m.n, len(c.m.answers))-1]
		want := c.m.d.whole(id, text)
		if c.m.stream {
			want = c.m.d.stream(id, text)
		}
		if string(got) != want {
			c.t.Errorf("the client read %q, the server sent %q", got, want)
		}
	}
	if resp.Trailer.Get("X-Last") != "yes" {
		c.t.Errorf("trailers: %v", resp.Trailer)
	}
	return c.m.last()
}

func TestRecallRefuses(t *testing.T) {
	l := open(t, settings())
	for field, ask := range map[string]func() error{
		"question": func() error { _, err := l.Recall(t.Context(), " \n"); return err },
		"mode": func() error {
			_, err := l.Recall(t.Context(), "Which port?", func(q *middleware.RecallQuery) { q.Mode = "fuzzy" })
			return err
		},
	} {
		var e *ken.Error
		if err := ask(); !errors.As(err, &e) || e.Field != field || !errors.Is(err, ken.ErrInvalid) || e.Try == "" {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestOpenNeedsAFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{file, filepath.Join(t.TempDir(), "missing")} {
		if _, err := middleware.Open(t.Context(), middleware.Options{Root: root}); !errors.Is(err, ken.ErrNotFound) || ken.Hint(err) == "" {
			t.Errorf("%s: %v", root, err)
		}
		if _, err := os.Stat(filepath.Join(root, ".ken")); err == nil {
			t.Errorf("%s was made", root)
		}
	}
}
