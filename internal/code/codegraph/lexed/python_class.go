package lexed

import (
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// definition reads a function.
func (p *pythonReader) definition(head, i, end int) {
	first := head
	if p.pending > 0 {
		first = p.pending - 1
	}
	test, prop := p.test, p.prop
	p.pending, p.test, p.prop = 0, false, false
	nameAt := i + 1
	p.mark(nameAt, muted)
	open := nameAt + 1
	if p.op(open) == '[' { // types
		open = p.match(open) + 1
	}
	colon := open
	for colon < end && p.op(colon) != ':' {
		colon = p.skip(colon)
	}
	colon = min(colon, end)
	indent := p.toks[head].indent
	if indent < 0 {
		indent = 1 << 20
	}
	b := pyBlock{indent: indent, decl: -1, function: true, first: first}
	if p.inFunction() {
		p.bindLocal(nameAt)
	} else {
		parent, scope := p.around()
		name := p.text(nameAt)
		d := declaration{kind: codegraph.KindFunction, name: name, within: scope, parent: parent, first: first, head: head, stop: colon, last: end - 1,
			exported: p.public(name, parent), doc: p.docstring(colon, end), test: test || strings.HasPrefix(name, "test_") || name == "test"}
		if parent >= 0 {
			d.kind = codegraph.KindMethod
			if prop {
				d.kind = codegraph.KindProperty
			}
		}
		b.decl = p.declare(d)
	}
	p.blocks = append(p.blocks, b)
	if p.op(open) == '(' {
		p.parameters(open+1, p.match(open))
	}
	if colon+1 < end {
		p.inline(colon+1, end)
	}
}

func (p *pythonReader) public(name string, parent int) bool {
	return p.exported(parent) && (!strings.HasPrefix(name, "_") || strings.HasPrefix(name, "__") && strings.HasSuffix(name, "__"))
}

// around is the class that the present statement is in, and its name.
func (p *pythonReader) around() (parent int, scope string) {
	if b := p.top(); b != nil && b.decl >= 0 {
		return b.decl, p.file.Decls[b.decl].Qualified
	}
	return -1, p.scope
}

// docstring is the first sentence of the string behind a heading.
func (p *pythonReader) docstring(colon, end int) string {
	i := colon + 1
	if i < end {
		return ""
	}
	i = end
	if p.kind(i) != text || !p.toks[i].first() {
		return ""
	}
	s := strings.TrimLeft(p.text(i), "rRuUbB")
	s = strings.Trim(s, `"'`)
	return sentence(strings.Split(s[:min(len(s), 4096)], "\n"))
}

// class reads a class.
func (p *pythonReader) class(i, end int) {
	first := i
	if p.pending > 0 {
		first = p.pending - 1
	}
	p.pending, p.test, p.prop = 0, false, false
	indent := p.toks[i].indent
	if indent < 0 {
		indent = 1 << 20
	}
	p.mark(i+1, muted)
	open := i + 2
	if p.op(open) == '[' {
		open = p.match(open) + 1
	}
	colon := open
	if p.op(open) == '(' {
		colon = p.match(open) + 1
	}
	colon = min(colon, end)
	b := pyBlock{indent: indent, decl: -1, first: first}
	if p.inFunction() {
		p.bindLocal(i + 1)
		b.function = true
	} else {
		parent, scope := p.around()
		name := p.text(i + 1)
		d := declaration{kind: codegraph.KindType, name: name, within: scope, parent: parent, first: first, head: i, stop: colon, last: end - 1,
			exported: p.public(name, parent), doc: p.docstring(colon, end)}
		if p.op(open) == '(' && p.protocol(open+1, colon-1) {
			d.kind = codegraph.KindInterface
		}
		d.test = strings.HasPrefix(name, "Test")
		b.decl = p.declare(d)
		if p.op(open) == '(' {
			p.list(open+1, p.match(open), func(i, end int) {
				if p.op(i+1) != '=' {
					p.base(b.decl, codegraph.Inherits, i, end)
				}
			})
		}
	}
	p.blocks = append(p.blocks, b)
	if colon+1 < end {
		p.inline(colon+1, end)
	}
}

// protocol reports whether Protocol is among the bases.
func (p *pythonReader) protocol(i, end int) bool {
	for ; i < end; i++ {
		if p.is(i, "Protocol") {
			return true
		}
	}
	return false
}
