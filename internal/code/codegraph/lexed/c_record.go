package lexed

import "github.com/kenlayer/ken/internal/code/codegraph"

// recordWord reports whether a record or an enum begins at i.
func (c *cReader) recordWord(i int) bool {
	switch c.text(i) {
	case "struct", "union", "enum":
		return c.kind(i) == word
	case "class":
		return c.plusplus
	}
	return false
}

// recordBodyAt finds the name and the body of the record that begins at i. body is -1 if the record is only named.
func (c *cReader) recordBodyAt(i, end int) (name, colon, body int) {
	name, colon = -1, -1
	k := i + 1
	if c.is(i, "enum") && (c.is(k, "class") || c.is(k, "struct")) {
		k++
	}
	for n := 0; k < end && n < 60; n++ {
		switch o := c.op(k); {
		case o == '{':
			return name, colon, k
		case o == ':' && colon < 0:
			colon = k
		case o == ';' || o == '=' || closes(o) || o == ',' && colon < 0 || o == '*' && colon < 0 || o == '&' && colon < 0:
			return name, colon, -1
		case o == '(':
			if c.kind(k-1) == word && !allUpper(c.text(k-1)) && !c.lang.keywords[c.text(k-1)] && colon < 0 {
				return name, colon, -1
			}
		case o == '<':
			if shut := c.angle(k); shut > 0 {
				k = shut + 1
				continue
			}
		case c.kind(k) == word && colon < 0 && !c.is(k, "final") && !c.lang.keywords[c.text(k)] && !attributeWord(c, k):
			name = k
		}
		k = c.skip(k)
	}
	return name, colon, -1
}

// record declares a struct, class, union or enum with its members, and the variables declared after its body.
func (c *cReader) record(i, end, first int, types []int, l cLevel) int {
	name, colon, body := c.recordBodyAt(i, end)
	if body < 0 || body >= end {
		return c.semicolon(i, end)
	}
	last := c.match(body)
	stop := last + 1
	for stop < end && c.op(stop) != ';' && !closes(c.op(stop)) {
		stop = c.skip(stop)
	}
	d := declaration{kind: codegraph.KindType, within: l.scope, parent: l.parent, first: first, head: i, stop: body, last: last, exported: c.visible(l)}
	n := l.parent
	if name >= 0 {
		c.mark(name, notUse)
		d.name = c.text(name)
		for c.op(name-1) == opPath && c.kind(name-2) == word { // struct Outer::Inner {
			name -= 2
			c.mark(name, notUse)
			d.within = joinDotted(l.scope, c.text(name))
		}
		n = c.declare(d)
		for _, t := range types {
			c.typeParameters(t, last)
		}
		if colon > 0 && !c.is(i, "enum") {
			c.basesOf(n, colon+1, body)
		}
	}
	variable := -1
	if stop > last+1 && c.op(stop) == ';' && c.declarator(last+1, stop) > 0 {
		if k := len(c.file.Decls); name < 0 {
			c.variables(i, last+1, stop, first, l)
			if len(c.file.Decls) > k {
				variable = k
			}
		}
	}
	switch {
	case name >= 0:
		c.recordBody(i, body, n, l)
		if stop > last+1 && c.op(stop) == ';' {
			c.variables(i, last+1, stop, last+1, l)
		}
	case variable >= 0 && !c.is(i, "enum"):
		c.mark(body, container)
		v := c.file.Decls[variable]
		c.items(body+1, last, cLevel{parent: variable, scope: v.Qualified, class: "?", public: v.Exported, hidden: l.hidden})
	default:
		c.anonymous(i, body, l)
	}
	return stop + 1
}

// anonymous reads a record without a name: its members belong to the enclosing record.
func (c *cReader) anonymous(i, body int, l cLevel) {
	last := c.match(body)
	c.mark(body, container)
	if c.is(i, "enum") {
		c.enumerators(body, l.parent, l.scope, c.visible(l))
		return
	}
	inner := l
	if inner.class == "" {
		inner.class = "?"
	}
	c.items(body+1, last, inner)
}

// recordBody reads the members of the record declared as n.
func (c *cReader) recordBody(i, body, n int, l cLevel) {
	c.mark(body, container)
	d := c.file.Decls[n]
	if c.is(i, "enum") {
		scope := l.scope // in C, enumerators are used without the name of the enum
		if c.is(i+1, "class") || c.is(i+1, "struct") {
			scope = d.Qualified
		}
		c.enumerators(body, n, scope, d.Exported)
		return
	}
	c.items(body+1, c.match(body), cLevel{parent: n, scope: d.Qualified, class: d.Name, public: !c.is(i, "class"), hidden: l.hidden})
}

func (c *cReader) enumerators(body, parent int, scope string, exported bool) {
	kind := codegraph.KindProperty
	if !c.plusplus {
		scope = c.scope
	}
	if parent < 0 {
		kind = codegraph.KindVariable
	}
	c.list(body+1, c.match(body), func(i, end int) {
		if c.kind(i) != word || i >= end {
			return
		}
		c.mark(i, notUse)
		d := declaration{kind: kind, name: c.text(i), within: scope, parent: parent, first: i, head: i, stop: end, last: end - 1, exported: exported}
		d.doc = c.doc(i, i)
		if d.doc == "" {
			d.doc = c.trailing(end)
		}
		c.declare(d)
	})
}

// basesOf reads "public A, virtual B<C>".
func (c *cReader) basesOf(n, i, end int) {
	c.list(i, end, func(i, end int) {
		for i < end && (c.is(i, "public") || c.is(i, "private") || c.is(i, "protected") || c.is(i, "virtual")) {
			i++
		}
		c.base(n, codegraph.Inherits, i, end)
	})
}

// typeParameters binds "<typename T, int N, class... U>".
func (c *cReader) typeParameters(i, last int) {
	shut := c.angle(i)
	if shut < 0 {
		return
	}
	c.list(i+1, shut, func(k, end int) {
		at := end - 1
		for n := k; n < end; n = c.skip(n) {
			if c.op(n) == '=' {
				at = n - 1
				break
			}
		}
		if at > k {
			c.local(at, i, last)
			c.mark(at, notUse)
		}
	})
}

// concept declares a concept.
func (c *cReader) concept(i, end, first int, l cLevel) int {
	stop := c.semicolon(i, end)
	if c.kind(i+1) == word {
		c.mark(i+1, notUse)
		c.declare(declaration{kind: codegraph.KindInterface, name: c.text(i + 1), within: l.scope, parent: l.parent, first: first, head: first, stop: stop - 1, last: stop - 1, exported: c.visible(l)})
	}
	return stop
}

// assignParents sets the parents of members that are defined outside their class.
func (c *cReader) assignParents() {
	for _, n := range c.outside {
		d := &c.file.Decls[n]
		if t, ok := c.declared[parentOf(d.Qualified, d.Name)]; ok && t != n && c.file.Decls[t].Kind == codegraph.KindType {
			d.Parent = t
			d.Exported = d.Exported && c.file.Decls[t].Exported
		}
	}
}

// parentOf removes the last name from a qualified one. name may contain dots.
func parentOf(qualified, name string) string {
	if len(qualified) <= len(name) {
		return ""
	}
	return qualified[:len(qualified)-len(name)-1]
}

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
	c.mark(at, notUse)
	d.doc = c.doc(first, i)
	if d.doc == "" {
		d.doc = c.trailing(stop)
	}
	c.declare(d)
	c.moreTypedefs(at, stop, d)
	return stop + 1
}

// taggedTypedef declares "typedef struct tag { … } name" under its name, and under its tag if that differs.
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
		c.mark(tag, notUse)
		if c.text(tag) != d.name {
			t := d
			t.name, t.head, t.first = c.text(tag), i, i
			t.last = c.match(body)
			inner = c.declare(t)
		}
	}
	c.recordBody(i, body, inner, l)
}

// moreTypedefs declares the further names of a typedef: "*b" in "typedef struct a a, *b;".
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
			c.mark(k, notUse)
			c.declare(d)
		}
	}
}
