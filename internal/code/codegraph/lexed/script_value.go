package lexed

import "github.com/kenlayer/ken/internal/code/codegraph"

// variables reads "const a = 1, { b, c: d } = e".
func (s *scriptReader) variables(i, end int, d declaration) int {
	i++
	for n := 0; i < end; n++ {
		at := d
		if n > 0 {
			at.first, at.head = i, i
		}
		nameAt := i
		if opens(s.op(i)) { // a pattern
			i = s.match(i) + 1
		} else {
			i++
		}
		if s.op(i) == '!' {
			i++
		}
		value := i
		if s.op(i) == ':' {
			value = s.typeEnd(i+1, end)
		}
		stop := value
		if s.op(value) == '=' {
			value++
			i = s.expressionEnd(value, end, true)
			if i == value+1 && !opens(s.op(value)) { // short enough to show
				stop = i
			}
		} else {
			i = max(value, i)
			value = i
		}
		at.last = max(i-1, nameAt)
		s.variable(nameAt, value, i, stop, at)
		if s.op(i) != ',' {
			break
		}
		i++
	}
	if s.op(i) == ';' {
		i++
	}
	return i
}

// typeEnd goes behind a type after a colon: to "=" or the end of the statement.
func (s *scriptReader) typeEnd(i, end int) int {
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

// variable declares one variable, or the names of a pattern. What is a function or a
// class is declared as one.
func (s *scriptReader) variable(nameAt, value, end, stop int, d declaration) {
	if str, ok := s.require(value); ok && s.op(str+2) != '(' {
		s.required(nameAt, str)
		s.mute(nameAt, str+2)
		if s.kind(nameAt) == word || opens(s.op(nameAt)) {
			return
		}
	}
	if opens(s.op(nameAt)) {
		s.pattern(nameAt+1, s.match(nameAt), func(i int) {
			p := d
			p.kind, p.name, p.head, p.stop = codegraph.KindVariable, s.text(i), min(d.head, i), stop
			p.first, p.last = i, i
			s.mark(i, muted)
			s.declare(p)
		})
		return
	}
	if s.kind(nameAt) != word {
		return
	}
	s.mark(nameAt, muted)
	d.kind, d.name, d.stop = codegraph.KindVariable, s.text(nameAt), stop
	s.value(value, end, d)
}

// value declares a name for the value between i and end.
func (s *scriptReader) value(i, end int, d declaration) {
	if body := s.functionValue(i, end); body > 0 {
		d.kind, d.stop = funcKind(d.kind), body
		s.declare(d)
		return
	}
	if s.is(i, "class") && s.op(i+1) != '.' {
		d.kind = codegraph.KindType
		s.classBody(i, end, d, i+1)
		return
	}
	n := s.declare(d)
	if s.op(i) == '{' && d.parent < 0 {
		s.object(i+1, min(s.match(i), end), n)
	}
}

func funcKind(k codegraph.Kind) codegraph.Kind {
	if k == codegraph.KindProperty {
		return codegraph.KindMethod
	}
	return codegraph.KindFunction
}

// functionValue tells a function, and returns where its body or its arrow's value
// begins; 0 for another value.
func (s *scriptReader) functionValue(i, end int) int {
	if s.is(i, "async") && !s.toks[min(i+1, len(s.toks)-1)].first() {
		i++
	}
	switch {
	case s.is(i, "function"):
		for i < end && s.op(i) != '{' {
			i = s.skip(i)
		}
		if i < end {
			return i
		}
		return 0
	case s.kind(i) == word && s.op(i+1) == opArrow:
		return i + 1
	case s.op(i) == '<':
		if i = s.angle(i) + 1; i <= 0 || s.op(i) != '(' {
			return 0
		}
	case s.op(i) != '(':
		return 0
	}
	i = s.match(i) + 1
	if s.op(i) == opArrow {
		return i
	}
	if s.op(i) != ':' {
		return 0
	}
	arrow := 0
	for n := 0; i < end && n < 400; n++ {
		if s.op(i) == opArrow {
			arrow = i
			if s.op(i+1) == '{' {
				break
			}
		}
		i = s.skip(i)
	}
	return arrow
}

// object declares the methods of an object that is declared at file level.
func (s *scriptReader) object(i, end, parent int) {
	p := s.file.Decls[parent]
	s.list(i, end, func(i, end int) {
		start := i
		for s.kind(i) == word && s.kind(i+1) == word && (s.is(i, "async") || s.is(i, "get") || s.is(i, "set")) || s.op(i) == '*' {
			i++
		}
		if s.kind(i) != word || i+1 >= end {
			return
		}
		d := declaration{kind: codegraph.KindMethod, name: s.text(i), within: p.Qualified, parent: parent, first: start, head: start, last: end - 1, exported: p.Exported}
		switch {
		case s.op(i+1) == '(' || s.op(i+1) == '<':
			for body := i + 1; body < end; body = s.skip(body) {
				if s.op(body) == '{' {
					d.stop = body
					s.mark(i, muted)
					s.declare(d)
					return
				}
			}
		case s.op(i+1) == ':':
			if body := s.functionValue(i+2, end); body > 0 {
				d.stop = body
				s.mark(i, muted)
				s.declare(d)
			}
		}
	})
}

// pattern calls f with the names that a pattern binds, between i and end. Brackets in
// it are gone through by the same loop, so that nesting costs no stack.
func (s *scriptReader) pattern(i, end int, f func(i int)) {
	due := true // a name or a pattern
	for i < end {
		switch o := s.op(i); {
		case o == ',' || o == opSpread:
			due = true
		case closes(o):
			due = false
		case due && opens(o): // go in
		case due && s.kind(i) == word:
			if s.op(i+1) == ':' && s.inObject(i) {
				s.mark(i, muted)
				i++
				break
			}
			if s.kind(i+1) == word && (parameterWords[s.text(i)]) {
				break
			}
			f(i)
			due = false
		case due && o == '@':
			i = s.decorators(i, end) - 1
		case o == '=' || o == ':':
			i = s.partEnd(i+1, end, o == ':') - 1
			due = false
		}
		i++
	}
}

var parameterWords = words("public private protected readonly override")

// partEnd goes to the comma or bracket that ends a default value, or to the "=" too
// after a type.
func (s *scriptReader) partEnd(i, end int, types bool) int {
	for i < end {
		o := s.op(i)
		if o == ',' || closes(o) || types && o == '=' {
			return i
		}
		if o == '<' {
			if shut := s.angle(i); shut > 0 && shut < end && (types || s.typesEnd(shut)) {
				i = shut + 1
				continue
			}
		}
		i = s.skip(i)
	}
	return end
}

// inObject reports whether a name with a colon after it is the key of a pattern: it
// is, where the nearest open bracket before it is a brace. It looks back at most maxBack
// tokens.
func (s *scriptReader) inObject(i int) bool {
	for n := 0; n < 4*maxBack && i > 0; n++ {
		i--
		o := s.op(i)
		if opens(o) {
			return o == '{'
		}
		if closes(o) {
			if s.toks[i].match < 0 {
				return false
			}
			i = int(s.toks[i].match)
		}
	}
	return false
}
