package wire

import (
	"bytes"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken"
)

// ParseAnswer reads the first choice's message out of the body of a response, a
// JSON object or a stream of events, whole or broken off. ok is false when there
// is nothing that a model said or called. It never fails: what it can't read is
// the client's to judge.
func ParseAnswer(body []byte) (m ken.Message, ok bool) {
	body = bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")))
	if bytes.HasPrefix(body, []byte("{")) {
		if !valid(body) {
			return m, false
		}
		first := gjson.GetBytes(body, "choices.0.message")
		if !first.IsObject() {
			return m, false
		}
		m, _ = message(first)
	} else {
		m = streamed(body)
	}
	m.Role = "assistant"
	return m, strings.TrimSpace(m.Text) != "" || len(m.ToolCalls) > 0
}

// maxCalls bounds the tool calls of one answer, whose numbers come from outside.
const maxCalls = 256

// streamed puts an answer together that came in events, each a line that starts
// with "data:".
func streamed(body []byte) ken.Message {
	var text strings.Builder
	var calls []ken.ToolCall
	var arguments []*strings.Builder
	for line := range bytes.Lines(body) {
		data, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data:"))
		if !ok || !valid(data) { // [DONE], a comment, or where it broke off
			continue
		}
		delta := gjson.GetBytes(data, "choices.0.delta")
		if n := gjson.GetBytes(data, "choices.0.index"); n.Int() != 0 || !delta.IsObject() {
			continue
		}
		text.WriteString(deltaText(delta.Get("content")))
		delta.Get("tool_calls").ForEach(func(_, v gjson.Result) bool {
			i := int(v.Get("index").Int())
			if i < 0 || i >= maxCalls {
				return true
			}
			for len(calls) <= i {
				calls = append(calls, ken.ToolCall{})
				arguments = append(arguments, new(strings.Builder))
			}
			c := toolCall(v)
			if c.ID != "" {
				calls[i].ID = c.ID
			}
			if c.Name != "" {
				calls[i].Name = c.Name
			}
			arguments[i].WriteString(c.Arguments)
			return true
		})
	}
	for i := range calls {
		calls[i].Arguments = arguments[i].String()
	}
	return ken.Message{Text: text.String(), ToolCalls: calls}
}

// deltaText reads what a delta adds: a string, or parts as some gateways send.
func deltaText(content gjson.Result) string {
	if content.IsArray() {
		s, _ := parts(content)
		return s
	}
	return text(content)
}
