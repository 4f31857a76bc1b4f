package lexed

import (
	"github.com/kenlayer/ken/internal/code/codegraph"
)

// rust reads Rust.
func (r *reader) rust() {
	r.scope = r.set.rust.module(r.file.Path)
	r.module = true
	r.file.Within = codegraph.ID(codegraph.KindPackage, r.scope)
	c := &rustReader{reader: r, owners: map[int]string{}}
	c.items(0, len(r.toks), rustLevel{parent: -1, scope: r.scope})
	c.adopt()
	for _, b := range c.bodies {
		c.bindBody(b)
	}
}

type rustReader struct {
	*reader
	depth  int
	bodies []span
	owners map[int]string // members of impl blocks, and the types that they belong to
	traits []implemented
}

// implemented is a trait that a type implements.
type implemented struct {
	owner       string
	first, last int // of the trait's path
}

// rustLevel is what items stand in.
type rustLevel struct {
	parent int
	scope  string
	member bool // of a type or a trait
	public bool // all is as public as what is around
	owner  string
}

func (c *rustReader) items(i, end int, l rustLevel) {
	if c.depth++; c.depth > maxDepth {
		c.depth--
		return
	}
	for i < end {
		i = max(c.item(i, end, l), i+1)
	}
	c.depth--
}

// item reads one item with its attributes.
func (c *rustReader) item(i, end int, l rustLevel) int {
	first, test := i, false
	for c.op(i) == '#' && i < end {
		open := i + 1
		if c.op(open) == '!' {
			open++
		}
		if c.op(open) != '[' {
			return i + 1
		}
		last := c.match(open)
		if name := last - 1; c.is(name, "test") && c.op(open+1) != '(' && !c.is(open+1, "cfg") || c.is(open+1, "test") || c.op(name) == ')' && c.is(open+1, "rstest") {
			test = true
		}
		for k := open + 1; k < last && k < open+6; k++ {
			test = test || c.is(k, "test") && c.op(k-1) == opPath
		}
		c.attribute(open+1, last)
		i = last + 1
	}
	d := declaration{within: l.scope, parent: l.parent, first: first, head: i, test: test, exported: l.public}
	if c.is(i, "pub") {
		d.exported = c.op(i+1) != '('
		i++
		if c.op(i) == '(' {
			i = c.match(i) + 1
		}
	}
	d.exported = d.exported && c.exported(l.parent)
	for c.kind(i) == word && i < end {
		switch w := c.text(i); w {
		case "default", "async", "unsafe", "safe", "auto", "gen":
			if c.kind(i+1) != word {
				return c.invocation(i, end)
			}
			i++
			continue
		case "const":
			if c.is(i+1, "fn") || c.is(i+1, "unsafe") || c.is(i+1, "async") || c.is(i+1, "extern") {
				i++
				continue
			}
			return c.value(i, end, d, l)
		case "extern":
			if c.is(i+1, "crate") {
				return c.externCrate(i, end)
			}
			i++
			if c.kind(i) == text {
				i++
			}
			if c.op(i) == '{' {
				c.mark(i, container)
				c.items(i+1, min(c.match(i), end), l)
				return c.match(i) + 1
			}
			continue
		case "fn":
			return c.function(i, end, d, l)
		case "struct", "enum", "union":
			if c.kind(i+1) == word {
				return c.typeDecl(i, end, d)
			}
			return c.invocation(i, end)
		case "trait":
			return c.trait(i, end, d)
		case "impl":
			return c.impl(i, end, l)
		case "mod":
			return c.mod(i, end, d, l)
		case "use":
			return c.useTree(i, end, l.scope, d.exported)
		case "type":
			return c.alias(i, end, d, l)
		case "static":
			return c.value(i, end, d, l)
		case "macro_rules":
			return c.macro(i, end, d)
		}
		return c.invocation(i, end)
	}
	return c.skip(i)
}

// attribute mutes what an attribute names but the traits of a derive.
func (c *rustReader) attribute(i, end int) { c.mute(i, end) }

// invocation skips the call of a macro, or what is none of the items.
func (c *rustReader) invocation(i, end int) int {
	for i < end {
		switch c.op(i) {
		case ';':
			return i + 1
		case '{':
			return c.match(i) + 1
		}
		i = c.skip(i)
	}
	return end
}

// headEnd goes to the brace or semicolon that ends the heading of an item.
func (c *rustReader) headEnd(i, end int) int {
	for i < end && c.op(i) != '{' && c.op(i) != ';' && c.op(i) != '}' {
		i = c.skip(i)
	}
	return min(i, end)
}

func (c *rustReader) function(i, end int, d declaration, l rustLevel) int {
	at := i + 1
	if c.kind(at) != word {
		return at
	}
	c.mark(at, muted)
	open := at + 1
	types := open
	if c.op(open) == '<' {
		if shut := c.angle(open); shut > 0 {
			open = shut + 1
		}
	}
	stop := c.headEnd(open, end)
	d.kind, d.name, d.stop, d.last = codegraph.KindFunction, c.text(at), stop, c.match(stop)
	if l.member {
		d.kind = codegraph.KindMethod
	}
	n := c.declare(d)
	c.owned(n, l)
	last := int(c.places[n].last)
	c.typeParameters(types, last)
	if c.op(open) == '(' {
		c.list(open+1, c.match(open), func(i, end int) {
			colon := i
			for colon < end && c.op(colon) != ':' {
				colon++
			}
			c.pattern(i, colon, open, last)
		})
	}
	if c.op(stop) == '{' {
		c.bodies = append(c.bodies, span{stop, last})
	}
	return last + 1
}

func (c *rustReader) owned(n int, l rustLevel) {
	if l.owner != "" {
		c.owners[n] = l.owner
	}
}

// typeParameters binds "<'a, T: U, const N: usize>".
func (c *rustReader) typeParameters(i, last int) {
	if c.op(i) != '<' {
		return
	}
	shut := c.angle(i)
	if shut < 0 {
		return
	}
	c.list(i+1, shut, func(k, end int) {
		if c.is(k, "const") {
			k++
		}
		if k < end {
			c.local(k, i, last)
		}
	})
}
