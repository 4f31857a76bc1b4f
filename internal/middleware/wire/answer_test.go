package wire_test

import (
	"fmt"
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
