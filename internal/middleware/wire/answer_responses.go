package wire

import (
	"strings"
)

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
