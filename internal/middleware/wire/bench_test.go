package wire_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/middleware/wire"
)

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
