package wire

import (
	"cmp"
	"strings"

	"github.com/kenlayer/ken"
)

// input reads the conversation of a Responses request: a string, or items.
func (r *Request) input(v value) (err error) {
	switch {
	case v.isString():
		r.add(ken.Message{Role: "user", Text: v.text()}, stringPlace(v))
	case v.isArray():
		n := 0
		v.each(func(_ string, v value) bool {
			if !v.isObject() {
				err = invalidRequest(Responses, elementName("input", n), "not an object")
				return false
			}
			it := readItem(v)
			r.item(v, &it)
			n++
			return true
		})
	default:
		err = invalidRequest(Responses, "input", "neither a string nor an array")
	}
	return err
}

// item is one element of an input or an output.
type item struct {
	kind, role, id, callID, name string

	content   value // of a message
	arguments value // of a call; the field's name differs by type
	output    value // of a call's result
}

func readItem(v value) (it item) {
	var action value
	v.each(func(key string, v value) bool {
		switch key {
		case "type":
			it.kind = v.text()
		case "role":
			it.role = v.text()
		case "id":
			it.id = v.text()
		case "call_id":
			it.callID = v.text()
		case "name":
			it.name = v.text()
		case "content":
			it.content = v
		case "arguments", "input":
			it.arguments = v
		case "action", "operation", "queries", "code":
			action = v
		case "output":
			it.output = v
		}
		return true
	})
	if !it.arguments.exists() {
		it.arguments = action
	}
	return it
}

// item adds one item. Reasoning, references and a server's internal items are not messages, and do
// not separate the items around them.
func (r *Request) item(v value, it *item) {
	switch {
	case it.kind == "message", it.kind == "" && it.role != "":
		r.messageItem(v, it)
	case strings.HasSuffix(it.kind, "_call_output"):
		m := ken.Message{Role: "tool", ToolCallID: it.callID}
		m.Text, m.Parts = output(it.output)
		r.add(m, place{})
	case strings.HasSuffix(it.kind, "_call"):
		a := r.assistant()
		a.ToolCalls = append(a.ToolCalls, it.call())
	}
}

func (r *Request) messageItem(v value, it *item) {
	s, parts := content(it.content)
	switch it.role {
	case "assistant":
		a := r.assistant()
		a.Text = joinLines(a.Text, s)
	case "user":
		m := ken.Message{Role: "user", Text: s, Parts: parts}
		if dropAgentText(&m) {
			return
		}
		r.add(m, messagePlace(v, it.content, inputPart))
	default:
		r.add(ken.Message{Role: it.role, Text: s, Parts: parts}, place{})
	}
}

// assistant returns the message for a model's items. Adjacent items share one message, as in chat
// completions.
func (r *Request) assistant() *ken.Message {
	if n := len(r.Messages); n == 0 || r.Messages[n-1].Role != "assistant" {
		r.add(ken.Message{Role: "assistant"}, place{})
	}
	return &r.Messages[len(r.Messages)-1]
}

// call returns the call of a function or a custom tool, or of a hosted tool, which has an id of its
// own and is named by its type.
func (it *item) call() ken.ToolCall {
	c := ken.ToolCall{ID: it.callID, Name: it.name, Arguments: it.arguments.raw()}
	c.ID = cmp.Or(c.ID, it.id)
	c.Name = cmp.Or(c.Name, strings.TrimSuffix(it.kind, "_call"))
	if it.arguments.isString() {
		c.Arguments = it.arguments.text()
	}
	return c
}

// output reads the result of a call: a string, parts, or the output of a shell.
func output(v value) (string, []ken.Part) {
	switch {
	case v.isObject(): // a screenshot
		out := []ken.Part{part(v)}
		return joinTexts(out), out
	case !v.isArray():
		return content(v)
	}
	var out []ken.Part
	v.each(func(_ string, v value) bool {
		p := part(v)
		if p.Type == "" && v.isObject() {
			if s := joinLines(v.get("stdout").text(), v.get("stderr").text()); s != "" {
				p = ken.Part{Type: "text", Text: s}
			}
		}
		out = append(out, p)
		return true
	})
	return joinTexts(out), out
}

// joinLines joins two texts with a newline, unless one is empty.
func joinLines(a, b string) string {
	switch {
	case a == "":
		return b
	case b == "":
		return a
	}
	return a + "\n" + b
}
