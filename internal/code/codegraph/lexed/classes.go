package lexed

import (
	"github.com/kenlayer/ken/internal/code/codegraph"
)

// classes reads Java and C#.
func (r *reader) classes() {
	c := &classReader{reader: r, csharp: r.lang.family == csharp}
	if c.csharp {
		c.usings()
		c.oneNamespace()
	} else {
		c.packageAndImports()
	}
	c.body(c.start, len(r.toks), level{parent: -1, scope: r.scope})
	r.typedLocals(c.bodies)
}

// classReader reads types and their members.
type classReader struct {
	*reader
	csharp bool
	start  int // the first token after the package, imports and usings
	bodies []span
}

// level is the context of members: the type or namespace that encloses them.
type level struct {
	parent int
	scope  string
	name   string // of the type; its constructors have the same name
	kind   codegraph.Kind
}

// span is a range of tokens, both included.
type span struct{ first, last int }

// body reads the members between two tokens.
func (c *classReader) body(i, end int, l level) {
	c.nested(i, end, func(i int) int { return c.member(i, end, l) })
}

// heading holds the annotations and modifiers of a declaration. head is the token after the annotations.
type heading struct {
	first, head int
	public      bool
	private     bool
	test        bool
}

// modifiers reads annotations or attributes, and modifiers.
func (c *classReader) modifiers(i, end int) (h heading, next int) {
	h = heading{first: i, head: -1}
	for reading := true; reading && i < end; {
		switch w := c.text(i); {
		case c.op(i) == '@' && c.kind(i+1) == word && !c.is(i+1, "interface"):
			c.mark(i+1, annotation)
			var name int
			name, i = c.annotation(i)
			h.test = h.test || testMarks[c.text(name)]
		case c.op(i) == '[' && c.csharp:
			for k := i + 1; k < c.match(i); k = c.skip(k) {
				h.test = h.test || c.kind(k) == word && testMarks[c.text(k)]
				if c.op(k-1) == '[' || c.op(k-1) == ',' || c.op(k-1) == ':' {
					c.mark(k, annotation)
				}
			}
			i = c.match(i) + 1
		case c.kind(i) == word && modifierWords[w] && c.modifies(i):
			if h.head < 0 {
				h.head = i
			}
			h.public = h.public || w == "public" || w == "protected"
			h.private = h.private || w == "private"
			i++
		case w == "non" && c.op(i+1) == '-' && c.is(i+2, "sealed"):
			i += 3
		default:
			reading = false
		}
	}
	if h.head < 0 {
		h.head = i
	}
	return h, i
}

// annotation returns the last word in the name of the annotation at i, and the token after the annotation.
func (c *classReader) annotation(i int) (name, next int) {
	for name = i + 1; c.op(name+1) == '.'; {
		name += 2
	}
	if c.op(name+1) == '(' {
		return name, c.match(name+1) + 1
	}
	return name, name + 1
}

// modifies reports whether the word at i is a modifier here. Some modifiers are names in other places.
func (c *classReader) modifies(i int) bool {
	switch c.text(i) {
	case "sealed", "partial", "file", "required", "async", "default", "record", "ref", "readonly":
		return c.kind(i+1) == word || c.op(i+1) == '<' || c.op(i+1) == '@' || c.op(i+1) == '('
	case "new":
		return c.kind(i+1) == word
	}
	return true
}

var (
	modifierWords = words(`public private protected internal static final abstract sealed virtual override readonly const extern unsafe
		volatile transient synchronized native strictfp default partial async new required file ref fixed`)
	testMarks = words(`Test ParameterizedTest RepeatedTest TestFactory Theory Fact TestMethod TestCase DataTestMethod TestCaseSource
		InlineData Property`)
)

func (c *classReader) member(i, end int, l level) int {
	if c.op(i) == ';' || c.op(i) == ',' || closes(c.op(i)) {
		return i + 1
	}
	h, i := c.modifiers(i, end)
	if i >= end {
		return end
	}
	if name := c.typeName(i); name > i {
		return c.typeDecl(i, name, end, h, l)
	}
	switch {
	case c.op(i) == '@' && c.is(i+1, "interface"):
		return c.typeDecl(i+1, i+2, end, h, l)
	case c.op(i) == '{': // an initializer
		c.bodies = append(c.bodies, span{i, c.match(i)})
		return c.match(i) + 1
	case l.parent < 0 && !c.csharp:
		return c.skipItem(i, end)
	case c.csharp && c.is(i, "delegate"):
		return c.delegate(i, end, h, l)
	case c.csharp && c.is(i, "namespace"):
		return c.namespace(i, end, l)
	case c.csharp && c.is(i, "extension") && c.op(i+1) == '(':
		open := c.match(i+1) + 1
		c.body(open+1, c.match(open), l)
		return c.match(open) + 1
	}
	return c.typedMember(i, end, h, l)
}

// typeName returns the name of the type that is declared at i; -1 if the word there declares none. "record" may also
// be the name of a type or a method.
func (c *classReader) typeName(i int) int {
	name := i + 1
	if c.kind(i) != word || c.kind(name) != word {
		return -1
	}
	switch c.text(i) {
	case "class", "interface", "enum":
		return name
	case "struct":
		if c.csharp {
			return name
		}
	case "record":
		if c.csharp && (c.is(name, "class") || c.is(name, "struct")) {
			name++
		}
		o := c.op(name + 1)
		if c.kind(name) == word && (o == '(' || o == '<' || c.csharp && (o == '{' || o == ';' || o == ':')) {
			return name
		}
	}
	return -1
}
