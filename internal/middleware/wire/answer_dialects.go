package wire

import (
	"strings"
	"unicode/utf8"

	"github.com/kenlayer/ken"
)

// maxCalls is the maximum number of tool calls and of blocks of one answer. Their indexes come from
// outside.
const maxCalls = 256

// chatReader reads answers of chat completions.
type chatReader struct {
	a         *Answer
	streamed  bool
	text      strings.Builder
	calls     []ken.ToolCall
	arguments []*strings.Builder
}

func (h *chatReader) whole(root value) {
	h.header(root)
	first := root.get("choices").first()
	h.a.Finish = first.get("finish_reason").text()
	if m := first.get("message"); m.isObject() {
		h.a.Message, _ = message(m)
		h.thoughtIn(m)
	}
}

// thoughtIn counts the reasoning in a message or in a part of one. Some providers send the same
// text in two fields, so only one of them counts.
func (h *chatReader) thoughtIn(m value) {
	for _, field := range []string{"reasoning_content", "reasoning"} {
		if v := m.get(field); v.text() != "" {
			h.a.thought(v)
			return
		}
	}
}

// header reads the fields that every part of an answer has in addition to choices.
func (h *chatReader) header(root value) {
	root.each(func(key string, v value) bool {
		switch key {
		case "id":
			h.a.ID = v.text()
		case "model":
			h.a.Model = v.text()
		case "usage":
			if v.isObject() {
				h.a.Usage = Usage{tokenCount(v.get("prompt_tokens")), tokenCount(v.get("completion_tokens")),
					tokenCount(v.get("prompt_tokens_details", "cached_tokens")), tokenCount(v.get("completion_tokens_details", "reasoning_tokens"))}
			}
		case "error":
			h.a.fail(v)
		}
		return true
	})
}

func (h *chatReader) event(root value) {
	h.streamed = true
	h.header(root)
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
	h.thoughtIn(delta)
	h.text.WriteString(deltaText(delta.get("content")))
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

func (h *chatReader) finish() {
	if !h.streamed {
		return
	}
	for i := range h.calls {
		h.calls[i].Arguments = h.arguments[i].String()
	}
	h.a.Message = ken.Message{Text: h.text.String(), ToolCalls: h.calls}
}

// deltaText returns the text of a delta, which is a string or, from some gateways, a list of parts.
func deltaText(content value) string {
	if content.isArray() {
		s, _ := parts(content)
		return s
	}
	return content.text()
}

// ollamaReader reads Ollama's answers: one object, or a stream with one object per line. An object
// of a stream has the same fields as a complete answer, and tool calls are never split.
type ollamaReader struct {
	a     *Answer
	text  strings.Builder
	calls []ken.ToolCall
}

func (h *ollamaReader) whole(root value) { h.event(root) }

func (h *ollamaReader) event(root value) {
	root.each(func(key string, v value) bool {
		switch key {
		case "model":
			h.a.Model = v.text()
		case "message":
			if v.isObject() {
				m, _ := message(v)
				h.a.thought(v.get("thinking"))
				h.text.WriteString(m.Text)
				h.calls = append(h.calls, m.ToolCalls[:min(len(m.ToolCalls), maxCalls-len(h.calls))]...)
			}
		case "done_reason":
			h.a.Finish = v.text()
		case "prompt_eval_count":
			h.a.Usage.Input = tokenCount(v)
		case "eval_count":
			h.a.Usage.Output = tokenCount(v)
		case "error":
			h.a.fail(v)
		}
		return true
	})
}

func (h *ollamaReader) finish() {
	h.a.Message = ken.Message{Text: h.text.String(), ToolCalls: h.calls}
}

// messagesReader reads Anthropic's answers.
type messagesReader struct {
	a      *Answer
	blocks []*streamedBlock
}

// streamedBlock is a block that arrives in several events.
type streamedBlock struct {
	block
	text, input strings.Builder
}

func (h *messagesReader) whole(root value) {
	if root.get("type").text() == "error" {
		h.a.fail(root.get("error"))
		return
	}
	h.message(root)
}

// message reads a complete message, or the start of one in a stream.
func (h *messagesReader) message(v value) {
	v.each(func(key string, v value) bool {
		switch key {
		case "id":
			h.a.ID = v.text()
		case "model":
			h.a.Model = v.text()
		case "stop_reason":
			h.a.Finish = v.text()
		case "usage":
			h.usage(v)
		case "content":
			h.content(v)
		}
		return true
	})
}

func (h *messagesReader) content(array value) {
	if !array.isArray() {
		return
	}
	h.a.Message = ken.Message{}
	array.each(func(_ string, v value) bool {
		b := readBlock(v)
		h.a.thought(v.get("thinking"))
		b.addTo(&h.a.Message)
		return true
	})
}

// usage adds the tokens of the cache to the prompt, because Anthropic counts them separately. A
// stream's counts come in two events, and the later one may omit earlier counts.
func (h *messagesReader) usage(v value) {
	if v.get("input_tokens").exists() {
		h.a.Usage.Cached = tokenCount(v.get("cache_read_input_tokens"))
		h.a.Usage.Input = tokenCount(v.get("input_tokens")) + tokenCount(v.get("cache_creation_input_tokens")) + h.a.Usage.Cached
	}
	if n := v.get("output_tokens"); n.exists() {
		h.a.Usage.Output = tokenCount(n)
	}
}

func (h *messagesReader) event(root value) {
	switch root.get("type").text() {
	case "message_start":
		h.message(root.get("message"))
	case "content_block_start":
		if b := h.block(root.get("index")); b != nil {
			b.block = readBlock(root.get("content_block"))
			b.text.WriteString(b.block.text)
		}
	case "content_block_delta":
		b := h.block(root.get("index"))
		if b == nil {
			return
		}
		delta := root.get("delta")
		switch delta.get("type").text() { // thinking and its signature are not part of the answer's text
		case "text_delta":
			b.kind = "text"
			b.text.WriteString(delta.get("text").text())
		case "thinking_delta":
			h.a.thought(delta.get("thinking"))
		case "input_json_delta":
			b.input.WriteString(delta.get("partial_json").text())
		}
	case "message_delta":
		if s := root.get("delta", "stop_reason").text(); s != "" {
			h.a.Finish = s
		}
		h.usage(root.get("usage"))
	case "error":
		h.a.fail(root.get("error"))
	}
}

func (h *messagesReader) block(index value) *streamedBlock { return slotAt(&h.blocks, index) }

// slotAt returns the element with an index; nil for an index out of range. It adds elements up to
// it.
func slotAt[T any](list *[]*T, index value) *T {
	i := int(index.number())
	if i < 0 || i >= maxCalls {
		return nil
	}
	for len(*list) <= i {
		*list = append(*list, new(T))
	}
	return (*list)[i]
}

func (h *messagesReader) finish() {
	for _, b := range h.blocks {
		b.block.text = b.text.String()
		b.addTo(&h.a.Message)
		if n := len(h.a.Message.ToolCalls); b.isCall() && b.input.Len() > 0 {
			h.a.Message.ToolCalls[n-1].Arguments = b.input.String()
		}
	}
}

// responsesReader reads OpenAI's responses.
type responsesReader struct {
	a      *Answer
	items  []*streamedItem
	output value // the output of a complete response

	streamed int // number of reasoning characters that were streamed
}

// streamedItem is an item of the output that arrives in several events.
type streamedItem struct {
	v         value // the item as announced or, when it is done, the complete item
	done      bool
	texts     []*strings.Builder // by part
	arguments strings.Builder
}

func (h *responsesReader) whole(root value) { h.response(root) }

func (h *responsesReader) response(v value) {
	status, reason := "", ""
	v.each(func(key string, v value) bool {
		switch key {
		case "id":
			h.a.ID = v.text()
		case "model":
			h.a.Model = v.text()
		case "status":
			status = v.text()
		case "incomplete_details":
			reason = v.get("reason").text()
		case "usage":
			if v.isObject() {
				h.a.Usage = Usage{tokenCount(v.get("input_tokens")), tokenCount(v.get("output_tokens")),
					tokenCount(v.get("input_tokens_details", "cached_tokens")), tokenCount(v.get("output_tokens_details", "reasoning_tokens"))}
			}
		case "error":
			h.a.fail(v)
		case "output":
			if v.isArray() && v.length() > 0 {
				h.output = v
			}
		}
		return true
	})
	if h.a.Finish = status; reason != "" {
		h.a.Finish = reason
	}
}

func (h *responsesReader) event(root value) {
	kind := root.get("type").text()
	switch kind {
	case "response.created", "response.queued", "response.in_progress",
		"response.completed", "response.incomplete", "response.failed":
		h.response(root.get("response"))
		return
	case "error":
		if v := root.get("error"); v.isObject() {
			h.a.fail(v)
		} else {
			h.a.fail(root)
		}
		return
	}
	it := h.item(root.get("output_index"))
	if it == nil || it.done {
		return
	}
	switch kind {
	case "response.output_item.added":
		it.v = root.get("item")
	case "response.output_item.done":
		it.v, it.done = root.get("item"), true
	case "response.output_text.delta":
		if text := slotAt(&it.texts, root.get("content_index")); text != nil {
			text.WriteString(root.get("delta").text())
		}
	case "response.reasoning_text.delta", "response.reasoning_summary_text.delta":
		h.streamed += utf8.RuneCountInString(root.get("delta").text())
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta", "response.mcp_call_arguments.delta":
		it.arguments.WriteString(root.get("delta").text())
	}
}

func (h *responsesReader) item(index value) *streamedItem {
	if !index.exists() {
		return nil
	}
	return slotAt(&h.items, index)
}

func (h *responsesReader) finish() {
	var r Request // answers and requests have the same items
	if h.output.exists() {
		h.output.each(func(_ string, v value) bool {
			it := readItem(v)
			for _, field := range []string{"summary", "content"} {
				if it.kind != "reasoning" {
					break
				}
				v.get(field).each(func(_ string, part value) bool { h.a.thought(part.get("text")); return true })
			}
			r.item(v, &it)
			return true
		})
	} else {
		for _, s := range h.items {
			s.addTo(&r)
		}
	}
	h.a.Thought = max(h.a.Thought, h.streamed)
	// The output of a hosted shell separates a model's items.
	for _, m := range r.Messages {
		if m.Role == "assistant" {
			h.a.Message.Text = joinLines(h.a.Message.Text, m.Text)
			h.a.Message.ToolCalls = append(h.a.Message.ToolCalls, m.ToolCalls...)
		}
	}
}

// addTo adds the item to r. If the stream broke off, it adds the part that arrived.
func (s *streamedItem) addTo(r *Request) {
	var it item
	if s.v.isObject() {
		it = readItem(s.v)
	}
	if s.done {
		r.item(s.v, &it)
		return
	}
	for _, t := range s.texts {
		if t.Len() > 0 {
			a := r.assistant()
			a.Text = joinLines(a.Text, t.String())
		}
	}
	if strings.HasSuffix(it.kind, "_call") {
		c := it.call()
		if s.arguments.Len() > 0 {
			c.Arguments = s.arguments.String()
		}
		r.assistant().ToolCalls = append(r.assistant().ToolCalls, c)
	}
}
