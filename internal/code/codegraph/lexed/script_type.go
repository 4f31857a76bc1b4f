package lexed

import "github.com/kenlayer/ken/internal/code/codegraph"

func (s *scriptReader) iface(i, end int, d declaration) int {
	i++
	d.kind, d.name = codegraph.KindInterface, s.text(i)
	s.mark(i, muted)
	i++
	open := s.braceAfter(i, end)
	d.stop, d.last = open, s.match(open)
	if open >= end {
		d.stop, d.last = i, i-1
		s.declare(d)
		return i
	}
	n := s.declare(d)
	s.heritage(n, i, open)
	s.mark(open, container)
	s.members(open+1, min(s.match(open), end), n, false)
	return s.match(open) + 1
}

func (s *scriptReader) enum(i, end int, d declaration) int {
	i++
	d.kind, d.name = codegraph.KindType, s.text(i)
	s.mark(i, muted)
	i++
	if s.op(i) != '{' {
		return i
	}
	d.stop, d.last = i, s.match(i)
	n := s.declare(d)
	s.mark(i, container)
	p := s.file.Decls[n]
	s.list(i+1, min(s.match(i), end), func(i, end int) {
		name := s.text(i)
		if s.kind(i) == text {
			name = unquote(name)
		} else if s.kind(i) != word {
			return
		}
		if name == "" {
			return
		}
		s.mark(i, muted)
		s.declare(declaration{kind: codegraph.KindProperty, name: name, within: p.Qualified, parent: n, first: i, head: i, stop: end, last: end - 1, exported: p.Exported})
	})
	return s.match(i) + 1
}

// alias reads "type A<T> = …". An object's type has members.
func (s *scriptReader) alias(i, end int, d declaration) int {
	i++
	d.kind, d.name = codegraph.KindType, s.text(i)
	s.mark(i, muted)
	i++
	types := i
	if s.op(i) == '<' {
		if shut := s.angle(i); shut > 0 {
			i = shut + 1
		}
	}
	value := i
	if s.op(i) == '=' {
		value++
	}
	i = s.aliasEnd(value, end)
	d.stop, d.last = i, i-1
	n := s.declare(d)
	if s.op(types) == '<' {
		s.typeParameters(types, int(s.places[n].last))
	}
	if s.op(value) == '{' && s.match(value) == i-1 && !s.mapped(value) {
		s.mark(value, container)
		s.members(value+1, s.match(value), n, false)
	} else {
		s.typeLiteral(value, i)
	}
	if s.op(i) == ';' {
		i++
	}
	return i
}

// mapped reports whether a type's brace opens "{ [K in T]: U }".
func (s *scriptReader) mapped(i int) bool {
	for i++; s.op(i) == '-' || s.op(i) == '+' || s.is(i, "readonly"); i++ {
	}
	return s.op(i) == '[' && s.is(i+2, "in")
}

// aliasEnd goes to the end of a type that is not in brackets.
func (s *scriptReader) aliasEnd(i, end int) int {
	for from := i; i < end; {
		o := s.op(i)
		if o == ';' || closes(o) || i > from && s.toks[i].first() && !s.continues(i) {
			return i
		}
		if o == '<' {
			if shut := s.angle(i); shut > 0 {
				i = shut + 1
				continue
			}
		}
		i = s.skip(i)
	}
	return end
}

// namespace reads "namespace A.B {", "module 'x' {" and "global {".
func (s *scriptReader) namespace(i, end int, a around, d declaration) (int, bool) {
	global := s.is(i, "global")
	at := i + 1
	d.kind = codegraph.KindNamespace
	for !global && s.name(at) && s.op(at+1) == '.' {
		at += 2
	}
	switch {
	case global && s.op(at) == '{' && s.lang.types:
		s.mark(at, container)
		s.block(at+1, min(s.match(at), end), around{parent: -1, scope: s.scope, exported: true, all: true})
		return s.match(at) + 1, true
	case global:
		return 0, false
	case s.kind(at) == text && s.lang.types:
		if s.op(at+1) != '{' {
			return at + 1, true
		}
		s.mark(at+1, container)
		s.block(at+2, min(s.match(at+1), end), around{parent: -1, scope: s.scope, exported: true, all: true})
		return s.match(at+1) + 1, true
	case !s.name(at) || s.op(at+1) != '{' || s.toks[at].first() || !s.lang.types:
		return 0, false
	}
	parent, scope := a.parent, a.scope
	for k := i + 1; k <= at; k += 2 {
		s.mark(k, muted)
		d.name, d.within, d.parent, d.stop, d.last = s.text(k), scope, parent, at+1, s.match(at+1)
		parent = s.declare(d)
		scope = join(scope, d.name)
	}
	s.mark(at+1, container)
	s.block(at+2, min(s.match(at+1), end), around{parent: parent, scope: scope, exported: d.exported, all: a.all})
	return s.match(at+1) + 1, true
}
