package lexed

import "github.com/kenlayer/ken/internal/code/codegraph"

// typeBefore reports whether more than a name stands between i and at.
func (c *cReader) typeBefore(i, at int) bool {
	n := 0
	for k := i; k < at; k = c.skip(k) {
		if c.kind(k) == word && c.op(k+1) != opPath || c.op(k) == '>' {
			n++
		}
	}
	return n > 1
}

// variables declares the names between from and stop of a declaration that begins at
// head.
func (c *cReader) variables(head, from, stop, first int, l cLevel) {
	static := false
	for k := head; k < from+4 && k < stop; k++ {
		static = static || c.is(k, "static")
	}
	c.list(from, stop, func(i, end int) {
		at := c.declarator(i, c.valueAt(i, end))
		if at < 0 || c.kind(at) != word {
			return
		}
		_, names := c.path(at, i)
		c.mark(at, muted)
		d := declaration{kind: codegraph.KindVariable, name: c.text(at), within: l.scope, parent: l.parent, first: i, head: i, stop: c.valueAt(i, end), last: end - 1,
			exported: c.visible(l) && (!static || l.class != "")}
		if i == from {
			d.first, d.head = first, head
		}
		for _, n := range names {
			d.within = join(d.within, n)
		}
		if l.class != "" || len(names) > 0 && upper(names[len(names)-1]) {
			d.kind = codegraph.KindProperty
		}
		if d.doc = c.doc(d.first, d.head); d.doc == "" {
			d.doc = c.trailing(stop)
		}
		n := c.declare(d)
		if len(names) > 0 {
			c.outside = append(c.outside, n)
		}
		c.bodies = append(c.bodies, span{at, end - 1})
	})
}

// valueAt goes to the value, the size or the bits of a variable.
func (c *cReader) valueAt(i, end int) int {
	for k := i; k < end; k = c.skip(k) {
		switch o := c.op(k); o {
		case '=', '{', ':':
			return k
		case '[':
			if c.op(k+1) != '[' && k > i {
				return k
			}
		case '<':
			if shut := c.angle(k); shut > 0 && shut < end {
				k = shut
			}
		}
	}
	return end
}

// pointerVariable declares "int (*name)(int) = f;" or the function "int (*name(int))(int)".
func (c *cReader) pointerVariable(at, k, i, end, first int, l cLevel, static bool) int {
	stop := c.functionEnd(k, end)
	if c.op(stop) != '{' {
		stop = c.variableEnd(k, end)
	}
	c.mark(at, muted)
	d := declaration{kind: codegraph.KindVariable, name: c.text(at), within: l.scope, parent: l.parent, first: first, head: i, stop: c.valueAt(k+1, stop), last: min(stop, end-1), exported: c.visible(l) && (!static || l.class != "")}
	if l.class != "" {
		d.kind = codegraph.KindProperty
	}
	open := at + 1
	if c.op(open) == ')' && at == k+1 { // int (name)(args)
		open++
	}
	if c.op(open) == '(' && (open < c.match(k) || at == k+1) {
		d.kind = codegraph.KindFunction
		d.last = min(c.match(stop), end-1)
		if c.op(stop) == '{' {
			c.bodies = append(c.bodies, span{stop, d.last})
		}
	}
	n := c.declare(d)
	if d.kind == codegraph.KindFunction {
		c.parameterNames(open, int(c.places[n].last))
	}
	return int(c.places[n].last) + 1
}

// operator declares "operator+", named so, and conversions: "operator bool".
func (c *cReader) operator(k, i, end, first int, types []int, l cLevel, static bool) int {
	open := k + 1
	for open < end && open < k+12 && (c.op(open) != '(' || open == k+1 && c.op(open+1) == ')') {
		open++
	}
	if c.op(open) != '(' {
		return c.semicolonOrBody(k, end)
	}
	_, names := c.path(k, i)
	within := l.scope
	for _, n := range names {
		within = join(within, n)
	}
	stop := c.functionEnd(c.match(open)+1, end)
	d := declaration{kind: codegraph.KindFunction, name: c.signature(k, open), within: within, parent: l.parent, first: first, head: i, stop: c.signatureEnd(c.match(open)+1, stop), last: min(c.match(stop), end-1), exported: c.visible(l) && (!static || l.class != "")}
	if l.class != "" {
		d.kind = codegraph.KindMethod
	}
	n := c.declareFunction(d, names)
	last := int(c.places[n].last)
	for _, t := range types {
		c.typeParameters(t, last)
	}
	c.parameterNames(open, last)
	if c.op(stop) == '{' && stop < end {
		c.bodies = append(c.bodies, span{stop, last})
	}
	return last + 1
}

// parameterNames binds the names of parameters: the last word of each, if a type stands
// before it.
func (c *cReader) parameterNames(open, last int) {
	if c.op(open) != '(' {
		return
	}
	c.list(open+1, c.match(open), func(i, end int) {
		stop := c.valueAt(i, end)
		at := c.declarator(i, stop)
		if at < 0 {
			return
		}
		if at > i {
			c.local(at, open, last)
			c.mark(at, muted)
		} else if !c.plusplus && c.kind(c.match(open)+1) == word { // old style
			c.local(at, open, last)
		}
	})
}
