package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken"
)

func message(v gjson.Result) (ken.Message, place) {
	var m ken.Message
	var content, calls, call gjson.Result
	v.ForEach(func(key, v gjson.Result) bool {
		switch key.Str {
		case "role":
			m.Role = text(v)
		case "name":
			m.Name = text(v)
		case "tool_call_id":
			m.ToolCallID = text(v)
		case "content":
			content = v
		case "tool_calls":
			calls = v
		case "function_call":
			call = v
		}
		return true
	})
	if calls.IsArray() {
		calls.ForEach(func(_, v gjson.Result) bool {
			m.ToolCalls = append(m.ToolCalls, toolCall(v))
			return true
		})
	}
	if call.IsObject() { // the older form of a single tool call, without an id
		m.ToolCalls = append(m.ToolCalls, function(call))
	}
	p := place{start: v.Index, head: content.Index + 1}
	switch {
	case content.Type == gjson.String:
		m.Text, p.form = content.Str, formText
	case content.IsArray():
		m.Text, m.Parts = parts(content)
		p.form = formParts
		if len(m.Parts) == 0 {
			p.form = formNoParts
		}
	case content.Exists() && content.Type != gjson.Null:
		m.Parts = []ken.Part{{Ref: digest(content)}}
	}
	return m, p
}

// parts reads an array of content parts, and joins its texts by newlines.
func parts(content gjson.Result) (string, []ken.Part) {
	var out []ken.Part
	var texts []string
	content.ForEach(func(_, v gjson.Result) bool {
		p := part(v)
		if p.Ref == "" {
			texts = append(texts, p.Text)
		}
		out = append(out, p)
		return true
	})
	return strings.Join(texts, "\n"), out
}

// part reads one part. One that is not plain text is identified by a digest, so
// that no image stays in memory for its fingerprint.
func part(v gjson.Result) ken.Part {
	if v.Type == gjson.String {
		return ken.Part{Type: "text", Text: v.Str}
	}
	var p ken.Part
	v.ForEach(func(key, v gjson.Result) bool {
		switch key.Str {
		case "type":
			p.Type = text(v)
		case "text":
			p.Text = text(v)
		}
		return true
	})
	if p.Type != "text" {
		p.Text, p.Ref = "", digest(v)
	}
	return p
}

func digest(v gjson.Result) string {
	sum := sha256.Sum256([]byte(v.Raw))
	return "sha256:" + hex.EncodeToString(sum[:])
}

func toolCall(v gjson.Result) ken.ToolCall {
	var c ken.ToolCall
	var id string
	v.ForEach(func(key, v gjson.Result) bool {
		switch key.Str {
		case "id":
			id = text(v)
		case "function", "custom":
			c = function(v)
		}
		return true
	})
	c.ID = id
	return c
}

// function reads name and arguments; a custom tool has a plain input instead.
func function(v gjson.Result) (c ken.ToolCall) {
	v.ForEach(func(key, v gjson.Result) bool {
		switch key.Str {
		case "name":
			c.Name = text(v)
		case "arguments", "input":
			if c.Arguments = v.Raw; v.Type == gjson.String {
				c.Arguments = v.Str
			}
		}
		return true
	})
	return c
}
