package wire

import (
	"strings"

	"github.com/kenlayer/ken"
)

// maxCalls bounds the tool calls and blocks of one answer, whose numbers come from
// outside.
const maxCalls = 256

// chatHearing reads chat completions.
type chatHearing struct {
	a         *Answer
	streamed  bool
	said      strings.Builder
	calls     []ken.ToolCall
	arguments []*strings.Builder
}

func (h *chatHearing) whole(root value) {
	h.head(root)
	first := root.get("choices").first()
	h.a.Finish = first.get("finish_reason").text()
	if m := first.get("message"); m.isObject() {
		h.a.Message, _ = message(m)
	}
}

// head reads what every piece of an answer says beside its choices.
func (h *chatHearing) head(root value) {
	root.each(func(key string, v value) bool {
		switch key {
		case "id":
			h.a.ID = v.text()
		case "model":
			h.a.Model = v.text()
		case "usage":
			if v.isObject() {
				h.a.Usage = Usage{tokens(v.get("prompt_tokens")), tokens(v.get("completion_tokens")),
					tokens(v.get("prompt_tokens_details", "cached_tokens"))}
			}
		case "error":
			h.a.fail(v)
		}
		return true
	})
}

func (h *chatHearing) event(root value) {
	h.streamed = true
	h.head(root)
	first := root.get("choices").first()
	delta := first.get("delta")
	if first.get("index").number() != 0 || !first.isObject() {
		return
	}
	if s := first.get("finish_reason").text(); s != "" {
		h.a.Finish = s
	}
	if !delta.isObject() {
		return
	}
	h.said.WriteString(deltaText(delta.get("content")))
	delta.get("tool_calls").each(func(_ string, v value) bool {
		i := int(v.get("index").number())
		if i < 0 || i >= maxCalls {
			return true
		}
		for len(h.calls) <= i {
			h.calls = append(h.calls, ken.ToolCall{})
			h.arguments = append(h.arguments, new(strings.Builder))
		}
		c := toolCall(v)
		if c.ID != "" {
			h.calls[i].ID = c.ID
		}
		if c.Name != "" {
			h.calls[i].Name = c.Name
		}
		h.arguments[i].WriteString(c.Arguments)
		return true
	})
}

func (h *chatHearing) end() {
	if !h.streamed {
		return
	}
	for i := range h.calls {
		h.calls[i].Arguments = h.arguments[i].String()
	}
	h.a.Message = ken.Message{Text: h.said.String(), ToolCalls: h.calls}
}

// deltaText reads what a delta adds: a string, or parts as some gateways send.
func deltaText(content value) string {
	if content.isArray() {
		s, _ := parts(content)
		return s
	}
	return content.text()
}
