package lexed

import (
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// rust reads Rust.
func (r *reader) rust() {
	r.scope = r.set.rust.module(r.file.Path)
	r.module = true
	r.file.Within = codegraph.ID(codegraph.KindPackage, r.scope)
	c := &rustReader{reader: r, owners: map[int]string{}}
	c.items(0, len(r.toks), rustLevel{parent: -1, scope: r.scope})
	c.assignOwners()
	for _, b := range c.bodies {
		c.bindBody(b)
	}
}

type rustReader struct {
	*reader
	bodies []span
	owners map[int]string // qualified type names of members of impl blocks, by index in File.Decls
	traits []implemented
}

// implemented is a trait that a type implements.
type implemented struct {
	owner       string
	first, last int // tokens of the trait's path
}

// rustLevel is the context of items: what encloses them.
type rustLevel struct {
	parent int
	scope  string
	member bool // members of a type or a trait
	public bool // items are as visible as what encloses them
	owner  string
}

func (c *rustReader) items(i, end int, l rustLevel) {
	c.nested(i, end, func(i int) int { return c.item(i, end, l) })
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
		test = test || c.marksTest(open, last)
		c.markNotUse(open+1, last)
		i = last + 1
	}
	d := declaration{within: l.scope, parent: l.parent, first: first, head: i, test: test, exported: l.public}
	i, d.exported = c.public(i, l.public)
	d.exported = d.exported && c.exported(l.parent)
	for c.kind(i) == word && i < end {
		switch w := c.text(i); w {
		case "default", "async", "unsafe", "safe", "auto", "gen":
			if c.kind(i+1) != word {
				return c.skipItem(i, end)
			}
			i++
			continue
		case "const":
			if !functionWords[c.text(i+1)] {
				return c.value(i, end, d, l)
			}
			i++
			continue
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
		return c.skipItem(i, end)
	}
	return c.skip(i)
}

// functionWords follow "const" in the heading of a function.
var functionWords = words("fn unsafe async extern")

// marksTest reports whether the attribute between two brackets is that of a test: "#[test]", "#[tokio::test]",
// "#[rstest(…)]".
func (c *rustReader) marksTest(open, last int) bool {
	first, name := open+1, last-1
	if c.is(first, "test") || c.is(name, "test") && c.op(first) != '(' && !c.is(first, "cfg") || c.is(first, "rstest") && c.op(name) == ')' {
		return true
	}
	for k := first; k < last && k < open+6; k++ {
		if c.is(k, "test") && c.op(k-1) == opPath {
			return true
		}
	}
	return false
}

// public reads "pub" and "pub(crate)" at i, if they are there, and returns the token after them and whether the item is
// public.
func (c *rustReader) public(i int, otherwise bool) (next int, public bool) {
	switch {
	case !c.is(i, "pub"):
		return i, otherwise
	case c.op(i+1) == '(':
		return c.match(i+1) + 1, false
	}
	return i + 1, true
}

// headEnd returns the brace or semicolon that ends the heading of an item.
func (c *rustReader) headEnd(i, end int) int { return min(c.find(i, end, '{', ';', '}'), end) }

func (c *rustReader) function(i, end int, d declaration, l rustLevel) int {
	at := i + 1
	if c.kind(at) != word {
		return at
	}
	open := c.afterTypes(at + 1)
	d.kind, d.stop = codegraph.KindFunction, c.headEnd(open, end)
	if d.last = c.match(d.stop); l.member {
		d.kind = codegraph.KindMethod
	}
	n := c.declareAt(at, d)
	c.owned(n, l)
	last := int(c.places[n].last)
	c.typeParameters(at+1, at+1, last)
	if c.op(open) == '(' {
		c.parameters(open+1, c.match(open), open, last)
	}
	if c.op(d.stop) == '{' {
		c.bodies = append(c.bodies, span{d.stop, last})
	}
	return last + 1
}

// parameters binds the names in the parameters between i and end, for the tokens from first to last.
func (c *rustReader) parameters(i, end, first, last int) {
	c.list(i, end, func(i, end int) {
		colon := i
		for colon < end && c.op(colon) != ':' {
			colon++
		}
		c.pattern(i, colon, first, last)
	})
}

func (c *rustReader) owned(n int, l rustLevel) {
	if l.owner != "" {
		c.owners[n] = l.owner
	}
}

// impl reads "impl<T> Trait<T> for Type<T> where … { … }".
func (c *rustReader) impl(i, end int, l rustLevel) int {
	types := i + 1
	first, trait := c.afterTypes(types), -1
	stop := c.headEnd(first, end)
	if c.op(stop) != '{' {
		return stop + 1
	}
	for n := first; n < stop && !c.is(n, "where"); n = c.skip(n) {
		if c.is(n, "for") && c.op(n+1) != '<' {
			trait, first = first, n+1
			break
		}
		if c.op(n) == '<' {
			n = max(c.angle(n), n)
		}
	}
	last := c.match(stop)
	c.typeParameters(types, types, last)
	owner := c.implType(first, stop, l.scope)
	if owner == "" && trait >= 0 && c.kind(trait) == word { // an impl for all types: its members belong to the trait
		owner = c.implType(trait, stop, l.scope)
	}
	c.mark(stop, container)
	if owner == "" {
		c.bodies = append(c.bodies, span{stop, last})
		return last + 1
	}
	if trait >= 0 {
		for c.op(trait) == '!' || c.op(trait) == '?' {
			trait++
		}
		at := trait
		for c.op(at+1) == opPath && c.kind(at+2) == word {
			at += 2
		}
		c.markNotUse(trait, at+1)
		c.traits = append(c.traits, implemented{owner, trait, at})
	}
	c.items(stop+1, min(last, end), rustLevel{parent: -1, scope: owner, member: true, public: trait >= 0, owner: owner})
	return last + 1
}

// implType returns the qualified name of the type of an impl block. For "&'a mut a::B<C>" that is the name of "a::B".
func (c *rustReader) implType(i, stop int, scope string) string {
	for i < stop && (c.op(i) == '&' || c.op(i) == '<' || c.op(i) == '*' || c.kind(i) == text || c.is(i, "mut") || c.is(i, "dyn") || c.is(i, "const") || c.op(i) == '(' || c.op(i) == '[') {
		i++
	}
	if c.kind(i) != word {
		return ""
	}
	path := []string{c.text(i)}
	for n := len(c.bindings) - 1; n >= 0 && int(c.bindings[n].last) >= stop; n-- {
		if c.bindings[n].name == path[0] { // a type parameter
			return ""
		}
	}
	for c.op(i+1) == opPath && c.kind(i+2) == word && i+2 < stop {
		i += 2
		path = append(path, c.text(i))
	}
	if n, ok := c.names[path[0]]; ok && n.qualified != "" && (len(path) == 1) == !n.module {
		return joinDotted(n.qualified, strings.Join(path[1:], "."))
	}
	if len(path) > 1 {
		if q, ours := c.absolute(scope, path); ours {
			return q
		}
	}
	return joinDotted(scope, path[len(path)-1])
}

// assignOwners sets the parents of members of impl blocks, and adds the traits that types implement.
func (c *rustReader) assignOwners() {
	for n, owner := range c.owners {
		if t, ok := c.declared[owner]; ok && t != n && (c.file.Decls[t].Kind == codegraph.KindType || c.file.Decls[t].Kind == codegraph.KindInterface) {
			c.file.Decls[n].Parent = t
		}
	}
	for _, t := range c.traits {
		o := ownUse{from: -1, kind: codegraph.References, first: t.first, last: t.last}
		if n, ok := c.declared[t.owner]; ok && c.file.Decls[n].Kind != codegraph.KindFunction {
			o.from, o.kind = n, codegraph.Implements
		}
		c.own = append(c.own, o)
	}
}

// mod reads a module: with a body, or in another file.
func (c *rustReader) mod(i, end int, d declaration, l rustLevel) int {
	at := i + 1
	if c.kind(at) != word {
		return at
	}
	c.mark(at, notUse)
	if c.op(at+1) == ';' {
		mod := joinDotted(l.scope, c.text(at))
		c.file.Imports = append(c.file.Imports, codegraph.Import{Path: c.intern("mod " + c.text(at)), Target: c.intern(codegraph.ID(codegraph.KindPackage, mod)), Line: c.line(i)})
		c.names[c.intern(c.text(at))] = name{qualified: c.intern(mod), module: true}
		return at + 2
	}
	if c.op(at+1) != '{' {
		return at + 1
	}
	d.kind, d.stop, d.last, d.test = codegraph.KindPackage, at+1, c.match(at+1), false
	n := c.declareAt(at, d)
	c.mark(at+1, container)
	c.items(at+2, min(d.last, end), rustLevel{parent: n, scope: c.file.Decls[n].Qualified})
	return d.last + 1
}

// bindBody binds the local names of a body: let, for, if let, match arms, closures.
func (c *rustReader) bindBody(b span) {
	var open []int
	arms := []int{b.first + 1} // where an arm may begin, for each open bracket
	for i := b.first; i <= b.last && i < len(c.toks); i++ {
		switch o := c.op(i); {
		case opens(o):
			open = append(open, i)
			arms = append(arms, i+1)
		case closes(o):
			for len(open) > 0 && c.match(open[len(open)-1]) <= i {
				open, arms = open[:len(open)-1], arms[:len(arms)-1]
			}
			if o == '}' {
				arms[len(arms)-1] = i + 1
			}
		case o == ',' || o == ';':
			arms[len(arms)-1] = i + 1
		case o == opArrow:
			stop := arms[len(arms)-1]
			for stop < i && !c.is(stop, "if") {
				stop++
			}
			c.pattern(arms[len(arms)-1], stop, arms[len(arms)-1], c.around(open, b.last))
		case o == '|' && c.closure(i):
			c.closureParameters(i, c.around(open, b.last))
		case c.is(i, "let"), c.is(i, "for") && c.op(i+1) != '<':
			stop := i + 1
			for stop <= b.last && !c.endsPattern(stop) {
				stop = c.skip(stop)
			}
			c.pattern(i+1, stop, i, c.block(open, b.last))
		case c.is(i, "fn") && c.kind(i+1) == word && i > b.first:
			c.mark(i+1, notUse)
			c.local(i+1, i, c.block(open, b.last))
			c.innerParameters(i+2, c.block(open, b.last))
		}
	}
}

// endsPattern reports whether the token at i follows the pattern of "let", "for" or "if let". The brace in "Point { x }"
// is a part of it.
func (c *rustReader) endsPattern(i int) bool {
	switch c.op(i) {
	case '=', ';', ':':
		return true
	case '{':
		return !upper(c.text(i - 1))
	}
	return c.is(i, "in")
}

// innerParameters binds the parameters of a function within a function.
func (c *rustReader) innerParameters(open, end int) {
	open = c.afterTypes(open)
	if c.op(open) != '(' {
		return
	}
	stop := c.headEnd(open, end)
	c.list(open+1, c.match(open), func(i, end int) {
		if c.op(i+1) == ':' {
			c.local(i, open, c.match(stop))
		}
	})
}

// closure reports whether the bar at i begins the parameters of a closure.
func (c *rustReader) closure(i int) bool {
	switch c.op(i - 1) {
	case '(', ',', '=', '{', ';', opArrow, '[':
		return true
	}
	return c.is(i-1, "move") || c.is(i-1, "return") || c.is(i-1, "async")
}

func (c *rustReader) closureParameters(i, last int) {
	for k := i + 1; k < i+64 && k <= last; k++ {
		if c.op(k) == '|' {
			c.parameters(i+1, k, i, last)
			return
		}
	}
}

// pattern binds the names in a pattern: lower-case words without a bracket, path or colon after them.
func (c *rustReader) pattern(i, end, first, last int) {
	for ; i < end; i++ {
		o := c.op(i + 1)
		switch {
		case !c.name(i) || !lower(c.text(i)) && c.text(i) != "_" || o == '(' || o == opPath || o == '!' || o == '.' || c.op(i-1) == opPath:
		case o == ':' && i+1 < end:
			c.mark(i, notUse) // a field
		default:
			c.local(i, first, last)
		}
	}
}
