package wire_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/middleware/wire"
)

func TestParseAnswer(t *testing.T) {
	call := func(args string) []ken.ToolCall {
		return []ken.ToolCall{{ID: "c1", Name: "read", Arguments: args}}
	}
	for _, tc := range []struct {
		name, body string
		want       ken.Message
		silent     bool
	}{
		{name: "a plain answer", body: `{"choices":[{"index":0,"message":{"role":"assistant","content":"Use bbolt."}}]}`,
			want: ken.Message{Text: "Use bbolt."}},
		{name: "only the first choice", body: `{"choices":[{"message":{"content":"a"}},{"message":{"content":"b"}}]}`, want: ken.Message{Text: "a"}},
		{name: "a call without words", body: `{"choices":[{"message":{"content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{\"path\":\"a\"}"}}]}}]}`,
			want: ken.Message{ToolCalls: call(`{"path":"a"}`)}},
		{name: "an error", body: `{"error":{"message":"no such model"}}`, silent: true},
		{name: "nothing", body: "", silent: true},
		{name: "prose", body: "<html>502</html>", silent: true},
		{name: "not JSON", body: `{"choices":[`, silent: true},
		{name: "a stream", body: "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Use \"}}]}\n\n" +
			": ping\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"bbolt.\"}}]}\r\n\r\ndata: {\"choices\":[],\"usage\":{}}\n\ndata: [DONE]\n\n",
			want: ken.Message{Text: "Use bbolt."}},
		{name: "a stream of a second choice", body: "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"b\"}}]}\n\n", silent: true},
		{name: "a streamed call in pieces", body: "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"function\":{\"name\":\"read\",\"arguments\":\"\"}}]}}]}\n\n" +
			"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"path\\\"\"}}]}}]}\n\n" +
			"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\":\\\"a\\\"}\"}}]}}]}\n\n",
			want: ken.Message{ToolCalls: call(`{"path":"a"}`)}},
		{name: "a stream that broke off", body: "data: {\"choices\":[{\"delta\":{\"content\":\"half\"}}]}\n\ndata: {\"choices\":[{\"del", want: ken.Message{Text: "half"}},
		{name: "a call numbered out of bounds", body: "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":999999999,\"id\":\"x\"},{\"index\":-1}]}}]}\n\n", silent: true},
		{name: "parts", body: "data: {\"choices\":[{\"delta\":{\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]}}]}\n\n", want: ken.Message{Text: "hi"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, ok := wire.ParseAnswer(wire.Chat, []byte(tc.body))
			if ok == tc.silent {
				t.Fatalf("ok is %v: %+v", ok, got)
			}
			if tc.silent {
				return
			}
			tc.want.Role = "assistant"
			if d := cmp.Diff(tc.want, got.Message); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func ExampleParseAnswer() {
	a, _ := wire.ParseAnswer(wire.Chat, []byte("data: {\"choices\":[{\"delta\":{\"content\":\"It is \"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"Friday.\"}}]}\n\n"))
	fmt.Println(a.Message.Text)
	// Output: It is Friday.
}

const (
	chatStream = "data: {\"id\":\"c\",\"model\":\"gpt-5\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"}}],\"usage\":null}\n\n" +
		"data: {\"id\":\"c\",\"model\":\"gpt-5\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\\\"usage\\\": {9}\"}}],\"usage\":null}\n\n"
	chatUsage     = "data: {\"id\":\"c\",\"model\":\"gpt-5\",\"choices\":[],\"usage\":{\"prompt_tokens\":20,\"completion_tokens\":7,\"prompt_tokens_details\":{\"cached_tokens\":4}}}\n\n"
	messageStream = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"model\":\"claude\",\"content\":[],\"usage\":{\"input_tokens\":10,\"cache_creation_input_tokens\":5,\"cache_read_input_tokens\":3,\"output_tokens\":1}}}\n\n" +
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"hi\"}}\n\n"
	messageDelta   = "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":12}}\n\n"
	responseStream = "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"r\",\"model\":\"gpt-5\",\"usage\":null}}\n\n" +
		"event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"hi\"}\n\n"
	responseDone = "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"model\":\"gpt-5-2025\",\"status\":\"completed\",\"output\":[],\"usage\":{\"input_tokens\":8,\"output_tokens\":2,\"input_tokens_details\":{\"cached_tokens\":6}}}}\n\n"
)

// An answer's model and tokens are read whatever the pieces are in which it comes.
func TestMeter(t *testing.T) {
	for _, tt := range []struct {
		name  string
		d     wire.Dialect
		body  string
		model string
		want  wire.Usage
		ok    bool
	}{
		{"chat", wire.Chat, chatStream + chatUsage + "data: [DONE]\n\n", "gpt-5", wire.Usage{Input: 20, Output: 7, Cached: 4}, true},
		{"chat, not asked for", wire.Chat, chatStream + "data: [DONE]\n\n", "gpt-5", wire.Usage{}, false},
		{"chat, whole", wire.Chat, ` {"id":"c","model":"gpt-5","choices":[],"usage":{"prompt_tokens":20,"completion_tokens":7}}`, "gpt-5", wire.Usage{Input: 20, Output: 7}, true},
		{"chat, with CR", wire.Chat, strings.ReplaceAll(chatStream+chatUsage, "\n", "\r\n"), "gpt-5", wire.Usage{Input: 20, Output: 7, Cached: 4}, true},
		{"messages", wire.Messages, messageStream + messageDelta, "claude", wire.Usage{Input: 18, Output: 12, Cached: 3}, true},
		{"messages, broken off", wire.Messages, messageStream, "claude", wire.Usage{Input: 18, Output: 1, Cached: 3}, true},
		{"responses", wire.Responses, responseStream + responseDone, "gpt-5-2025", wire.Usage{Input: 8, Output: 2, Cached: 6}, true},
		{"responses, without the last line's end", wire.Responses, strings.TrimSpace(responseStream + responseDone), "gpt-5-2025", wire.Usage{Input: 8, Output: 2, Cached: 6}, true},
		{"an error", wire.Chat, `{"error":{"message":"no"}}`, "", wire.Usage{}, false},
		{"nothing", wire.Chat, "", "", wire.Usage{}, false},
		{"a line beyond all bounds", wire.Chat, chatStream + "data: {\"x\":\"" + strings.Repeat("y", 5<<20) + "\",\"usage\":{}}\n\n" + chatUsage, "gpt-5", wire.Usage{Input: 20, Output: 7, Cached: 4}, true},
	} {
		for _, size := range []int{1, 7, 1 << 10, 1 << 30} {
			if size < 1<<10 && len(tt.body) > 1<<20 {
				continue
			}
			m := wire.NewMeter(tt.d)
			for rest := tt.body; rest != ""; {
				n := min(size, len(rest))
				if k, err := m.Write([]byte(rest[:n])); k != n || err != nil {
					t.Fatal(k, err)
				}
				rest = rest[n:]
			}
			if model, u, ok := m.Read(); model != tt.model || u != tt.want || ok != tt.ok {
				t.Errorf("%s in pieces of %d: %q %+v %v", tt.name, size, model, u, ok)
			}
		}
	}
}

// What a stream costs to be metered is about what it costs to look for the ends of its lines.
func BenchmarkMeter(b *testing.B) {
	piece := []byte("data: {\"id\":\"chatcmpl-123456789\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"gpt-5\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" word\"},\"finish_reason\":null}],\"usage\":null}\n\n")
	b.SetBytes(int64(len(piece)))
	m := wire.NewMeter(wire.Chat)
	for b.Loop() {
		if _, err := m.Write(piece); err != nil {
			b.Fatal(err)
		}
	}
}

// Whatever comes, a meter reads the same however it is cut up.
func FuzzMeter(f *testing.F) {
	f.Add([]byte(chatStream+chatUsage), uint8(0), 3)
	f.Add([]byte(messageStream+messageDelta), uint8(2), 50)
	f.Add([]byte(responseStream+responseDone), uint8(1), 100)
	f.Add([]byte("\n{\"usage\":{\"prompt_tokens\":1}}"), uint8(0), 1)
	f.Fuzz(func(t *testing.T, body []byte, dialect uint8, at int) {
		d := []wire.Dialect{wire.Chat, wire.Responses, wire.Messages}[dialect%3]
		whole, cut := wire.NewMeter(d), wire.NewMeter(d)
		at = max(0, min(at, len(body)))
		for m, pieces := range map[*wire.Meter][][]byte{whole: {body}, cut: {body[:at], body[at:]}} {
			for _, p := range pieces {
				if n, err := m.Write(p); n != len(p) || err != nil {
					t.Fatal(n, err)
				}
			}
		}
		model, u, ok := whole.Read()
		model2, u2, ok2 := cut.Read()
		if model != model2 || u != u2 || ok != ok2 || u.Input < 0 || u.Output < 0 || u.Cached < 0 {
			t.Errorf("%q %+v %v, cut at %d: %q %+v %v", model, u, ok, at, model2, u2, ok2)
		}
	})
}
