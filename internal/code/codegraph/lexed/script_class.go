package lexed

import "github.com/kenlayer/ken/internal/code/codegraph"

// class reads a class at the word "class".
func (s *scriptReader) class(i, end int, d declaration, deflt bool) int {
	d.kind, d.name = codegraph.KindType, "default"
	if i++; s.name(i) && !s.is(i, "extends") && !s.is(i, "implements") || !deflt && s.kind(i) == word {
		d.name = s.text(i)
		s.mark(i, notUse)
		i++
	}
	return s.classBody(i-1, end, d, i)
}

// classBody reads a class from the token after its name.
func (s *scriptReader) classBody(from, end int, d declaration, i int) int {
	if s.name(i) && !s.is(i, "implements") && i > from+1 { // "= class Name"
		s.mark(i, notUse)
		i++
	}
	open := s.braceAfter(i, end)
	d.stop, d.last = open, s.match(open)
	if open >= end {
		d.last = min(i, end-1)
	}
	s.typeBody(d, i, open, end, true)
	return min(s.match(open), end) + 1
}

// typeBody declares a class or an interface, whose type parameters begin at i and whose body opens at open.
func (s *scriptReader) typeBody(d declaration, i, open, end int, class bool) {
	n := s.declare(d)
	s.heritage(n, i, open)
	if open < end {
		s.mark(open, container)
		s.members(open+1, min(s.match(open), end), n, class)
	}
}

// braceAfter returns the brace that opens a body, or end.
func (s *scriptReader) braceAfter(i, end int) int {
	for n := 0; i < end && n < 1000; n++ {
		switch o := s.op(i); {
		case o == '{':
			return i
		case o == ';' || closes(o):
			return end
		}
		i = s.past(i, len(s.toks))
	}
	return end
}

// heritage reads type parameters, "extends" and "implements" between i and open.
func (s *scriptReader) heritage(n, i, open int) {
	s.typeParameters(i, -1, int(s.places[n].last))
	for i = s.afterTypes(i); i < open; i = s.skip(i) {
		kind := codegraph.Inherits
		if s.is(i, "implements") {
			kind = codegraph.Implements
		} else if !s.is(i, "extends") {
			continue
		}
		end := i + 1
		for end < open && !s.is(end, "implements") && !s.is(end, "extends") {
			end = s.skip(end)
		}
		s.list(i+1, end, func(i, end int) { s.base(n, kind, i, end) })
	}
}

func (s *scriptReader) function(i, end int, d declaration, deflt bool) int {
	if i++; s.op(i) == '*' {
		i++
	}
	d.kind, d.name = codegraph.KindFunction, "default"
	if s.kind(i) == word {
		d.name = s.text(i)
		s.mark(i, notUse)
		i++
	} else if !deflt {
		return i
	}
	return s.callable(i, end, d)
}

// callable declares a function or method whose parameters begin at i. It returns the token after the body, if any.
func (s *scriptReader) callable(i, end int, d declaration) int {
	types, open := i, s.afterTypes(i)
	i = open
	if s.op(i) == '(' {
		i = s.match(i) + 1
	}
	returns := i + 1
	if s.op(i) == ':' {
		i = s.returnEnd(i+1, end)
	}
	d.stop, d.last = i, i-1
	if s.op(i) == '{' && i < end {
		d.last = s.match(i)
		i = d.last + 1
	} else if s.op(i) == ';' {
		i++
	}
	d.last = min(d.last, end-1)
	n := s.declare(d)
	s.declType(n, returns, d.stop, true)
	s.typeParameters(types, -1, int(s.places[n].last))
	s.parameters(open, int(s.places[n].last))
	s.innerClasses(n, d.stop)
	return i
}

// returnEnd returns the token after a return type: the body, or the end of the statement.
func (s *scriptReader) returnEnd(i, end int) int {
	due := true // a type is expected: a brace opens an object type and not the body
	for from := i; i < end; i = s.past(i, len(s.toks)) {
		o := s.op(i)
		if o == '{' && !due || o == ';' || o == ',' || closes(o) || i > from && !due && s.toks[i].first() && !s.continues(i) {
			return i
		}
		due = o == '|' || o == '&' || o == opArrow || o == ':' || o == '?' ||
			s.kind(i) == word && (s.is(i, "is") && s.kind(i-1) == word || s.is(i, "keyof") || s.is(i, "readonly") || s.is(i, "extends"))
	}
	return end
}

// members reads the members of a class, an interface or an object type.
func (s *scriptReader) members(i, end, parent int, class bool) {
	s.nested(i, end, func(i int) int { return s.member(i, end, parent, class) })
}

var memberModifiers = words("public private protected readonly static abstract override declare async accessor export get set")

func (s *scriptReader) member(i, end, parent int, class bool) int {
	first := i
	head := s.decorators(i, end)
	i, private, getter := s.modifiers(head, end)
	switch {
	case i >= end:
		return end
	case s.is(i, "static") && s.op(i+1) == '{':
		return s.match(i+1) + 1
	}
	name := s.memberName(i, class)
	if name == "" {
		return s.memberEnd(i, end)
	}
	p := s.file.Decls[parent]
	d := declaration{kind: codegraph.KindProperty, name: name, within: p.Qualified, parent: parent, first: first, head: head, exported: p.Exported && !private && s.text(i)[0] != '#'}
	s.mark(i, notUse)
	nameAt := i
	for i++; s.op(i) == '?' || s.op(i) == '!'; {
		i++
	}
	if s.op(i) == '(' || s.op(i) == '<' {
		if !getter {
			d.kind = codegraph.KindMethod
		}
		if class && d.name == "constructor" {
			s.parameterProperties(i, parent)
		}
		return s.callable(i, end, d)
	}
	value := i
	if s.op(i) == ':' {
		value = s.typeEnd(i+1, end, '=', ',')
	}
	d.stop, d.last = value, value-1
	if s.op(value) != '=' {
		d.last = max(d.last, nameAt)
		s.declType(s.declare(d), i+1, value, true)
		s.typeLiteral(i+1, value)
		return s.separator(value, end)
	}
	i = s.expressionEnd(value+1, end, true)
	d.last = i - 1
	if i == value+2 {
		d.stop = i
	}
	n := len(s.file.Decls)
	s.value(value+1, i, d)
	if n < len(s.file.Decls) {
		s.variableType(n, nameAt, value+1, i)
	}
	return s.separator(i, end)
}

// modifiers reads the modifiers of a member, and returns the token after them.
func (s *scriptReader) modifiers(i, end int) (next int, private, getter bool) {
	for i < end && s.kind(i) == word && memberModifiers[s.text(i)] && s.nameFollows(i, end) {
		private = private || s.is(i, "private")
		getter = getter || s.is(i, "get") || s.is(i, "set") || s.is(i, "accessor")
		i++
	}
	if s.op(i) == '*' {
		i++
	}
	return i, private, getter
}

// memberName returns the name of the member at i. It is "" for a call or an index signature, a computed name, and
// invalid code.
func (s *scriptReader) memberName(i int, class bool) string {
	switch s.kind(i) {
	case word:
		if !class && s.is(i, "new") && (s.op(i+1) == '(' || s.op(i+1) == '<') {
			return ""
		}
		return s.text(i)
	case text:
		return unquote(s.text(i))
	case number:
		return s.text(i)
	}
	return ""
}

// typeLiteral marks the names of members in the type of a property as no uses. They are not declared, either.
func (s *scriptReader) typeLiteral(i, end int) {
	for ; i < end; i++ {
		if s.kind(i) == word && (s.op(i+1) == ':' || s.op(i+1) == '?' && s.op(i+2) == ':') {
			s.mark(i, notUse)
		}
	}
}

func (s *scriptReader) separator(i, end int) int {
	if i < end && (s.op(i) == ';' || s.op(i) == ',') {
		return i + 1
	}
	return i
}

// nameFollows reports whether the word at i is a modifier of the next token.
func (s *scriptReader) nameFollows(i, end int) bool {
	if i+1 >= end {
		return false
	}
	n := s.toks[i+1]
	if n.kind == punct {
		return n.op == '[' || n.op == '*'
	}
	return !n.first() || !s.is(i, "get") && !s.is(i, "set") && !s.is(i, "static") && !s.is(i, "accessor")
}

// memberEnd skips a member without a name.
func (s *scriptReader) memberEnd(i, end int) int {
	if i = s.afterTypes(i); s.is(i, "new") {
		i = s.afterTypes(i + 1)
	}
	method := s.op(i) == '('
	if i = s.skip(i); s.op(i) == '?' {
		i++
	}
	i = s.afterTypes(i)
	if s.op(i) == '(' { // the computed name of a method
		i, method = s.match(i)+1, true
	}
	switch {
	case s.op(i) == ':' && method:
		i = s.returnEnd(i+1, end)
	case s.op(i) == ':':
		i = s.typeEnd(i+1, end, '=', ',')
	}
	if s.op(i) == '{' {
		return s.match(i) + 1
	}
	if s.op(i) == '=' {
		i = s.expressionEnd(i+1, end, true)
	}
	return s.separator(i, end)
}

// parameterProperties declares "constructor(private x: T)".
func (s *scriptReader) parameterProperties(open, parent int) {
	if s.op(open) != '(' {
		return
	}
	p := s.file.Decls[parent]
	s.list(open+1, s.match(open), func(i, end int) {
		first := i
		i = s.decorators(i, end)
		head, private := i, false
		for i+1 < end && s.kind(i) == word && parameterWords[s.text(i)] && s.kind(i+1) == word {
			private = private || s.is(i, "private")
			i++
		}
		if i > head && s.kind(i) == word {
			at := s.declare(declaration{kind: codegraph.KindProperty, name: s.text(i), within: p.Qualified, parent: parent, first: first, head: head, stop: end, last: end - 1, exported: p.Exported && !private})
			if s.op(i+1) == ':' {
				s.declType(at, i+2, s.partEnd(i+2, end, true), true)
			}
		}
	})
}

func (s *scriptReader) iface(i, end int, d declaration) int {
	d.kind, d.name = codegraph.KindInterface, s.text(i+1)
	s.mark(i+1, notUse)
	i += 2
	open := s.braceAfter(i, end)
	if d.stop, d.last = open, s.match(open); open >= end {
		d.stop, d.last = i, i-1
		s.declare(d)
		return i
	}
	s.typeBody(d, i, open, end, false)
	return s.match(open) + 1
}

func (s *scriptReader) enum(i, end int, d declaration) int {
	open := i + 2
	if s.mark(i+1, notUse); s.op(open) != '{' {
		return open
	}
	d.kind, d.stop, d.last = codegraph.KindType, open, s.match(open)
	n := s.declareAt(i+1, d)
	s.mark(open, container)
	p := s.file.Decls[n]
	s.list(open+1, min(d.last, end), func(i, end int) {
		name := s.text(i)
		if s.kind(i) == text {
			name = unquote(name)
		}
		if name != "" && (s.kind(i) == text || s.kind(i) == word) {
			s.mark(i, notUse)
			s.declare(declaration{kind: codegraph.KindProperty, name: name, within: p.Qualified, parent: n, first: i, head: i, stop: end, last: end - 1, exported: p.Exported})
		}
	})
	return d.last + 1
}

// alias reads "type A<T> = …". An object type has members.
func (s *scriptReader) alias(i, end int, d declaration) int {
	types := i + 2
	value := s.afterTypes(types)
	if s.op(value) == '=' {
		value++
	}
	stop := s.typeEnd(value, end)
	d.kind, d.stop, d.last = codegraph.KindType, stop, stop-1
	n := s.declareAt(i+1, d)
	s.typeParameters(types, -1, int(s.places[n].last))
	s.declType(n, value, stop, true)
	if s.op(value) == '{' && s.match(value) == stop-1 && !s.mapped(value) {
		s.mark(value, container)
		s.members(value+1, s.match(value), n, false)
	} else {
		s.typeLiteral(value, stop)
	}
	if s.op(stop) == ';' {
		stop++
	}
	return stop
}

// mapped reports whether the brace at i opens a mapped type: "{ [K in T]: U }".
func (s *scriptReader) mapped(i int) bool {
	for i++; s.op(i) == '-' || s.op(i) == '+' || s.is(i, "readonly"); i++ {
	}
	return s.op(i) == '[' && s.is(i+2, "in")
}

// namespace reads "namespace A.B {", "module 'x' {" and "global {".
func (s *scriptReader) namespace(i, end int, a scriptContext, d declaration) (next int, ok bool) {
	open := i + 1
	if !s.lang.types {
		return 0, false
	}
	inner := scriptContext{parent: -1, scope: s.scope, exported: true, all: true}
	switch {
	case s.is(i, "global"):
		if s.op(open) != '{' {
			return 0, false
		}
	case s.kind(open) == text:
		if open++; s.op(open) != '{' {
			return open, true
		}
	default:
		at := i + 1
		for s.name(at) && s.op(at+1) == '.' {
			at += 2
		}
		open = at + 1
		if !s.name(at) || s.op(open) != '{' || s.toks[at].first() {
			return 0, false
		}
		inner = scriptContext{parent: a.parent, scope: a.scope, exported: d.exported, all: a.all}
		for k := i + 1; k <= at; k += 2 {
			d.kind, d.within, d.parent, d.stop, d.last = codegraph.KindNamespace, inner.scope, inner.parent, open, s.match(open)
			inner.parent = s.declareAt(k, d)
			inner.scope = joinDotted(inner.scope, s.text(k))
		}
	}
	s.mark(open, container)
	s.block(open+1, min(s.match(open), end), inner)
	return s.match(open) + 1, true
}
