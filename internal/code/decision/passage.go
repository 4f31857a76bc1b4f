package decision

import (
	"slices"
	"strings"
)

// maxGrown bounds what is put together line by line, in bytes: a status, an item of a
// list, an option. Sections are not bounded.
const maxGrown = 16 << 10

// grow adds to a value, as far as there is room.
func (v *Value) grow(text string) {
	if len(v.Text)+len(text) <= maxGrown {
		v.Text += text
	}
}

// ofKind lists the headings of a kind.
func (d *document) ofKind(k Kind) (out []int) {
	for i := range d.heads {
		if d.heads[i].kind == k {
			out = append(out, i)
		}
	}
	return out
}

// gather joins the sections of a kind, without those of another kind within them.
func (d *document) gather(k Kind) Value {
	v := Value{}
	var parts []string
	for _, i := range d.ofKind(k) {
		text := ""
		at := d.heads[i].next
		for j := i + 1; j < len(d.heads) && d.heads[j].at < d.heads[i].end; j++ {
			if d.heads[j].kind == "" || d.heads[j].kind == k && d.heads[j].level > 3 {
				continue
			}
			if d.heads[j].at >= at {
				text += d.text(at, d.heads[j].at) + "\n\n"
				at = d.heads[j].end
			}
		}
		text = strings.TrimSpace(text + d.text(at, d.heads[i].end))
		if v.Line == 0 {
			v.Line = d.heads[i].at + 1
		}
		if text != "" {
			parts = append(parts, text)
		}
	}
	v.Text = strings.Join(parts, "\n\n")
	if v.Text == "" {
		return Value{}
	}
	return v
}

// text is the lines from one index up to another, without white space around them.
func (d *document) text(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		b.WriteString(strings.TrimRight(d.lines[i].text, " \t"))
		b.WriteByte('\n')
	}
	return strings.TrimRight(strings.TrimLeft(b.String(), "\n"), " \t\n")
}

// said is the text of a range of lines, with the line on which it starts.
func (d *document) said(from, to int) Value {
	for from < to && d.lines[from].blank() {
		from++
	}
	if from == to {
		return Value{}
	}
	return Value{d.text(from, to), from + 1}
}

// lastLine is the number of the last line of a range that says something.
func (d *document) lastLine(from, to int) int {
	for to > from && d.lines[to-1].blank() {
		to--
	}
	return to
}

// list reads a section as a list: its items, or its paragraphs where it has none.
func (d *document) list(head int) (out []Value) {
	h := d.heads[head]
	var code fence
	items, blank := false, true
	for i := h.next; i < h.end; i++ {
		if code.step(d.lines[i].text) {
			continue
		}
		t := strings.TrimSpace(d.lines[i].text)
		_, at, isItem := bullet(d.lines[i].text)
		switch {
		case t == "" || t == "---":
			blank = true
			continue
		case isItem:
			if !items {
				out, items = nil, true
			}
			out = append(out, Value{strings.TrimSpace(d.lines[i].text[at:]), i + 1})
		case len(out) > 0 && (!blank || d.lines[i].indent() > 0):
			out[len(out)-1].grow(" " + t)
		case !items:
			out = append(out, Value{t, i + 1})
		}
		blank = false
	}
	return slices.DeleteFunc(out, func(v Value) bool { return v.Text == "" })
}
