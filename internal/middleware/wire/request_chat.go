package wire

import "github.com/kenlayer/ken"

// chat reads the messages of a chat completions request, or of Ollama's.
func (r *Request) chat(messages value) (err error) {
	if !messages.isArray() {
		return invalidRequest(r.Dialect, "messages", "not an array")
	}
	r.expected = messages.length()
	element := -1
	messages.each(func(_ string, v value) bool {
		element++
		if !v.isObject() {
			err = invalidRequest(r.Dialect, elementName("messages", len(r.Messages)), "not an object")
			return false
		}
		m, content := message(v)
		if m.Role == "user" && dropAgentText(&m) {
			return true
		}
		p := messagePlace(v, content, textPart)
		p.element = element
		r.add(m, p)
		return true
	})
	return err
}

// message reads a chat message, and also returns its content value. Ollama has images, and a tool's
// name, in separate fields.
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

// function reads name and arguments. A custom tool has an input instead of arguments.
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
