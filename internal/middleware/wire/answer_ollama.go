package wire

import (
	"strings"

	"github.com/kenlayer/ken"
)

// ollamaHearing reads Ollama's answers: one object, or a stream with an object on each
// line. A piece of a stream has the fields of a whole answer, and tool calls come whole.
type ollamaHearing struct {
	a     *Answer
	said  strings.Builder
	calls []ken.ToolCall
}

func (h *ollamaHearing) whole(root value) { h.event(root) }

func (h *ollamaHearing) event(root value) {
	root.each(func(key string, v value) bool {
		switch key {
		case "model":
			h.a.Model = v.text()
		case "message":
			if v.isObject() {
				m, _ := message(v)
				h.said.WriteString(m.Text)
				h.calls = append(h.calls, m.ToolCalls[:min(len(m.ToolCalls), maxCalls-len(h.calls))]...)
			}
		case "done_reason":
			h.a.Finish = v.text()
		case "prompt_eval_count":
			h.a.Usage.Input = tokens(v)
		case "eval_count":
			h.a.Usage.Output = tokens(v)
		case "error":
			h.a.fail(v)
		}
		return true
	})
}

func (h *ollamaHearing) end() {
	h.a.Message = ken.Message{Text: h.said.String(), ToolCalls: h.calls}
}
