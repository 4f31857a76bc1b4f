package wire_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/middleware/wire"
)

// Bodies that fuzzing starts from, beside the recorded ones.
var seeds = map[wire.Dialect][]string{
	wire.Chat: {
		`{"messages":[{"role":"user","content":"hi"}]}`,
		` { "messages" : [ { "content" : [ { "type" : "text" } ] } , { "content" : null } ] } `,
		`{"messages":[{"role":"a","content":""},{"content":[]},{"content":[{"type":"image_url"},"x"]},{"tool_calls":[{"function":{}}]}]}`,
		`{"messages":[{}],"messages":[{"content":"\ud83d\ude00\u0000","content":[1]}],"seed":1e999,"stop":"END"}`,
		`{"m\u0065ssages":[{"r\u006fle":"user","content":{"a":[{"b":null}]}}]}`,
		`{"messages":[]}`, `[]`, ``, `{"messages":[[]]}`, `{"messages":[{"content":"`,
	},
	wire.Ollama: {
		`{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":false}`, `{"messages":[{"role":"user","content":"","images":["aGk=",1,{}]}],"stream":null}`,
		`{"messages":[{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{"a":1}}}]},{"role":"tool","tool_name":"f","content":"x"}]}`,
	},
	wire.Responses: {
		`{"input":"hi"}`, ` { "input" : "" , "input" : "a\"\\\u00e9" } `, `{"input":[]}`, `{"input":[{}]}`, `{"input":[1]}`, `{"input":null}`,
		`{"input":[{"role":"user","content":[]},{"role":"user","content":null},{"role":"user","content":[{"type":"input_image"},"x",7]}]}`,
		`{"input":[{"type":"function_call"},{"type":"_call","action":{}},{"type":"x_call_output","output":[{"stdout":"a"}]},{"role":"user"}],"conversation":{"id":7}}`,
		`{"input":[{"role":"user","content":"<system-reminder>x</system-reminder>"},{"role":"user","content":"q","content":["<user_instructions></user_instructions>","z"]}]}`,
	},
	wire.Messages: {
		`{"messages":[{"role":"user","content":"hi"}]}`, `{"messages":[{"role":"user","content":[]}],"system":""}`, `{"messages":[{}]}`, `{"messages":[1]}`,
		`{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"tool_result"} , {"type":"image"}]}]}`,
		`{"messages":[{"role":"user","content":[ "a" , {"type":"tool_result","content":[{"type":"text"}]} ]},{"role":"user","content":7}],"system":[1,{"text":"x","type":"text"}]}`,
		`{"messages":[{"role":"assistant","content":[{"type":"tool_use","input":{"a":1}},{"type":"thinking","text":"no"},3]},{"role":"user","role":"user","content":[{"type":"tool_result","type":"text","text":"q"}]}]}`,
	},
}

func FuzzSpliceChat(f *testing.F)      { fuzzSplice(f, wire.Chat) }
func FuzzSpliceResponses(f *testing.F) { fuzzSplice(f, wire.Responses) }
func FuzzSpliceMessages(f *testing.F)  { fuzzSplice(f, wire.Messages) }
func FuzzSpliceOllama(f *testing.F)    { fuzzSplice(f, wire.Ollama) }

func fuzzSplice(f *testing.F, d wire.Dialect) {
	for _, body := range bodies(f, d, "*.request.json") {
		f.Add(body, "<a> & \"b\" \\ \u2028 \xff", uint8(0), false)
		f.Add(body, "", uint8(1), true)
		f.Add(body, "b", uint8(5), true)
	}
	f.Fuzz(func(t *testing.T, in, block string, at uint8, merge bool) {
		body := []byte(in)
		r, err := wire.Parse(d, body)
		if err != nil {
			return
		}
		var users []int
		for i, m := range r.Messages {
			if m.Role == "user" || d == wire.Chat || d == wire.Ollama {
				users = append(users, i)
			}
		}
		if len(users) > 0 {
			checkSplice(t, d, body, &r, users[int(at)%len(users)], "[Pipeline Knowledge]\n"+block, merge)
		}
	})
}

func FuzzParseChat(f *testing.F)      { fuzzParse(f, wire.Chat) }
func FuzzParseResponses(f *testing.F) { fuzzParse(f, wire.Responses) }
func FuzzParseMessages(f *testing.F)  { fuzzParse(f, wire.Messages) }
func FuzzParseOllama(f *testing.F)    { fuzzParse(f, wire.Ollama) }

// What Parse reads is what a decoder reads, and no more than there is.
func fuzzParse(f *testing.F, d wire.Dialect) {
	for _, body := range bodies(f, d, "*.request.json") {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, in string) {
		r, err := wire.Parse(d, []byte(in))
		if err != nil {
			return
		}
		var m map[string]any
		dec := json.NewDecoder(strings.NewReader(in))
		dec.UseNumber() // numbers beyond float64 are numbers, too
		if err := dec.Decode(&m); err != nil {
			t.Fatalf("parsed what is not an object: %v", err)
		}
		if !utf8.ValidString(in) {
			return // a decoder replaces what is not UTF-8
		}
		str := func(m map[string]any, key string) string { s, _ := m[key].(string); return s }
		if str(m, "model") != r.Model || str(m, "prompt_cache_key") != r.Hints.PromptCacheKey || str(m, "previous_response_id") != r.Previous {
			t.Fatalf("got %+v of %s", r, in)
		}
		if meta, ok := m["metadata"].(map[string]any); ok && (str(meta, "session_id") != r.Hints.Session || str(meta, "user_id") != r.Hints.MetadataUser) {
			t.Fatalf("got %+v of %s", r.Hints, in)
		}
		stream, given := m["stream"].(bool)
		if d == wire.Ollama && !given {
			stream = true
		}
		if stream != r.Stream {
			t.Fatalf("stream is %v", r.Stream)
		}
		list, _ := m["messages"].([]any)
		if (d == wire.Chat || d == wire.Ollama) && len(list) != len(r.Messages) {
			t.Fatalf("%d messages of %d", len(r.Messages), len(list))
		}
		size := 0
		for _, m := range r.Messages {
			size += len(m.Text)
		}
		if size > 4*len(in) {
			t.Fatalf("%d bytes of text in %d", size, len(in))
		}
		if s := wire.SessionOf("o", "", &r); s != wire.SessionOf("o", "", &r) || len(s) > 200 {
			t.Fatalf("session %q", s)
		}
	})
}

func FuzzParseAnswerChat(f *testing.F)      { fuzzAnswer(f, wire.Chat) }
func FuzzParseAnswerResponses(f *testing.F) { fuzzAnswer(f, wire.Responses) }
func FuzzParseAnswerMessages(f *testing.F)  { fuzzAnswer(f, wire.Messages) }
func FuzzParseAnswerOllama(f *testing.F)    { fuzzAnswer(f, wire.Ollama) }

func fuzzAnswer(f *testing.F, d wire.Dialect) {
	for _, body := range bodies(f, d, "*.answer.*") {
		f.Add([]byte(body))
	}
	f.Add([]byte("{\"message\":{\"content\":\"a\",\"tool_calls\":[{}]}}\n{\"error\":\"b\"}\n{\"eval_count\":-1"))
	f.Add([]byte("\xef\xbb\xbf data:[[[[{{"))
	f.Add([]byte("data: {\"choices\":[{\"delta\":{\"content\":\"a\",\"tool_calls\":[{\"index\":3}]}}]}\n\ndata: [DONE]"))
	f.Add([]byte("data: {\"type\":\"content_block_start\",\"index\":3,\"content_block\":{\"type\":\"tool_use\"}}\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":-1e999}}"))
	f.Fuzz(func(t *testing.T, body []byte) {
		a, ok := wire.ParseAnswer(d, body)
		if said := strings.TrimSpace(a.Message.Text) != "" || len(a.Message.ToolCalls) > 0; said != ok || a.Message.Role != "assistant" {
			t.Fatalf("%v %+v", ok, a)
		}
		if u := a.Usage; u.Input < 0 || u.Output < 0 || u.Cached < 0 || len(a.Err) > 500 || len(a.Message.Text) > 4*len(body) {
			t.Fatalf("%+v", a)
		}
		wire.AnswerID(body)
	})
}

func bodies(f *testing.F, d wire.Dialect, pattern string) (out []string) {
	recorded(f, pattern, func(of wire.Dialect, path string, body []byte) {
		if of == d && !strings.HasSuffix(path, ".want") {
			out = append(out, string(body))
		}
	})
	if pattern == "*.request.json" {
		out = append(out, seeds[d]...)
	}
	return out
}

// Requests of an agent's usual day, and with tool schemas of 2 MB, which are read
// past and not into.
func BenchmarkParseSplice(b *testing.B) {
	for _, d := range dialects {
		for _, size := range []struct {
			name  string
			turns int
			tools int
		}{{"small", 2, 0}, {"day", 200, 40 << 10}, {"tools2MB", 2, 2 << 20}} {
			b.Run(d.String()+"/"+size.name, func(b *testing.B) {
				body := conversation(b, d, size.turns, size.tools)
				b.SetBytes(int64(len(body)))
				b.ReportAllocs()
				for b.Loop() {
					r, err := wire.Parse(d, body)
					if err != nil {
						b.Fatal(err)
					}
					if _, err := wire.Splice(body, r, []wire.Insertion{{Before: len(r.Messages) - 1, Text: "[Pipeline Knowledge]"}}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkParseAnswer(b *testing.B) {
	for _, d := range dialects {
		name := "/stream.answer.sse"
		if d == wire.Ollama {
			name = "/stream.answer.ndjson"
		}
		body, err := os.ReadFile("testdata/" + d.String() + name)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(d.String(), func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := wire.ParseAnswer(d, body); !ok {
					b.Fatal("nothing was said")
				}
			}
		})
	}
}

// conversation is a request of so many turns that ends with a user's message, and
// with so many bytes of tool schemas.
func conversation(t testing.TB, d wire.Dialect, turns, tools int) []byte {
	t.Helper()
	text := strings.Repeat("The payments client retries \"three\" times.\n", 8)
	var msgs []any
	type m map[string]any
	for i := range turns {
		call := fmt.Sprintf("call_%d", i)
		switch d {
		case wire.Chat:
			msgs = append(msgs, m{"role": "user", "content": text},
				m{"role": "assistant", "content": text, "tool_calls": []any{m{"id": call, "type": "function", "function": m{"name": "read", "arguments": `{"path":"a.go"}`}}}},
				m{"role": "tool", "tool_call_id": call, "content": text})
		case wire.Responses:
			msgs = append(msgs, m{"role": "user", "content": []any{m{"type": "input_text", "text": text}}},
				m{"type": "reasoning", "summary": []any{}, "encrypted_content": text},
				m{"type": "message", "role": "assistant", "content": []any{m{"type": "output_text", "text": text}}},
				m{"type": "function_call", "call_id": call, "name": "read", "arguments": `{"path":"a.go"}`},
				m{"type": "function_call_output", "call_id": call, "output": text})
		case wire.Messages:
			msgs = append(msgs, m{"role": "user", "content": []any{m{"type": "text", "text": text}}},
				m{"role": "assistant", "content": []any{m{"type": "thinking", "thinking": text, "signature": "x"}, m{"type": "text", "text": text},
					m{"type": "tool_use", "id": call, "name": "read", "input": m{"path": "a.go"}}}},
				m{"role": "user", "content": []any{m{"type": "tool_result", "tool_use_id": call, "content": text}}},
				m{"role": "assistant", "content": text})
		}
	}
	msgs = append(msgs, m{"role": "user", "content": "And now?"})
	var schemas []any
	for n := 0; n < tools; n += 1024 {
		schemas = append(schemas, m{"type": "function", "name": "read", "description": strings.Repeat("Reads [a] file. ", 40),
			"parameters": m{"type": "object", "properties": m{"path": m{"type": "string", "description": strings.Repeat("{path} ", 40)}}}})
	}
	key := "messages"
	if d == wire.Responses {
		key = "input"
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(m{"model": "m", key: msgs, "tools": schemas}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
