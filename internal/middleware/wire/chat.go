package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strings"

	"github.com/kenlayer/ken"
)

// chat reads the messages of a chat completions request, or of Ollama's.
func (r *Request) chat(messages value) (err error) {
	if !messages.isArray() {
		return refuse(r.Dialect, "messages", "not an array")
	}
	r.expected = messages.length()
	messages.each(func(_ string, v value) bool {
		if !v.isObject() {
			err = refuse(r.Dialect, element("messages", len(r.Messages)), "not an object")
			return false
		}
		m, content := message(v)
		if m.Role == "user" && scaffold(&m) {
			return true
		}
		r.add(m, before(v, content, textPart))
		return true
	})
	return err
}

// message reads a chat message, and returns its content as it stands, too. Ollama's has
// its images, and a tool's name, in fields of their own.
func message(v value) (ken.Message, value) {
	var m ken.Message
	var inside, calls, call, images value
	v.each(func(key string, v value) bool {
		switch key {
		case "role":
			m.Role = v.text()
		case "name", "tool_name":
			m.Name = v.text()
		case "images":
			images = v
		case "tool_call_id":
			m.ToolCallID = v.text()
		case "content":
			inside = v
		case "tool_calls":
			calls = v
		case "function_call":
			call = v
		}
		return true
	})
	m.Text, m.Parts = content(inside)
	if images.isArray() && inside.isString() {
		m.Parts = []ken.Part{{Type: "text", Text: m.Text}}
		images.each(func(_ string, v value) bool {
			m.Parts = append(m.Parts, ken.Part{Type: "image", Ref: digest(v)})
			return true
		})
	}
	if calls.isArray() {
		calls.each(func(_ string, v value) bool {
			m.ToolCalls = append(m.ToolCalls, toolCall(v))
			return true
		})
	}
	if call.isObject() { // the older form of a single tool call, without an id
		m.ToolCalls = append(m.ToolCalls, function(call))
	}
	return m, inside
}

func toolCall(v value) ken.ToolCall {
	var c ken.ToolCall
	var id string
	v.each(func(key string, v value) bool {
		switch key {
		case "id":
			id = v.text()
		case "function", "custom":
			c = function(v)
		}
		return true
	})
	c.ID = id
	return c
}

// function reads name and arguments; a custom tool has a plain input instead.
func function(v value) (c ken.ToolCall) {
	v.each(func(key string, v value) bool {
		switch key {
		case "name":
			c.Name = v.text()
		case "arguments", "input":
			if c.Arguments = v.raw(); v.isString() {
				c.Arguments = v.text()
			}
		}
		return true
	})
	return c
}

// content reads a message's content: a string, or an array of parts, whose texts
// it joins by newlines. Anything else is a part without a type.
func content(v value) (string, []ken.Part) {
	switch {
	case v.isString():
		return v.text(), nil
	case v.isArray():
		return parts(v)
	case v.exists() && !v.isNull():
		return "", []ken.Part{{Ref: digest(v)}}
	}
	return "", nil
}

func parts(array value) (string, []ken.Part) {
	var out []ken.Part
	array.each(func(_ string, v value) bool {
		if p := part(v); !reasoning(p.Type) {
			out = append(out, p)
		}
		return true
	})
	return joined(out), out
}

// joined is the text of parts.
func joined(parts []ken.Part) string {
	var texts []string
	for i := range parts {
		if parts[i].Ref == "" {
			texts = append(texts, parts[i].Text)
		}
	}
	return strings.Join(texts, "\n")
}

// part reads one part. One that is not plain text is identified by a digest, so
// that no image stays in memory for its fingerprint.
func part(v value) ken.Part {
	if v.isString() {
		return ken.Part{Type: "text", Text: v.text()}
	}
	var p ken.Part
	if !v.isObject() {
		return ken.Part{Ref: digest(v)}
	}
	v.each(func(key string, v value) bool {
		switch key {
		case "type":
			p.Type = v.text()
		case "text":
			p.Text = v.text()
		}
		return true
	})
	switch p.Type {
	case "text":
	case "input_text", "output_text": // Responses' names
		p.Type = "text"
	default:
		p.Text, p.Ref = "", digest(v)
	}
	return p
}

// reasoning reports the types of what a model thought and did not say.
func reasoning(kind string) bool {
	switch kind {
	case "thinking", "redacted_thinking", "reasoning", "reasoning_text", "summary_text":
		return true
	}
	return false
}

// digest identifies a value. Marks for the provider's cache are left out: clients
// move them from request to request, while what they mark stays the same.
func digest(v value) string {
	h := sha256.New()
	if !v.isObject() {
		_, _ = io.WriteString(h, v.raw())
		return "sha256:" + hex.EncodeToString(h.Sum(nil))
	}
	sep := "{"
	v.each(func(key string, v value) bool {
		if key != "cache_control" {
			for _, s := range []string{sep, `"`, key, `":`, v.raw()} {
				_, _ = io.WriteString(h, s)
			}
			sep = ","
		}
		return true
	})
	if sep == "{" {
		_, _ = io.WriteString(h, sep)
	}
	_, _ = io.WriteString(h, "}")
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}
