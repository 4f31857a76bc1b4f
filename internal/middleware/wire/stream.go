package wire

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// MayHoldCall reports whether a part of an answer may contain a tool call. Most parts contain none
// and need not be parsed.
func MayHoldCall(part []byte) bool {
	return slices.ContainsFunc([]string{`tool_calls`, `function_call`, `tool_use`, `_call"`, `\u`}, func(s string) bool { return bytes.Contains(part, []byte(s)) })
}

// OpenCalls tracks which tool calls of a stream have begun and are incomplete. Set Dialect;
// otherwise the zero value is ready.
type OpenCalls struct {
	Dialect Dialect
	begun   map[string]bool
}

// Any reports whether a call is incomplete.
func (o *OpenCalls) Any() bool { return len(o.begun) > 0 }

func (o *OpenCalls) begin(key string) {
	if o.begun == nil {
		o.begun = map[string]bool{}
	}
	o.begun[key] = true
}

// Read processes the next event and reports whether it has a part of a call. Servers sometimes omit
// the empty line between events, so raw may contain several.
func (o *OpenCalls) Read(raw []byte) (touched bool) {
	for line := range bytes.Lines(raw) {
		line = bytes.TrimSpace(line)
		if o.Dialect == Ollama { // each call is complete on its line
			touched = touched || gjson.GetBytes(line, "message.tool_calls.#").Int() > 0
			continue
		}
		data, ok := bytes.CutPrefix(line, []byte("data:"))
		if !ok {
			continue
		}
		data = bytes.TrimSpace(data)
		if string(data) == "[DONE]" {
			touched = touched || o.Any()
			clear(o.begun)
			continue
		}
		root := gjson.ParseBytes(data)
		if !root.IsObject() {
			continue
		}
		switch o.Dialect {
		case Responses:
			touched = o.response(root) || touched
		case Messages:
			touched = o.message(root) || touched
		default:
			touched = o.chat(root) || touched
		}
	}
	return touched
}

// chat processes a chunk. The calls of a choice are complete when its finish reason arrives.
func (o *OpenCalls) chat(root gjson.Result) (touched bool) {
	root.Get("choices").ForEach(func(_, choice gjson.Result) bool {
		key := choice.Get("index").Raw
		for _, path := range []string{"delta.tool_calls", "delta.function_call", "message.tool_calls"} {
			if v := choice.Get(path); v.IsObject() || v.IsArray() && v.Get("#").Int() > 0 {
				o.begin(key)
				touched = true
			}
		}
		if choice.Get("finish_reason").Type == gjson.String {
			touched = touched || o.begun[key]
			delete(o.begun, key)
		}
		return true
	})
	return touched
}

// response processes an event of a response. A call is complete when its item is done. The last
// event repeats all calls.
func (o *OpenCalls) response(root gjson.Result) bool {
	key := root.Get("output_index").Raw
	switch root.Get("type").Str {
	case "response.output_item.added":
		if strings.HasSuffix(root.Get("item.type").Str, "_call") {
			o.begin(key)
			return true
		}
	case "response.output_item.done":
		delete(o.begun, key)
		return strings.HasSuffix(root.Get("item.type").Str, "_call")
	case "response.completed", "response.incomplete", "response.failed":
		clear(o.begun)
		called := false
		root.Get("response.output").ForEach(func(_, item gjson.Result) bool {
			called = called || strings.HasSuffix(item.Get("type").Str, "_call")
			return true
		})
		return called
	}
	return o.begun[key]
}

// message processes an event of Anthropic's API. A call is complete when its block stops.
func (o *OpenCalls) message(root gjson.Result) bool {
	key := strconv.Itoa(int(root.Get("index").Int()))
	switch root.Get("type").Str {
	case "content_block_start":
		if kind := root.Get("content_block.type").Str; kind == "tool_use" || strings.HasSuffix(kind, "_tool_use") {
			o.begin(key)
			return true
		}
	case "content_block_stop":
		is := o.begun[key]
		delete(o.begun, key)
		return is
	case "message_stop":
		is := o.Any()
		clear(o.begun)
		return is
	case "content_block_delta":
		return o.begun[key]
	}
	return false
}

// MaxEventEnd is the maximum length of the end of an event: two line ends of two bytes.
const MaxEventEnd = 4

// EventEnd returns the end of the first event of b, after its empty line; 0 if the event is
// incomplete. Ollama's events are lines.
func EventEnd(d Dialect, b []byte) int {
	if d == Ollama {
		return bytes.IndexByte(b, '\n') + 1
	}
	for i := 0; i < len(b); {
		n := bytes.IndexAny(b[i:], "\r\n")
		if n < 0 {
			return 0
		}
		i += n
		first := lineEnd(b[i:])
		if i+first == len(b) && b[i] == '\r' { // a \n may follow
			return 0
		}
		i += first
		if i < len(b) && (b[i] == '\r' || b[i] == '\n') {
			second := lineEnd(b[i:])
			if b[i] == '\r' && i+1 == len(b) && first == 2 { // half of the second \r\n
				return 0
			}
			return i + second
		}
	}
	return 0
}

// lineEnd returns the length of the line end at the beginning of b.
func lineEnd(b []byte) int {
	if b[0] == '\r' && len(b) > 1 && b[1] == '\n' {
		return 2
	}
	return 1
}
