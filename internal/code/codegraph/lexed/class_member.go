package lexed

import "github.com/kenlayer/ken/internal/code/codegraph"

// components reads the parameters after a type's name. Those of a record are its properties.
func (c *classReader) components(open, n int, record bool) {
	p := c.file.Decls[n]
	last := int(c.places[n].last)
	c.list(open+1, c.match(open), func(i, end int) {
		_, i = c.modifiers(i, end)
		at := c.find(i, end, '=') - 1
		if c.kind(at) != word || at <= i {
			return
		}
		if record {
			c.declareAt(at, declaration{kind: codegraph.KindProperty, within: p.Qualified, parent: n, first: i, head: i, stop: end, last: end - 1, exported: p.Exported})
			return
		}
		c.mark(at, notUse)
		c.local(at, open, last)
	})
}

// constants reads the constants of an enum and returns the token after them.
func (c *classReader) constants(open, n int) int {
	p := c.file.Decls[n]
	i, end := open+1, c.match(open)
	for i < end && c.op(i) != ';' {
		first := i
		_, i = c.modifiers(i, end)
		if c.kind(i) != word || c.op(i-1) == '.' {
			i = max(i, first) + 1
			continue
		}
		at := i
		if i++; c.op(i) == '(' {
			i = c.match(i) + 1
		}
		stop := i
		if c.op(i) == '{' && !c.csharp {
			c.bodies = append(c.bodies, span{i, c.match(i)})
			i = c.match(i) + 1
		}
		if next := c.find(i, end, ',', ';'); next > i {
			i, stop = next, next
		}
		i = min(i, end)
		c.declareAt(at, declaration{kind: codegraph.KindProperty, within: p.Qualified, parent: n, first: first, head: at, stop: stop, last: i - 1, exported: p.Exported})
		if c.op(i) == ',' {
			i++
		}
	}
	return i
}

// typedMember reads a method, a constructor, a field or a property. Its name is the first word followed by a bracket,
// an equals sign or a semicolon.
func (c *classReader) typedMember(i, end int, h heading, l level) int {
	start := c.afterTypes(i) // after the type parameters of a method
	i = start
	if c.op(i) == '(' { // a tuple as the return type
		i = c.match(i) + 1
	}
	if c.op(i) == '~' {
		i++
	}
	for n := 0; i < end && n < 200; n++ {
		named := i > start && c.kind(i-1) == word
		switch o := c.op(i); {
		case c.is(i, "operator") && c.csharp:
			return c.operator(i, end, h, l)
		case c.is(i, "this") && c.op(i+1) == '[' && c.csharp:
			return c.property(i, c.match(i+1)+1, end, h, l)
		case o == '(':
			if named || i > start && c.op(i-1) == '>' {
				return c.method(i, end, h, l)
			}
		case o == '{':
			switch {
			case !named || c.keywordAt(i-1):
				return c.match(i) + 1
			case c.csharp:
				return c.property(i-1, i, end, h, l)
			}
			return c.compact(i, end, h, l)
		case o == opArrow && c.csharp && named:
			return c.property(i-1, i, end, h, l)
		case o == '=' || o == ';' || o == ',':
			if c.followsField(i, start) {
				return c.fields(start, end, h, l)
			}
			return c.statementEnd(i, end)
		case o == opArrow:
			return c.statementEnd(i, end)
		case closes(o):
			return i + 1
		}
		i = c.past(i, len(c.toks))
	}
	return max(i, start+1)
}

// followsField reports whether the mark at i follows the name of a field whose type begins at start: "T a = 1",
// "T a[];".
func (c *classReader) followsField(i, start int) bool {
	if c.kind(i-1) == word {
		return i > start+1
	}
	return c.op(i) != ',' && i > start && closes(c.op(i-1))
}

func (c *classReader) keywordAt(i int) bool { return c.kind(i) == word && c.lang.keywords[c.text(i)] }

// bodyEnd returns the last token of the body, expression or semicolon at i.
func (c *classReader) bodyEnd(i, end int) int {
	if c.op(i) == '{' && i < end {
		return c.match(i)
	}
	return min(c.statementEnd(i, end), end) - 1
}

// method declares a method or constructor whose parameters open at i.
func (c *classReader) method(open, end int, h heading, l level) int {
	at, types := open-1, -1
	if c.op(at) == '>' { // C#: Name<T>(
		if k := c.angleBack(at); k > 0 && c.kind(k-1) == word {
			types, at = k, k-1
		}
	}
	body := c.find(c.match(open)+1, end, '{', ';', '}', opArrow)
	d := declaration{kind: codegraph.KindMethod, name: c.text(at), within: l.scope, parent: l.parent, first: h.first, head: h.head, stop: body,
		last: c.bodyEnd(body, end), exported: c.visible(h, l), test: h.test}
	if c.kind(at) != word || c.keywordAt(at) {
		return d.last + 1
	}
	if l.parent < 0 {
		if c.op(body) == ';' || at == h.first || c.kind(at-1) != word && !closes(c.op(at-1)) && c.op(at-1) != '>' && c.op(at-1) != '?' ||
			c.is(at-1, "new") || c.is(at-1, "await") || c.is(at-1, "return") || statementWords[c.text(h.head)] {
			c.bodies = append(c.bodies, span{h.head, d.last})
			return d.last + 1
		}
		d.kind = codegraph.KindFunction // next to the statements of a program
	}
	if c.op(at-1) == '~' {
		d.name = "~" + d.name
	}
	c.mark(at, notUse)
	if c.op(at-1) == '.' { // an explicit implementation of an interface's member
		c.mark(at-2, typed)
	}
	n := c.declare(d)
	last := int(c.places[n].last)
	c.typeParameters(types, h.head, last)
	c.headTypes(h, at, last)
	c.parameterNames(open, last)
	if body < end && c.op(body) != ';' {
		c.bodies = append(c.bodies, span{body, last})
	}
	return last + 1
}

// statementWords begin statements, not declarations.
var statementWords = words("if for foreach while switch using lock try do return await else catch fixed checked throw")

// headTypes binds the type parameters before a method's return type in Java.
func (c *classReader) headTypes(h heading, at, last int) {
	for i := h.head; i < at && i < h.head+12; i++ {
		if c.op(i) == '<' && !c.csharp && (i == h.head || modifierWords[c.text(i-1)]) {
			c.typeParameters(i, i, last)
			return
		}
	}
}

// parameterNames binds the last word of each parameter.
func (c *classReader) parameterNames(open, last int) {
	c.list(open+1, c.match(open), func(i, end int) {
		at := c.find(i, end, '=') - 1
		for closes(c.op(at)) && at > i { // int x[]
			at -= 2
		}
		if at > i {
			c.local(at, open, last)
			c.mark(at, notUse)
		}
	})
}

// compact reads the constructor of a record that does not repeat its parameters.
func (c *classReader) compact(i, end int, h heading, l level) int {
	last := c.match(i)
	if c.text(i-1) == l.name {
		c.mark(i-1, notUse)
		c.declare(declaration{kind: codegraph.KindMethod, name: l.name, within: l.scope, parent: l.parent, first: h.first, head: h.head, stop: i, last: last, exported: c.visible(h, l)})
		c.bodies = append(c.bodies, span{i, last})
	}
	return min(last, end) + 1
}

// fields reads "T a = 1, b[] = {}, c;", starting at the type.
func (c *classReader) fields(i, end int, h heading, l level) int {
	at, stop := -1, -1
	name := func(next int) {
		if at < 0 || c.kind(at) != word || c.keywordAt(at) || l.parent < 0 {
			return
		}
		if stop < 0 {
			stop = next
		}
		c.declareAt(at, declaration{kind: codegraph.KindProperty, within: l.scope, parent: l.parent, first: h.first, head: h.head, stop: stop, last: next - 1, exported: c.visible(h, l)})
		h.first, h.head = next+1, next+1
	}
	for i < end {
		switch o := c.op(i); {
		case o == ';' || o == '}':
			name(i)
			return i + 1
		case o == ',':
			name(i)
			at, stop = -1, -1
		case o == '=':
			if stop < 0 {
				stop = i
			}
			from := i + 1
			for i++; i < end && c.op(i) != ',' && c.op(i) != ';' && c.op(i) != '}'; {
				i = c.past(i, end)
			}
			c.bodies = append(c.bodies, span{from, i})
			continue
		case o == '<' && stop < 0:
			i = c.past(i, end)
			continue
		case c.kind(i) == word && stop < 0:
			at = i
		}
		i = c.skip(i)
	}
	return end
}
