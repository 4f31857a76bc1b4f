package lexed

import (
	"github.com/kenlayer/ken/internal/code/codegraph"
)

// typedef declares the last name of its declaration, or the one in parentheses.
func (c *cReader) typedef(i, end, first int, l cLevel) int {
	body, from := -1, i+1
	switch c.text(i + 1) {
	case "struct", "union", "enum", "class":
		for k := i + 2; k < i+8 && k < end; k = c.skip(k) {
			if c.op(k) == '{' {
				body = k
				break
			}
			if c.op(k) == ';' {
				break
			}
		}
	}
	stop := from
	for stop < end && c.op(stop) != ';' && !(c.op(stop) == '}' && stop != from) {
		stop = c.skip(stop)
	}
	stop = min(stop, end)
	at := c.declarator(from, stop)
	if body > 0 {
		at = c.declarator(c.match(body)+1, stop)
	}
	if at < 0 {
		if body > 0 {
			return c.record(i+1, end, first, nil, l)
		}
		return stop + 1
	}
	d := declaration{kind: codegraph.KindType, name: c.text(at), within: l.scope, parent: l.parent, first: first, head: i, stop: stop, last: stop, exported: c.visible(l)}
	if body > 0 {
		d.stop = body
		c.taggedTypedef(i+1, body, d, l)
		c.moreTypedefs(c.match(body)+1, stop, d)
		return stop + 1
	}
	c.mark(at, muted)
	d.doc = c.doc(first, i)
	if d.doc == "" {
		d.doc = c.trailing(stop)
	}
	c.declare(d)
	c.moreTypedefs(at, stop, d)
	return stop + 1
}

// taggedTypedef declares "typedef struct tag { … } name": by its name, and by its tag if
// that is another one.
func (c *cReader) taggedTypedef(i, body int, d declaration, l cLevel) {
	tag := -1
	for k := i + 1; k < body; k = c.skip(k) {
		if c.name(k) && c.op(k+1) != '(' {
			tag = k
		}
	}
	n := c.declare(d)
	inner := n
	if tag >= 0 {
		c.mark(tag, muted)
		if c.text(tag) != d.name {
			t := d
			t.name, t.head, t.first = c.text(tag), i, i
			t.last = c.match(body)
			inner = c.declare(t)
		}
	}
	c.recordBody(i, body, inner, l)
}

// moreTypedefs declares "*b" of "typedef struct a a, *b;".
func (c *cReader) moreTypedefs(at, stop int, d declaration) {
	for k := at; k < stop; k = c.skip(k) {
		if c.op(k) == '<' {
			return
		}
		if c.op(k) != ',' {
			continue
		}
		for k++; c.op(k) == '*'; k++ {
		}
		if c.name(k) {
			d.name = c.text(k)
			c.mark(k, muted)
			c.declare(d)
		}
	}
}
