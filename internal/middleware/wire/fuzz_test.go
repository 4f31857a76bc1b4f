package wire_test

import (
	"encoding/json"
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
