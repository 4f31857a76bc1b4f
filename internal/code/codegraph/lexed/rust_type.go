package lexed

import (
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// typeDecl reads a struct, an enum or a union.
func (c *rustReader) typeDecl(i, end int, d declaration) int {
	at := i + 1
	c.mark(at, muted)
	d.kind, d.name = codegraph.KindType, c.text(at)
	open := at + 1
	types := open
	stop := c.headEnd(open, end)
	d.stop, d.last = stop, c.match(stop)
	n := c.declare(d)
	p := c.file.Decls[n]
	c.typeParameters(types, d.last)
	if c.op(stop) != '{' {
		return stop + 1
	}
	c.mark(stop, container)
	c.list(stop+1, min(c.match(stop), end), func(i, end int) {
		first := i
		for c.op(i) == '#' && c.op(i+1) == '[' {
			c.mute(i, c.match(i+1))
			i = c.match(i+1) + 1
		}
		head, public := i, c.is(at-1, "enum")
		if c.is(i, "pub") {
			i++
			public = c.op(i) != '('
			if c.op(i) == '(' {
				i = c.match(i) + 1
			}
		}
		if c.kind(i) != word || i >= end {
			return
		}
		c.mark(i, muted)
		if c.is(at-1, "enum") {
			c.muteFields(i, end)
		}
		c.declare(declaration{kind: codegraph.KindProperty, name: c.text(i), within: p.Qualified, parent: n, first: first, head: head, stop: end, last: end - 1, exported: public && p.Exported})
	})
	return d.last + 1
}

// muteFields mutes the names of the fields of a variant.
func (c *rustReader) muteFields(i, end int) {
	for ; i < end; i++ {
		if c.kind(i) == word && c.op(i+1) == ':' {
			c.mark(i, muted)
		}
	}
}

func (c *rustReader) trait(i, end int, d declaration) int {
	at := i + 1
	if c.kind(at) != word {
		return at
	}
	c.mark(at, muted)
	stop := c.headEnd(at+1, end)
	d.kind, d.name, d.stop, d.last = codegraph.KindInterface, c.text(at), stop, c.match(stop)
	n := c.declare(d)
	c.typeParameters(at+1, d.last)
	k := at + 1
	if c.op(k) == '<' {
		k = max(c.angle(k)+1, k+1)
	}
	if c.op(k) == ':' {
		c.bounds(n, k+1, stop)
	}
	if c.op(stop) == '{' {
		c.mark(stop, container)
		c.items(stop+1, min(d.last, end), rustLevel{parent: n, scope: c.file.Decls[n].Qualified, member: true, public: true})
	}
	return d.last + 1
}

// bounds reads the traits that a trait asks for.
func (c *rustReader) bounds(n, i, stop int) {
	for i < stop && !c.is(i, "where") {
		if c.name(i) && (c.op(i-1) == ':' || c.op(i-1) == '+') {
			c.base(n, codegraph.Inherits, i, stop)
		}
		if c.op(i) == '<' {
			i = max(c.angle(i), i)
		}
		i = c.skip(i)
	}
}

func (c *rustReader) alias(i, end int, d declaration, l rustLevel) int {
	stop := c.headEnd(i, end)
	if c.kind(i+1) == word {
		c.mark(i+1, muted)
		d.kind, d.name, d.stop, d.last = codegraph.KindType, c.text(i+1), stop, stop
		c.owned(c.declare(d), l)
		c.typeParameters(i+2, stop)
	}
	return stop + 1
}

// value reads a constant or a static.
func (c *rustReader) value(i, end int, d declaration, l rustLevel) int {
	at := i + 1
	if c.is(at, "mut") || c.is(at, "ref") {
		at++
	}
	stop := at
	for stop < end && c.op(stop) != ';' {
		stop = c.skip(stop)
	}
	if c.kind(at) == word && !c.is(at, "_") {
		c.mark(at, muted)
		d.kind, d.name, d.stop, d.last = codegraph.KindVariable, c.text(at), stop, min(stop, end-1)
		if l.member {
			d.kind = codegraph.KindProperty
		}
		for k := at; k < stop && k < at+64; k++ {
			if c.op(k) == '=' {
				d.stop = k
				break
			}
		}
		n := c.declare(d)
		c.owned(n, l)
		c.bodies = append(c.bodies, span{at, min(stop, end-1)})
	}
	return stop + 1
}

// macro reads "macro_rules! name { … }", whose body is no code of this file.
func (c *rustReader) macro(i, end int, d declaration) int {
	if c.op(i+1) != '!' || c.kind(i+2) != word {
		return c.invocation(i, end)
	}
	open := i + 3
	lastTok := c.match(open)
	c.mute(i, lastTok)
	exported := strings.Contains(c.signature(d.first, i), "macro_export")
	d.kind, d.name, d.stop, d.last, d.exported = codegraph.KindFunction, c.text(i+2), open, lastTok, exported
	c.declare(d)
	return lastTok + 1
}
