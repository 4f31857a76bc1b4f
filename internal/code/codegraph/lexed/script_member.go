package lexed

import (
	"github.com/kenlayer/ken/internal/code/codegraph"
)

// members reads the members of a class, an interface or a type of an object.
func (s *scriptReader) members(i, end, parent int, class bool) {
	if s.depth++; s.depth > maxDepth {
		s.depth--
		return
	}
	for i < end {
		i = max(s.member(i, end, parent, class), i+1)
	}
	s.depth--
}

var memberModifiers = words("public private protected readonly static abstract override declare async accessor export get set")

func (s *scriptReader) member(i, end, parent int, class bool) int {
	first := i
	i = s.decorators(i, end)
	head, private, getter := i, false, false
	for i < end && s.kind(i) == word && memberModifiers[s.text(i)] && s.nameFollows(i, end) {
		private = private || s.is(i, "private")
		getter = getter || s.is(i, "get") || s.is(i, "set") || s.is(i, "accessor")
		i++
	}
	if s.op(i) == '*' {
		i++
	}
	p := s.file.Decls[parent]
	d := declaration{kind: codegraph.KindProperty, within: p.Qualified, parent: parent, first: first, head: head, exported: p.Exported && !private}
	switch {
	case i >= end:
		return end
	case s.is(i, "static") && s.op(i+1) == '{':
		return s.match(i+1) + 1
	case s.kind(i) == word && !(s.is(i, "new") && (s.op(i+1) == '(' || s.op(i+1) == '<') && !class):
		d.name = s.text(i)
		d.exported = d.exported && d.name[0] != '#'
	case s.kind(i) == text:
		d.name = unquote(s.text(i))
	case s.kind(i) == number:
		d.name = s.text(i)
	default: // a call or an index signature, a computed name, or rubbish
		return s.memberEnd(i, end)
	}
	if d.name == "" {
		return s.memberEnd(i, end)
	}
	s.mark(i, muted)
	nameAt := i
	i++
	for s.op(i) == '?' || s.op(i) == '!' {
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
		value = s.memberTypeEnd(i+1, end)
	}
	d.stop, d.last = value, value-1
	if s.op(value) != '=' {
		d.last = max(d.last, nameAt)
		s.declare(d)
		s.typeLiteral(i+1, value)
		return s.separator(value, end)
	}
	i = s.expressionEnd(value+1, end, true)
	d.last = i - 1
	if i == value+2 {
		d.stop = i
	}
	s.value(value+1, i, d)
	return s.separator(i, end)
}

// typeLiteral mutes the names of members in the type of a property: they are not declared,
// and are no uses.
func (s *scriptReader) typeLiteral(i, end int) {
	for ; i < end; i++ {
		if s.kind(i) == word && (s.op(i+1) == ':' || s.op(i+1) == '?' && s.op(i+2) == ':') {
			s.mark(i, muted)
		}
	}
}

func (s *scriptReader) separator(i, end int) int {
	if i < end && (s.op(i) == ';' || s.op(i) == ',') {
		return i + 1
	}
	return i
}

// nameFollows reports whether the word at i is a modifier of what follows.
func (s *scriptReader) nameFollows(i, end int) bool {
	if i+1 >= end {
		return false
	}
	switch n := s.toks[i+1]; n.kind {
	case word, text, number:
		return !n.first() || !s.is(i, "get") && !s.is(i, "set") && !s.is(i, "static") && !s.is(i, "accessor")
	default:
		return n.op == '[' || n.op == '*'
	}
}

func (s *scriptReader) memberTypeEnd(i, end int) int {
	for from := i; i < end; {
		o := s.op(i)
		if o == '=' || o == ';' || closes(o) || o == ',' || i > from && s.toks[i].first() && !s.continues(i) {
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

// memberEnd skips a member without a name of its own.
func (s *scriptReader) memberEnd(i, end int) int {
	if s.op(i) == '<' {
		if shut := s.angle(i); shut > 0 {
			i = shut + 1
		}
	} else if s.is(i, "new") {
		i++
		if s.op(i) == '<' {
			i = max(s.angle(i), i) + 1
		}
	}
	method := s.op(i) == '('
	i = s.skip(i)
	if s.op(i) == '?' {
		i++
	}
	if s.op(i) == '<' {
		i = max(s.angle(i), i) + 1
	}
	if s.op(i) == '(' { // a computed name of a method
		i, method = s.match(i)+1, true
	}
	switch {
	case s.op(i) == ':' && method:
		i = s.returnEnd(i+1, end)
	case s.op(i) == ':':
		i = s.memberTypeEnd(i+1, end)
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
			s.declare(declaration{kind: codegraph.KindProperty, name: s.text(i), within: p.Qualified, parent: parent, first: first, head: head, stop: end, last: end - 1, exported: p.Exported && !private})
		}
	})
}
