package wire

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken"
)

// Answer is what the layer reads of a response. Its strings share one copy of the
// body, and the message's role is "assistant".
type Answer struct {
	ID, Model string
	// Message is the first choice: what the model said and called. Of a stream that
	// broke off, it is what came.
	Message ken.Message
	// Finish is why the model stopped, in the dialect's own word: a finish_reason, a
	// stop_reason, or a response's status and, of an incomplete one, its reason. ""
	// when the answer does not say.
	Finish string
	Usage  Usage
	// Err is the error that came in place of an answer, or in its middle: at most
	// 500 bytes of its message. "" for none.
	Err string
}

// Usage counts an answer's tokens as the provider does; all 0 when it does not say.
type Usage struct {
	Input  int // the whole prompt, what came from the cache included
	Output int // reasoning included
	Cached int // of Input, what the provider's cache served
}

// ParseAnswer reads the body of a response, a JSON object or a stream of events or
// lines, whole or broken off. ok is false when there is nothing that a model said or
// called; the answer's other fields may be filled all the same. It never fails:
// what it can't read is the client's to judge.
func ParseAnswer(d Dialect, body []byte) (a Answer, ok bool) {
	body = bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")))
	stream := !bytes.HasPrefix(body, []byte("{"))
	var h hearing
	switch d {
	case Responses:
		h = &responseHearing{a: &a}
	case Messages:
		h = &messageHearing{a: &a}
	case Ollama:
		h = &ollamaHearing{a: &a}
	default:
		h = &chatHearing{a: &a}
	}
	switch {
	case stream:
		for data := range events(body) {
			h.event(document(string(data)))
		}
	case valid(body):
		h.whole(document(string(body)))
	case d == Ollama:
		for line := range bytes.Lines(body) {
			if valid(line) {
				h.event(document(string(line)))
			}
		}
	}
	h.end()
	a.Message.Role = "assistant"
	return a, strings.TrimSpace(a.Message.Text) != "" || len(a.Message.ToolCalls) > 0
}

// hearing puts an answer of one dialect together.
type hearing interface {
	whole(value) // an answer that came in one piece
	event(value) // the data of one event
	end()
}

// fail notes an error: an object with a message, or the message.
func (a *Answer) fail(v value) {
	s := v.text()
	if v.isObject() {
		s = v.get("message").text()
		if s == "" {
			s = v.raw()
		}
	}
	if s == "" || a.Err != "" {
		return
	}
	const most = 500
	if len(s) > most {
		n := most
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n]
	}
	a.Err = strings.Clone(s)
}

// tokens reads a count. What is no sensible number counts as 0.
func tokens(v value) int {
	n := v.number()
	if !(n >= 0 && n <= 1<<40) {
		return 0
	}
	return int(n)
}

// AnswerID reads the id of a response from the beginning of its body, "" when it is
// not there. It looks at the first object or event alone.
func AnswerID(body []byte) string {
	body = bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")))
	if bytes.HasPrefix(body, []byte("{")) {
		return strings.Clone(gjson.GetBytes(body, "id").Str)
	}
	for line := range bytes.Lines(body) {
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			for _, path := range []string{"response.id", "message.id", "id"} {
				if id := gjson.GetBytes(data, path).Str; id != "" {
					return strings.Clone(id)
				}
			}
			return ""
		}
	}
	return ""
}

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

// messageHearing reads Anthropic's messages.
type messageHearing struct {
	a      *Answer
	blocks []*streamedBlock
}

// streamedBlock is a block that comes in pieces.
type streamedBlock struct {
	block
	text, input strings.Builder
}

func (h *messageHearing) whole(root value) {
	if root.get("type").text() == "error" {
		h.a.fail(root.get("error"))
		return
	}
	h.message(root)
}

// message reads a message: the whole of it, or of a stream, what it starts with.
func (h *messageHearing) message(v value) {
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

func (h *messageHearing) content(array value) {
	if !array.isArray() {
		return
	}
	h.a.Message = ken.Message{}
	array.each(func(_ string, v value) bool {
		b := readBlock(v)
		b.into(&h.a.Message)
		return true
	})
}

// usage counts what the cache served and took up as part of the prompt, which
// Anthropic counts beside it. A stream's counts come in two parts, and the later
// ones may leave out what has been said.
func (h *messageHearing) usage(v value) {
	if v.get("input_tokens").exists() {
		h.a.Usage.Cached = tokens(v.get("cache_read_input_tokens"))
		h.a.Usage.Input = tokens(v.get("input_tokens")) + tokens(v.get("cache_creation_input_tokens")) + h.a.Usage.Cached
	}
	if n := v.get("output_tokens"); n.exists() {
		h.a.Usage.Output = tokens(n)
	}
}

func (h *messageHearing) event(root value) {
	switch root.get("type").text() {
	case "message_start":
		h.message(root.get("message"))
	case "content_block_start":
		if b := h.at(root.get("index")); b != nil {
			b.block = readBlock(root.get("content_block"))
			b.text.WriteString(b.block.text)
		}
	case "content_block_delta":
		b := h.at(root.get("index"))
		if b == nil {
			return
		}
		delta := root.get("delta")
		switch delta.get("type").text() { // thinking and its signature are not said
		case "text_delta":
			b.kind = "text"
			b.text.WriteString(delta.get("text").text())
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

func (h *messageHearing) at(index value) *streamedBlock {
	i := int(index.number())
	if i < 0 || i >= maxCalls {
		return nil
	}
	for len(h.blocks) <= i {
		h.blocks = append(h.blocks, new(streamedBlock))
	}
	return h.blocks[i]
}

func (h *messageHearing) end() {
	for _, b := range h.blocks {
		b.block.text = b.text.String()
		b.into(&h.a.Message)
		if n := len(h.a.Message.ToolCalls); b.calls() && b.input.Len() > 0 {
			h.a.Message.ToolCalls[n-1].Arguments = b.input.String()
		}
	}
}

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

// responseHearing reads OpenAI's responses.
type responseHearing struct {
	a      *Answer
	items  []*streamedItem
	output value // of a response that is whole
}

// streamedItem is an item of the output that comes in pieces.
type streamedItem struct {
	v         value // as it was announced, or as it is once it is done
	done      bool
	texts     []*strings.Builder // by part
	arguments strings.Builder
}

func (h *responseHearing) whole(root value) { h.response(root) }

func (h *responseHearing) response(v value) {
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
				h.a.Usage = Usage{tokens(v.get("input_tokens")), tokens(v.get("output_tokens")),
					tokens(v.get("input_tokens_details", "cached_tokens"))}
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

func (h *responseHearing) event(root value) {
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
	it := h.at(root.get("output_index"))
	if it == nil || it.done {
		return
	}
	switch kind {
	case "response.output_item.added":
		it.v = root.get("item")
	case "response.output_item.done":
		it.v, it.done = root.get("item"), true
	case "response.output_text.delta":
		i := int(root.get("content_index").number())
		if i < 0 || i >= maxCalls {
			return
		}
		for len(it.texts) <= i {
			it.texts = append(it.texts, new(strings.Builder))
		}
		it.texts[i].WriteString(root.get("delta").text())
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta", "response.mcp_call_arguments.delta":
		it.arguments.WriteString(root.get("delta").text())
	}
}

func (h *responseHearing) at(index value) *streamedItem {
	i := int(index.number())
	if !index.exists() || i < 0 || i >= maxCalls {
		return nil
	}
	for len(h.items) <= i {
		h.items = append(h.items, new(streamedItem))
	}
	return h.items[i]
}

func (h *responseHearing) end() {
	var r Request // answers and requests have the same items
	if h.output.exists() {
		h.output.each(func(_ string, v value) bool {
			it := readItem(v)
			r.item(v, &it)
			return true
		})
	} else {
		for _, s := range h.items {
			s.into(&r)
		}
	}
	// What a hosted shell printed stands between a model's items.
	for _, m := range r.Messages {
		if m.Role == "assistant" {
			h.a.Message.Text = lines(h.a.Message.Text, m.Text)
			h.a.Message.ToolCalls = append(h.a.Message.ToolCalls, m.ToolCalls...)
		}
	}
}

// into takes up an item, of one that broke off what came of it.
func (s *streamedItem) into(r *Request) {
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
			a.Text = lines(a.Text, t.String())
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
