package lexed

import "github.com/kenlayer/ken/internal/code/codegraph"

// recordWord reports whether a record or an enum begins at i.
func (c *cReader) recordWord(i int) bool {
	return c.is(i, "struct") || c.is(i, "union") || c.is(i, "enum") || c.plusplus && c.is(i, "class")
}

// scopedEnum reports whether "enum class" begins at i.
func (c *cReader) scopedEnum(i int) bool {
	return c.is(i, "enum") && (c.is(i+1, "class") || c.is(i+1, "struct"))
}

// recordBodyAt finds the name and the body of the record that begins at i. body is -1 if the record is only named.
func (c *cReader) recordBodyAt(i, end int) (name, colon, body int) {
	name, colon = -1, -1
	k := i + 1
	if c.scopedEnum(i) {
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
		case c.kind(k) == word && colon < 0 && !c.is(k, "final") && !c.lang.keywords[c.text(k)] && !attributeWord(c, k):
			name = k
		}
		k = c.past(k, len(c.toks))
	}
	return name, colon, -1
}

// record declares a struct, class, union or enum with its members, and the variables declared after its body.
func (c *cReader) record(i, end, first int, types []int, l cLevel) int {
	name, colon, body := c.recordBodyAt(i, end)
	if body < 0 || body >= end {
		return c.statementEnd(i, end)
	}
	last := c.match(body)
	stop := c.find(last+1, end, ';', ')', ']', '}')
	named := stop > last+1 && c.op(stop) == ';' // variables may come after the body
	if name >= 0 {
		d := declaration{kind: codegraph.KindType, name: c.text(name), within: l.scope, parent: l.parent, first: first, head: i, stop: body, last: last, exported: c.visible(l)}
		c.mark(name, notUse)
		for c.op(name-1) == opPath && c.kind(name-2) == word { // struct Outer::Inner {
			name -= 2
			c.mark(name, notUse)
			d.within = joinDotted(l.scope, c.text(name))
		}
		n := c.declare(d)
		c.typeParameters(types, last)
		if colon > 0 && !c.is(i, "enum") {
			c.list(colon+1, body, func(i, end int) { // public A, virtual B<C>
				for i < end && (c.is(i, "public") || c.is(i, "private") || c.is(i, "protected") || c.is(i, "virtual")) {
					i++
				}
				c.base(n, codegraph.Inherits, i, end)
			})
		}
		c.recordBody(i, body, n, l)
		if named {
			c.variables(i, last+1, stop, last+1, l)
		}
		return stop + 1
	}
	variable := len(c.file.Decls)
	if named && c.declarator(last+1, stop) > 0 {
		c.variables(i, last+1, stop, first, l)
	}
	inner := l // without a variable, the members belong to the enclosing record
	switch {
	case variable < len(c.file.Decls) && !c.is(i, "enum"):
		v := c.file.Decls[variable]
		inner = cLevel{parent: variable, scope: v.Qualified, class: "?", public: v.Exported, hidden: l.hidden}
	case c.is(i, "enum"):
		c.enumerators(body, l.parent, l.scope, c.visible(l))
		return stop + 1
	case inner.class == "":
		inner.class = "?"
	}
	c.mark(body, container)
	c.items(body+1, last, inner)
	return stop + 1
}

// recordBody reads the members of the record declared as n.
func (c *cReader) recordBody(i, body, n int, l cLevel) {
	d := c.file.Decls[n]
	if c.is(i, "enum") {
		scope := l.scope // in C, enumerators are used without the name of the enum
		if c.scopedEnum(i) {
			scope = d.Qualified
		}
		c.enumerators(body, n, scope, d.Exported)
		return
	}
	c.mark(body, container)
	c.items(body+1, c.match(body), cLevel{parent: n, scope: d.Qualified, class: d.Name, public: !c.is(i, "class"), hidden: l.hidden})
}

func (c *cReader) enumerators(body, parent int, scope string, exported bool) {
	c.mark(body, container)
	kind := codegraph.KindProperty
	if !c.plusplus {
		scope = c.scope
	}
	if parent < 0 {
		kind = codegraph.KindVariable
	}
	c.list(body+1, c.match(body), func(i, end int) {
		if c.kind(i) == word && i < end {
			c.mark(i, notUse)
			c.documented(declaration{kind: kind, name: c.text(i), within: scope, parent: parent, first: i, head: i, stop: end, last: end - 1, exported: exported}, end)
		}
	})
}

// typeParameters binds "<typename T, int N, class... U>" in lists, which are given by their first tokens.
func (c *cReader) typeParameters(lists []int, last int) {
	for _, i := range lists {
		c.list(i+1, c.angle(i), func(k, end int) {
			if at := c.find(k, end, '=') - 1; at > k {
				c.local(at, i, last)
				c.mark(at, notUse)
			}
		})
	}
}

// assignParents sets the parents of members that are defined outside their class.
func (c *cReader) assignParents() {
	for _, n := range c.outside {
		d := &c.file.Decls[n]
		owner := d.Qualified[:max(len(d.Qualified)-len(d.Name)-1, 0)] // the name may contain dots
		if t, ok := c.declared[owner]; ok && t != n && c.file.Decls[t].Kind == codegraph.KindType {
			d.Parent = t
			d.Exported = d.Exported && c.file.Decls[t].Exported
		}
	}
}

// typedef declares the last name of its declaration, or the one in parentheses.
func (c *cReader) typedef(i, end, first int, l cLevel) int {
	body, from := -1, i+1
	if c.recordWord(from) || c.is(from, "class") {
		if k := c.find(i+2, min(i+8, end), '{', ';'); k < min(i+8, end) && c.op(k) == '{' {
			body = k
		}
	}
	stop := from
	for stop < end && c.op(stop) != ';' && !(c.op(stop) == '}' && stop != from) {
		stop = c.skip(stop)
	}
	stop = min(stop, end)
	if body > 0 {
		from = c.match(body) + 1
	}
	at := c.declarator(from, stop)
	if at < 0 && body > 0 {
		return c.record(i+1, end, first, nil, l)
	}
	if at < 0 {
		return stop + 1
	}
	d := declaration{kind: codegraph.KindType, name: c.text(at), within: l.scope, parent: l.parent, first: first, head: i, stop: stop, last: stop, exported: c.visible(l)}
	if body > 0 {
		d.stop = body
		c.taggedTypedef(i+1, body, d, l)
		c.moreTypedefs(from, stop, d)
		return stop + 1
	}
	c.mark(at, notUse)
	c.documented(d, stop)
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
	if tag >= 0 && c.text(tag) != d.name {
		d.head, d.first, d.last = i, i, c.match(body)
		n = c.declareAt(tag, d)
	} else {
		c.mark(tag, notUse)
	}
	c.recordBody(i, body, n, l)
}

// moreTypedefs declares the further names of a typedef: "*b" in "typedef struct a a, *b;".
func (c *cReader) moreTypedefs(at, stop int, d declaration) {
	for k := at; k < stop && c.op(k) != '<'; k = c.skip(k) {
		if c.op(k) != ',' {
			continue
		}
		for k++; c.op(k) == '*'; k++ {
		}
		if c.name(k) {
			c.declareAt(k, d)
		}
	}
}
