package middleware_test

import (
	"compress/gzip"
	"compress/zlib"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/middleware/wire"
	"github.com/kenlayer/ken/middleware"
)

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

var spoken = []dialect{
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
	for _, d := range spoken {
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

// last is what the model was sent last.
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
