package lexed

import (
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// typeDecl reads a class, interface, enum or record whose name is at nameAt.
func (c *classReader) typeDecl(i, nameAt, end int, h heading, l level) int {
	keyword := c.text(i)
	d := declaration{kind: codegraph.KindType, name: c.text(nameAt), within: l.scope, parent: l.parent, first: h.first, head: min(h.head, i), test: false}
	if keyword == "interface" && c.op(i-1) != '@' {
		d.kind = codegraph.KindInterface
	}
	d.exported = c.visible(h, l)
	c.mark(nameAt, notUse)
	k := nameAt + 1
	types, params := k, -1
	if c.op(k) == '<' {
		if shut := c.angle(k); shut > 0 {
			k = shut + 1
		}
	}
	if c.op(k) == '(' {
		params = k
		k = c.match(k) + 1
	}
	open := k
	for open < end && c.op(open) != '{' && c.op(open) != ';' && !closes(c.op(open)) {
		open = c.skip(open)
	}
	open = min(open, end)
	d.stop, d.last = open, open
	if c.op(open) == '{' && open < end {
		d.last = c.match(open)
	}
	n := c.declare(d)
	if c.op(types) == '<' {
		c.typeParameters(types, types, d.last)
	}
	c.bases(n, k, open, keyword)
	inner := level{parent: n, scope: c.file.Decls[n].Qualified, name: d.name, kind: d.kind}
	if params >= 0 {
		c.components(params, n, keyword == "record")
	}
	if d.last == open {
		return open + 1
	}
	c.mark(open, container)
	from := open + 1
	if keyword == "enum" {
		from = c.constants(open, n)
	}
	c.body(from, min(d.last, end), inner)
	return d.last + 1
}

// visible reports whether a declaration is visible outside its package.
func (c *classReader) visible(h heading, l level) bool {
	outer := c.exported(l.parent)
	switch {
	case h.private || !outer:
		return false
	case h.public:
		return true
	}
	return l.kind == codegraph.KindInterface
}

// typeParameters binds "<T extends U>" for the tokens from first to last.
func (c *classReader) typeParameters(i, first, last int) {
	shut := c.angle(i)
	if shut < 0 {
		return
	}
	c.list(i+1, shut, func(i, end int) {
		for i < end && (c.op(i) == '@' || c.is(i, "in") || c.is(i, "out")) {
			if c.op(i) == '@' {
				i++
			}
			i++
		}
		c.local(i, first, last)
	})
}

// bases reads "extends A implements B, C" or ": A, B" between two tokens.
func (c *classReader) bases(n, i, open int, keyword string) {
	each := func(kind func(i int) codegraph.EdgeKind, from int) int {
		stop := from
		for stop < open && !c.is(stop, "implements") && !c.is(stop, "extends") && !c.is(stop, "permits") && !c.is(stop, "where") {
			stop = c.skip(stop)
		}
		c.list(from, stop, func(i, end int) {
			for c.op(i) == '@' {
				i += 2
			}
			c.base(n, kind(i), i, end)
		})
		return stop
	}
	for i < open {
		switch {
		case c.is(i, "extends"):
			i = each(func(int) codegraph.EdgeKind { return codegraph.Inherits }, i+1)
		case c.is(i, "implements"):
			i = each(func(int) codegraph.EdgeKind { return codegraph.Implements }, i+1)
		case c.op(i) == ':' && c.csharp && keyword == "enum":
			return
		case c.op(i) == ':' && c.csharp:
			first := i + 1
			i = each(func(i int) codegraph.EdgeKind {
				if keyword == "interface" || keyword != "struct" && i == first && !interfaceName(c.text(c.pathLast(i))) {
					return codegraph.Inherits
				}
				return codegraph.Implements
			}, i+1)
		case c.is(i, "where"):
			return
		default:
			i++
		}
	}
}

// pathLast returns the last word of the dotted name at i.
func (c *classReader) pathLast(i int) int {
	for c.op(i+1) == '.' && c.kind(i+2) == word {
		i += 2
	}
	return i
}

// interfaceName reports whether a name follows the convention for interfaces of C#: "IShelf".
func interfaceName(s string) bool {
	return len(s) > 1 && s[0] == 'I' && s[1] >= 'A' && s[1] <= 'Z' && strings.ToUpper(s) != s
}
