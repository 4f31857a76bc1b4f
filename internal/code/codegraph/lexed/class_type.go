package lexed

import (
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// typeDecl reads a class, interface, enum or record whose name is at nameAt.
func (c *classReader) typeDecl(i, nameAt, end int, h heading, l level) int {
	keyword := c.text(i)
	d := declaration{kind: codegraph.KindType, within: l.scope, parent: l.parent, first: h.first, head: min(h.head, i), exported: c.visible(h, l)}
	if keyword == "interface" && c.op(i-1) != '@' {
		d.kind = codegraph.KindInterface
	}
	types := nameAt + 1
	params := c.afterTypes(types)
	k := params
	if c.op(k) == '(' {
		k = c.match(k) + 1
	}
	open := min(c.find(k, end, '{', ';', ')', ']', '}'), end)
	d.stop, d.last = open, open
	if c.op(open) == '{' && open < end {
		d.last = c.match(open)
	}
	n := c.declareAt(nameAt, d)
	c.typeParameters(types, types, d.last)
	c.bases(n, k, open, keyword)
	if params < k {
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
	c.body(from, min(d.last, end), level{parent: n, scope: c.file.Decls[n].Qualified, name: c.text(nameAt), kind: d.kind})
	return d.last + 1
}

// visible reports whether a declaration is visible outside its package.
func (c *classReader) visible(h heading, l level) bool {
	return !h.private && c.exported(l.parent) && (h.public || l.kind == codegraph.KindInterface)
}

// bases reads "extends A implements B, C" or ": A, B" between two tokens.
func (c *classReader) bases(n, i, open int, keyword string) {
	for i < open && !c.is(i, "where") {
		colon := c.op(i) == ':' && c.csharp
		kind := codegraph.Inherits
		switch {
		case colon && keyword == "enum":
			return
		case c.is(i, "implements"):
			kind = codegraph.Implements
		case !colon && !c.is(i, "extends"):
			i++
			continue
		}
		first := i + 1
		for i = first; i < open && !c.is(i, "implements") && !c.is(i, "extends") && !c.is(i, "permits") && !c.is(i, "where"); {
			i = c.skip(i)
		}
		c.list(first, i, func(at, end int) {
			for c.op(at) == '@' {
				at += 2
			}
			of := kind
			if colon && keyword != "interface" && (keyword == "struct" || at != first || interfaceName(c.text(c.pathLast(at)))) {
				of = codegraph.Implements
			}
			c.base(n, of, at, end)
		})
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
