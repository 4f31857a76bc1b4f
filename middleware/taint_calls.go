package middleware

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken/internal/middleware/wire"
)

// openCalls follows a stream to know which tool calls in it are begun and not
// complete. The zero value with its dialect is ready.
type openCalls struct {
	dialect wire.Dialect
	begun   map[string]bool
}

// open reports whether a call is not complete.
func (o *openCalls) open() bool { return len(o.begun) > 0 }

func (o *openCalls) begin(key string) {
	if o.begun == nil {
		o.begun = map[string]bool{}
	}
	o.begun[key] = true
}

// event takes up the next event and reports whether something of a call is in it.
// Servers leave out the empty line between events at times, so it may be several.
func (o *openCalls) event(raw []byte) (touched bool) {
	for line := range bytes.Lines(raw) {
		line = bytes.TrimSpace(line)
		if o.dialect == wire.Ollama { // a call is complete in its line
			touched = touched || gjson.GetBytes(line, "message.tool_calls.#").Int() > 0
			continue
		}
		data, ok := bytes.CutPrefix(line, []byte("data:"))
		if !ok {
			continue
		}
		data = bytes.TrimSpace(data)
		if string(data) == "[DONE]" {
			touched = touched || o.open()
			clear(o.begun)
			continue
		}
		root := gjson.ParseBytes(data)
		if !root.IsObject() {
			continue
		}
		switch o.dialect {
		case wire.Responses:
			touched = o.response(root) || touched
		case wire.Messages:
			touched = o.message(root) || touched
		default:
			touched = o.chat(root) || touched
		}
	}
	return touched
}

// chat reads a chunk. The calls of a choice are complete when it says why it ended.
func (o *openCalls) chat(root gjson.Result) (touched bool) {
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

// response reads an event of a response. A call is complete when its item is done;
// the response's last event repeats them all.
func (o *openCalls) response(root gjson.Result) bool {
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

// message reads an event of Anthropic's. A call is complete when its block stops.
func (o *openCalls) message(root gjson.Result) bool {
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
		is := o.open()
		clear(o.begun)
		return is
	case "content_block_delta":
		return o.begun[key]
	}
	return false
}
