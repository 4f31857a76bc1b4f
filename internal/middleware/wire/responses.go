package wire

import (
	"bytes"
	"iter"
	"strings"

	"github.com/kenlayer/ken"
)

// instructions of a Responses request are a string; a stored response may hold
// items instead.
func instructions(v value) string { return v.text() }

// input reads the conversation of a Responses request: a string, or items.
func (r *Request) input(v value) (err error) {
	switch {
	case v.isString():
		r.add(ken.Message{Role: "user", Text: v.text()}, alone(v))
	case v.isArray():
		n := 0
		v.each(func(_ string, v value) bool {
			if !v.isObject() {
				err = refuse(Responses, element("input", n), "not an object")
				return false
			}
			it := readItem(v)
			r.item(v, &it)
			n++
			return true
		})
	default:
		err = refuse(Responses, "input", "neither a string nor an array")
	}
	return err
}

// item is one element of an input or an output.
type item struct {
	kind, role, id, callID, name string

	content   value // of a message
	arguments value // of a call, by whatever name
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

// item takes up one item. Reasoning, references to what is upstream, and what a
// server keeps for itself are no messages, and do not part what stands around
// them.
func (r *Request) item(v value, it *item) {
	switch {
	case it.kind == "message", it.kind == "" && it.role != "":
		r.said(v, it)
	case strings.HasSuffix(it.kind, "_call_output"):
		m := ken.Message{Role: "tool", ToolCallID: it.callID}
		m.Text, m.Parts = output(it.output)
		r.add(m, place{})
	case strings.HasSuffix(it.kind, "_call"):
		a := r.assistant()
		a.ToolCalls = append(a.ToolCalls, it.call())
	}
}

// said takes up a message item.
func (r *Request) said(v value, it *item) {
	s, parts := content(it.content)
	switch it.role {
	case "assistant":
		a := r.assistant()
		a.Text = lines(a.Text, s)
	case "user":
		m := ken.Message{Role: "user", Text: s, Parts: parts}
		if scaffold(&m) {
			return
		}
		r.add(m, before(v, it.content, inputPart))
	default:
		r.add(ken.Message{Role: it.role, Text: s, Parts: parts}, place{})
	}
}

// assistant is the message that a model's items belong to: one for all that stand
// together, as in a chat, and as the answer is that they come from.
func (r *Request) assistant() *ken.Message {
	if n := len(r.Messages); n == 0 || r.Messages[n-1].Role != "assistant" {
		r.add(ken.Message{Role: "assistant"}, place{})
	}
	return &r.Messages[len(r.Messages)-1]
}

// call reads a call of a function, of a custom tool, or of a tool of the server's,
// which has an id of its own and its type for a name.
func (it *item) call() ken.ToolCall {
	c := ken.ToolCall{ID: it.callID, Name: it.name, Arguments: it.arguments.raw()}
	if c.ID == "" {
		c.ID = it.id
	}
	if c.Name == "" {
		c.Name = strings.TrimSuffix(it.kind, "_call")
	}
	if it.arguments.isString() {
		c.Arguments = it.arguments.text()
	}
	return c
}

// output reads what a call returned: a string, parts, or what a shell printed.
func output(v value) (string, []ken.Part) {
	switch {
	case v.isObject(): // a screenshot
		out := []ken.Part{part(v)}
		return joined(out), out
	case !v.isArray():
		return content(v)
	}
	var out []ken.Part
	v.each(func(_ string, v value) bool {
		p := part(v)
		if p.Type == "" && v.isObject() {
			if s := lines(v.get("stdout").text(), v.get("stderr").text()); s != "" {
				p = ken.Part{Type: "text", Text: s}
			}
		}
		out = append(out, p)
		return true
	})
	return joined(out), out
}

// lines joins texts by newlines, leaving out empty ones.
func lines(a, b string) string {
	switch {
	case a == "":
		return b
	case b == "":
		return a
	}
	return a + "\n" + b
}

// events yields the data of each event of a stream that is JSON: [DONE], comments
// and where it broke off are none. An event may have its data on several lines;
// some servers leave out the empty line between two events.
func events(body []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var rows [][]byte
		for line := range bytes.Lines(body) {
			line = bytes.TrimSpace(line)
			if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
				rows = append(rows, bytes.TrimSpace(data))
				continue
			}
			if len(line) == 0 {
				if !event(rows, yield) {
					return
				}
				rows = rows[:0]
			}
		}
		event(rows, yield)
	}
}

func event(rows [][]byte, yield func([]byte) bool) bool {
	if len(rows) > 1 {
		if whole := bytes.Join(rows, []byte("\n")); valid(whole) {
			return yield(whole)
		}
	}
	for _, data := range rows {
		if len(data) > 0 && data[0] == '{' && valid(data) && !yield(data) {
			return false
		}
	}
	return true
}
