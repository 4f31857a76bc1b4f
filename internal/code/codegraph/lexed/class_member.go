package lexed

import "github.com/kenlayer/ken/internal/code/codegraph"

// components reads the parameters after a type's name. Those of a record are its properties.
func (c *classReader) components(open, n int, record bool) {
	p := c.file.Decls[n]
	last := int(c.places[n].last)
	c.list(open+1, c.match(open), func(i, end int) {
		_, i = c.modifiers(i, end)
		at := end - 1
		for k := i; k < end; k = c.skip(k) {
			if c.op(k) == '=' {
				at = k - 1
				break
			}
		}
		if c.kind(at) != word || at <= i {
			return
		}
		c.mark(at, notUse)
		if !record {
			c.local(at, open, last)
			return
		}
		c.declare(declaration{kind: codegraph.KindProperty, name: c.text(at), within: p.Qualified, parent: n, first: i, head: i, stop: end, last: end - 1, exported: p.Exported})
	})
}

// constants reads the constants of an enum and returns the token after them.
func (c *classReader) constants(open, n int) int {
	p := c.file.Decls[n]
	end := c.match(open)
	i := open + 1
	for i < end && c.op(i) != ';' {
		first := i
		_, i = c.modifiers(i, end)
		if c.kind(i) != word || c.op(i-1) == '.' {
			i = max(i, first) + 1
			continue
		}
		at := i
		c.mark(at, notUse)
		i++
		if c.op(i) == '(' {
			i = c.match(i) + 1
		}
		stop := i
		if c.op(i) == '{' && !c.csharp {
			c.bodies = append(c.bodies, span{i, c.match(i)})
			i = c.match(i) + 1
		}
		for i < end && c.op(i) != ',' && c.op(i) != ';' {
			i = c.skip(i)
			stop = i
		}
		i = min(i, end)
		c.declare(declaration{kind: codegraph.KindProperty, name: c.text(at), within: p.Qualified, parent: n, first: first, head: at, stop: stop, last: i - 1, exported: p.Exported})
		if c.op(i) == ',' {
			i++
		}
	}
	return i
}

// typedMember reads a method, a constructor, a field or a property. Its name is the first word followed by a bracket,
// an equals sign or a semicolon.
func (c *classReader) typedMember(i, end int, h heading, l level) int {
	if c.op(i) == '<' { // type parameters of a method
		if shut := c.angle(i); shut > 0 {
			i = shut + 1
		}
	}
	start := i
	if c.op(i) == '(' { // a tuple as the return type
		i = c.match(i) + 1
	}
	if c.op(i) == '~' {
		i++
	}
	for n := 0; i < end && n < 200; n++ {
		switch o := c.op(i); {
		case c.is(i, "operator") && c.csharp:
			return c.operator(i, end, h, l)
		case c.is(i, "this") && c.op(i+1) == '[' && c.csharp:
			return c.property(i, c.match(i+1)+1, end, h, l)
		case o == '(':
			if c.kind(i-1) == word && i > start || c.op(i-1) == '>' && i > start {
				return c.method(i, end, h, l)
			}
		case o == '<':
			if shut := c.angle(i); shut > 0 {
				i = shut + 1
				continue
			}
		case o == '{':
			if i > start && c.kind(i-1) == word && !c.keywordAt(i-1) {
				if c.csharp {
					return c.property(i-1, i, end, h, l)
				}
				return c.compact(i, end, h, l)
			}
			return c.match(i) + 1
		case o == opArrow:
			if c.csharp && i > start && c.kind(i-1) == word {
				return c.property(i-1, i, end, h, l)
			}
			return c.statementEnd(i, end)
		case o == '=' || o == ';' || o == ',':
			if i > start+1 && c.kind(i-1) == word || o == '=' && i > start && closes(c.op(i-1)) || i > start && o == ';' && closes(c.op(i-1)) {
				return c.fields(start, end, h, l)
			}
			return c.statementEnd(i, end)
		case closes(o):
			return i + 1
		}
		i = c.skip(i)
	}
	return max(i, start+1)
}

func (c *classReader) keywordAt(i int) bool { return c.kind(i) == word && c.lang.keywords[c.text(i)] }

// statementEnd returns the token after the next semicolon.
func (c *classReader) statementEnd(i, end int) int {
	for i < end && c.op(i) != ';' && c.op(i) != '}' {
		i = c.skip(i)
	}
	return i + 1
}

// method declares a method or constructor whose parameters open at i.
func (c *classReader) method(i, end int, h heading, l level) int {
	at, types := i-1, -1
	if c.op(at) == '>' { // C#: Name<T>(
		if k := c.angleBack(at); k > 0 && c.kind(k-1) == word {
			types, at = k, k-1
		}
	}
	open := i
	i = c.match(i) + 1
	for i < end && c.op(i) != '{' && c.op(i) != ';' && c.op(i) != opArrow && c.op(i) != '}' {
		i = c.skip(i)
	}
	d := declaration{kind: codegraph.KindMethod, name: c.text(at), within: l.scope, parent: l.parent, first: h.first, head: h.head, stop: i, last: i, exported: c.visible(h, l), test: h.test}
	body := i
	switch {
	case i >= end:
		d.last = end - 1
	case c.op(i) == '{':
		d.last = c.match(i)
	case c.op(i) == opArrow:
		d.last = c.statementEnd(i, end) - 1
	}
	if c.kind(at) != word || c.keywordAt(at) {
		return d.last + 1
	}
	if l.parent < 0 {
		if c.op(i) == ';' || at == h.first || c.kind(at-1) != word && !closes(c.op(at-1)) && c.op(at-1) != '>' && c.op(at-1) != '?' || c.is(at-1, "new") || c.is(at-1, "await") || c.is(at-1, "return") || c.controls(h.head) {
			c.bodies = append(c.bodies, span{h.head, d.last})
			return d.last + 1
		}
		d.kind = codegraph.KindFunction // next to the statements of a program
	}
	if c.op(at-1) == '~' {
		d.name = "~" + d.name
	}
	if l.name != "" && d.name == l.name && !c.csharp && at > h.head && c.kind(at-1) == word && !modifierWords[c.text(at-1)] {
		d.name = c.text(at) // a method with the name of its class
	}
	c.mark(at, notUse)
	if c.op(at-1) == '.' { // an explicit implementation of an interface's member
		c.mark(at-2, typed)
	}
	n := c.declare(d)
	last := int(c.places[n].last)
	if types >= 0 {
		c.typeParameters(types, h.head, last)
	}
	c.headTypes(h, at, last)
	c.parameterNames(open, last)
	if body < end && c.op(body) != ';' {
		c.bodies = append(c.bodies, span{body, last})
	}
	return last + 1
}

// controls reports whether a statement begins at i rather than a declaration.
func (c *classReader) controls(i int) bool {
	switch c.text(i) {
	case "if", "for", "foreach", "while", "switch", "using", "lock", "try", "do", "return", "await", "else", "catch", "fixed", "checked", "throw":
		return true
	}
	return false
}

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
		at := end - 1
		for k := i; k < end; k = c.skip(k) {
			if c.op(k) == '=' {
				at = k - 1
				break
			}
		}
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
		c.mark(at, notUse)
		if stop < 0 {
			stop = next
		}
		c.declare(declaration{kind: codegraph.KindProperty, name: c.text(at), within: l.scope, parent: l.parent, first: h.first, head: h.head, stop: stop, last: next - 1, exported: c.visible(h, l)})
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
				if c.op(i) == '<' {
					if shut := c.angle(i); shut > 0 {
						i = shut + 1
						continue
					}
				}
				i = c.skip(i)
			}
			c.bodies = append(c.bodies, span{from, i})
			continue
		case o == '<' && stop < 0:
			if shut := c.angle(i); shut > 0 {
				i = shut + 1
				continue
			}
		case c.kind(i) == word && stop < 0:
			at = i
		}
		i = c.skip(i)
	}
	return end
}
