package wire

import (
	"cmp"
	"strings"

	"github.com/kenlayer/ken"
)

// system reads the system prompt of a Messages request: a string, or blocks. It omits the block
// with which Claude Code identifies its requests, because that differs each time, and the provider
// does not treat it as a prompt either.
func system(v value) string {
	s, parts := content(v)
	if len(parts) == 0 {
		return s
	}
	s = ""
	for _, p := range parts {
		if p.Ref == "" && !strings.HasPrefix(p.Text, "x-anthropic-billing-header:") {
			s = joinLines(s, p.Text)
		}
	}
	return s
}

func (r *Request) turns(messages value) (err error) {
	if !messages.isArray() {
		return invalidRequest(Messages, "messages", "not an array")
	}
	n := 0
	r.expected = messages.length()
	messages.each(func(_ string, v value) bool {
		if !v.isObject() {
			err = invalidRequest(Messages, elementName("messages", n), "not an object")
			return false
		}
		var role string
		var content value
		v.each(func(key string, v value) bool {
			switch key {
			case "role":
				role = v.text()
			case "content":
				content = v
			}
			return true
		})
		if role == "user" {
			r.userTurn(v, content)
		} else {
			r.modelTurn(role, content)
		}
		n++
		return true
	})
	return err
}

// userTurn adds a message of role user: one message for each tool result, and one for the user's
// text, if there is any.
func (r *Request) userTurn(v, inside value) {
	m := ken.Message{Role: "user"}
	at := messagePlace(v, inside, textPart)
	if !inside.isArray() {
		if m.Text, m.Parts = content(inside); !dropAgentText(&m) {
			r.add(m, at)
		}
		return
	}
	blocks, results := 0, 0
	resume, end := 0, 0 // the offset of the first block after the last result, and the end of the last block
	inside.each(func(_ string, v value) bool {
		blocks++
		end = v.pos + len(v.raw())
		if v.get("type").text() == "tool_result" {
			results++
			resume = 0
			r.add(result(v), place{})
			return true
		}
		resume = cmp.Or(resume, v.pos)
		if p := part(v); !IsReasoning(p.Type) {
			m.Parts = append(m.Parts, p)
		}
		return true
	})
	m.Text = joinTexts(m.Parts)
	switch {
	case blocks > 0 && len(m.Parts) == 0, dropAgentText(&m):
		return
	case results > 0:
		at = afterResults(resume, end)
	}
	r.add(m, at)
}

// afterResults returns the place after a message's tool results. The API requires results first, directly
// after their calls.
func afterResults(resume, end int) place {
	if resume == 0 { // the user's text comes before the results
		return place{separate: spot{at: end, before: "," + textPart, after: `"}`},
			merged: spot{at: end, before: "," + textPart, after: `\n\n"}`}}
	}
	return place{separate: spot{at: resume, before: textPart, after: `"},`},
		merged: spot{at: resume, before: textPart, after: `\n\n"},`}}
}

// result reads a tool_result block.
func result(v value) ken.Message {
	m := ken.Message{Role: "tool"}
	v.each(func(key string, v value) bool {
		switch key {
		case "tool_use_id":
			m.ToolCallID = v.text()
		case "content":
			m.Text, m.Parts = content(v)
		}
		return true
	})
	return m
}

// modelTurn adds a message of any other role. Results of hosted tools are left to the provider.
func (r *Request) modelTurn(role string, inside value) {
	m := ken.Message{Role: role}
	if !inside.isArray() {
		m.Text, m.Parts = content(inside)
		r.add(m, place{})
		return
	}
	inside.each(func(_ string, v value) bool {
		b := readBlock(v)
		b.addTo(&m)
		return true
	})
	r.add(m, place{})
}

// block is one block of a model's message.
type block struct {
	kind, id, name, text string
	input                value
}

func readBlock(v value) (b block) {
	if v.isString() {
		return block{kind: "text", text: v.text()}
	}
	if !v.isObject() {
		return b
	}
	v.each(func(key string, v value) bool {
		switch key {
		case "type":
			b.kind = v.text()
		case "id":
			b.id = v.text()
		case "name":
			b.name = v.text()
		case "text":
			b.text = v.text()
		case "input":
			b.input = v
		}
		return true
	})
	return b
}

func (b *block) addTo(m *ken.Message) {
	switch {
	case b.kind == "text":
		m.Text = joinLines(m.Text, b.text)
	case b.isCall():
		m.ToolCalls = append(m.ToolCalls, ken.ToolCall{ID: b.id, Name: b.name, Arguments: b.input.raw()})
	}
}

// isCall reports whether the block is a tool call: of a tool of the client, of the server or of an
// MCP server.
func (b *block) isCall() bool { return b.kind == "tool_use" || strings.HasSuffix(b.kind, "_tool_use") }
