package lexed

import (
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// expression reads any other statement. It declares assignments to exports and to members of what the file declares,
// and declarations in a function that wraps the whole file.
func (s *scriptReader) expression(i, end int, a scriptContext, d declaration, deflt bool) int {
	stop := max(s.expressionEnd(i, end, false), i)
	next := stop
	if s.op(stop) == ';' && stop < end {
		next++
	}
	if next == i { // an unmatched closing bracket
		return i + 1
	}
	d.last = stop - 1
	open := s.wrapper(i, stop)
	switch {
	case deflt:
		s.defaultValue(i, stop, d)
	case a.parent >= 0:
	case open > 0:
		s.mark(open, container)
		s.block(open+1, min(s.match(open), stop), scriptContext{parent: -1, scope: a.scope, exported: a.exported})
	default:
		s.noteTestTitle(i)
		s.definedProperty(i, stop, d)
		s.assignments(i, stop, d)
	}
	return next
}

// defaultValue reads "export default …" if it is not a function or class declaration.
func (s *scriptReader) defaultValue(i, stop int, d declaration) {
	if s.name(i) && i+1 >= stop {
		s.exportName(s.text(i))
		s.exportAs("default", s.text(i))
		return
	}
	d.kind, d.name, d.stop, d.exported = codegraph.KindVariable, "default", min(i+1, stop), true
	s.value(i, stop, d)
}

// definedProperty declares the property in "Object.defineProperty(a, 'b', …)", and in a call of a function whose name
// begins in the same way: "defineGetter(a, 'b', …)".
func (s *scriptReader) definedProperty(i, stop int, d declaration) {
	if s.is(i, "Object") && s.op(i+1) == '.' {
		i += 2
	}
	open := i + 1
	if s.op(open) != '(' || !strings.HasPrefix(s.text(i), "define") || s.kind(open+1) != word || s.op(open+2) != ',' || s.kind(open+3) != text || s.op(open+4) != ',' {
		return
	}
	owner, ok := s.declared[joinDotted(s.scope, s.text(open+1))]
	d.name = unquote(s.text(open + 3))
	if !ok || d.name == "" || strings.ContainsAny(d.name, "\\./:# ") {
		return
	}
	p := s.file.Decls[owner]
	if _, again := s.declared[joinDotted(p.Qualified, d.name)]; !again {
		d.kind, d.within, d.parent, d.exported, d.stop = codegraph.KindProperty, p.Qualified, owner, p.Exported, min(open+4, stop)
		s.declare(d)
	}
}

// assignments reads "a.b = c.d = value".
func (s *scriptReader) assignments(i, stop int, d declaration) {
	for n := 0; i < stop && n < 1000; n++ {
		eq := i
		for s.kind(eq) == word && (s.op(eq+1) == '.') {
			eq += 2
		}
		if s.kind(eq) != word || s.op(eq+1) != '=' || eq+1 >= stop {
			return
		}
		s.assignment(i, eq, eq+2, stop, d)
		i = eq + 2
		d.first, d.head = i, i
	}
}

// assignment declares the target of an assignment: the path from i to at.
func (s *scriptReader) assignment(i, at, value, stop int, d declaration) {
	d.stop, d.exported = at+1, true
	s.exportValue(i, at, value, stop)
	switch parts := (at-i)/2 + 1; {
	case s.exportsAt(i, at):
		s.moduleExports(value, stop, d)
		return
	case s.exportsAt(i, at-2):
		if s.name(value) && value+1 >= stop {
			s.exportName(s.text(value))
			if n, ok := s.names[s.text(value)]; s.text(value) == s.text(at) && (!ok || n.qualified != "") { // else it is a library's
				return
			}
		}
		if _, ok := s.declared[joinDotted(s.scope, s.text(at))]; ok && s.functionValue(value, stop) == 0 {
			s.exportName(s.text(at))
			return
		}
		d.kind, d.name, d.within, d.parent = codegraph.KindVariable, s.text(at), s.scope, -1
	case parts == 2 || parts == 3 && s.is(i+2, "prototype"):
		owner, ok := s.declared[joinDotted(s.scope, s.text(i))]
		if !ok || s.is(at, "prototype") {
			return
		}
		p := s.file.Decls[owner]
		for s.kind(value) == word && (s.op(value+1) == '.' || s.op(value+1) == '=') && value+2 < stop { // a.b = a.c = value
			value += 2
		}
		_, again := s.declared[joinDotted(p.Qualified, s.text(at))]
		if again || s.functionValue(value, stop) == 0 && parts == 2 && p.Kind == codegraph.KindVariable {
			return
		}
		d.kind, d.name, d.within, d.parent, d.exported = codegraph.KindProperty, s.text(at), p.Qualified, owner, p.Exported
	default:
		return
	}
	s.markNotUse(i, at+1)
	s.value(value, stop, d)
}

// exportsAt reports whether the path from i to end is "module.exports" or "exports".
func (s *scriptReader) exportsAt(i, end int) bool {
	return s.is(i, "module") && s.is(i+2, "exports") && end == i+2 || s.is(i, "exports") && end == i
}

// exportValue records "module.exports = a", "exports.b = a" and the same with "require('x')".
func (s *scriptReader) exportValue(i, at, value, stop int) {
	local := "default"
	if s.exportsAt(i, at-2) {
		local = s.text(at)
	} else if !s.exportsAt(i, at) {
		return
	}
	if str, ok := s.require(value); ok {
		if _, scope := s.set.scripts.resolve(s.file.Path, unquote(s.text(str))); scope != "" {
			s.addAlias(local, scope+".default")
			if local == "default" {
				s.addAlias("*", scope)
			}
		}
		return
	}
	if s.name(value) && (value+1 >= stop || s.op(value+1) == '=') {
		s.exportAs(local, s.text(value))
	}
}

// moduleExports reads the value assigned to module.exports.
func (s *scriptReader) moduleExports(i, stop int, d declaration) {
	switch {
	case s.name(i) && i+1 >= stop:
		s.exportName(s.text(i))
	case s.name(i) && s.op(i+1) == '=': // another assignment
	case s.op(i) == '{':
		s.list(i+1, min(s.match(i), stop), func(i, end int) {
			if s.kind(i) != word {
				return
			}
			pair := s.op(i+1) == ':' && s.name(i+2) && i+3 >= end
			switch {
			case i+1 >= end || pair && s.text(i+2) == s.text(i):
				s.exportName(s.text(i))
				s.exportAs(s.text(i), s.text(i))
			case pair:
				s.exportAs(s.text(i), s.text(i+2))
			default:
				s.exportedProperty(i, end)
			}
		})
	case s.functionValue(i, stop) > 0 || s.is(i, "class"):
		name := i + 1
		if s.is(i, "async") {
			name++
		}
		if s.op(name) == '*' {
			name++
		}
		d.kind, d.name, d.within, d.parent = codegraph.KindVariable, "default", s.scope, -1
		if s.name(name) && s.kind(i) == word {
			d.name = s.text(name)
			s.mark(name, notUse)
		}
		s.value(i, stop, d)
	}
}

// exportedProperty declares one property of the object that a module exports, if the property is a function.
func (s *scriptReader) exportedProperty(i, end int) {
	d := declaration{kind: codegraph.KindFunction, within: s.scope, parent: -1, first: i, head: i, last: end - 1, exported: true}
	for s.kind(i+1) == word && (s.is(i, "async") || s.is(i, "get") || s.is(i, "set")) {
		i++
	}
	_, again := s.declared[joinDotted(s.scope, s.text(i))]
	switch body := s.match(i+1) + 1; {
	case s.op(i+1) == '(' && s.op(body) == '{':
		d.stop = body
	case s.op(i+1) == ':':
		d.stop = s.functionValue(i+2, end)
	}
	if d.stop > 0 && d.stop < end && !again {
		s.innerClasses(s.declareAt(i, d), d.stop)
	}
}

// wrapper finds the body of a function that is called where it is defined: "(function () { … })()". Scripts for
// browsers are often written in this way. It returns 0 if there is none.
func (s *scriptReader) wrapper(i, stop int) int {
	for s.op(i) == '!' || s.op(i) == '+' || s.op(i) == ';' {
		i++
	}
	inner := i
	if s.op(i) == '(' {
		inner = i + 1
	}
	if s.is(inner, "async") {
		inner++
	}
	open := 0
	switch {
	case s.is(inner, "function"):
		open = s.find(inner+1, min(stop, inner+200), '{')
	case s.op(inner) == '(' && s.op(s.match(inner)+1) == opArrow:
		open = s.match(inner) + 2
	}
	after := s.op(s.match(open) + 1)
	if inner > i && s.op(open) == '{' && (after == '(' || after == ')' || after == '.') {
		return open
	}
	return 0
}

// noteTestTitle records the title of a test: describe("Cart", …).
func (s *scriptReader) noteTestTitle(i int) {
	if !titleWords[s.text(i)] {
		return
	}
	for k := i + 1; k < i+6; k++ {
		if s.op(k) == '(' && s.kind(k+1) == text && s.op(k+2) == ',' {
			s.file.Test = true
			s.titles = append(s.titles, s.intern(unquote(s.text(k+1))))
			return
		}
	}
}

var titleWords = words("describe it test suite context")

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
			value = s.typeEnd(i+1, end, '=', ',')
		}
		stop := value
		if s.op(value) == '=' {
			value++
			i = s.expressionEnd(value, end, true)
			if i == value+1 && !opens(s.op(value)) { // short enough to be shown
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

// variable declares one variable or the names of a pattern. A variable that holds a function or a class is declared as
// one.
func (s *scriptReader) variable(nameAt, value, end, stop int, d declaration) {
	if str, ok := s.require(value); ok && s.op(str+2) != '(' {
		s.required(nameAt, str)
		s.markNotUse(nameAt, str+2)
		if s.kind(nameAt) == word || opens(s.op(nameAt)) {
			return
		}
	}
	if opens(s.op(nameAt)) {
		s.pattern(nameAt+1, s.match(nameAt), func(i int) {
			p := d
			p.kind, p.name, p.head, p.stop = codegraph.KindVariable, s.text(i), min(d.head, i), stop
			p.first, p.last = i, i
			s.mark(i, notUse)
			s.declare(p)
		})
		return
	}
	if s.kind(nameAt) != word {
		return
	}
	s.mark(nameAt, notUse)
	d.kind, d.name, d.stop = codegraph.KindVariable, s.text(nameAt), stop
	n := len(s.file.Decls)
	s.value(value, end, d)
	if n < len(s.file.Decls) {
		s.variableType(n, nameAt, value, end)
	}
}

// variableType records the type of the declaration whose name is at nameAt, from its annotation or its value.
func (s *scriptReader) variableType(decl, nameAt, value, end int) {
	at := nameAt + 1
	for s.op(at) == '!' || s.op(at) == '?' {
		at++
	}
	switch {
	case s.op(at) == ':':
		stop := value
		if s.op(value-1) == '=' {
			stop--
		}
		s.declType(decl, at+1, stop, true)
	case s.file.Decls[decl].Kind == codegraph.KindVariable || s.file.Decls[decl].Kind == codegraph.KindProperty:
		s.declType(decl, value, end, false)
	}
}

// value declares a name for the value between i and end.
func (s *scriptReader) value(i, end int, d declaration) {
	if body := s.functionValue(i, end); body > 0 {
		if d.stop = body; d.kind == codegraph.KindProperty {
			d.kind = codegraph.KindMethod
		} else {
			d.kind = codegraph.KindFunction
		}
		n := s.declare(d)
		for s.is(i, "async") || s.op(i) == '<' {
			if i++; s.op(i-1) == '<' {
				i = max(s.angle(i-1)+1, i)
			}
		}
		if after := s.match(i) + 1; s.op(i) == '(' && s.op(after) == ':' {
			s.declType(n, after+1, body, true)
		}
		s.innerClasses(n, body)
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

// functionValue reports whether a value is a function. It returns the token at which the body or the arrow's expression
// begins, and 0 for any other value.
func (s *scriptReader) functionValue(i, end int) int {
	if s.is(i, "async") && !s.toks[min(i+1, len(s.toks)-1)].first() {
		i++
	}
	switch {
	case s.is(i, "function"):
		if i = s.find(i, end, '{'); i < end {
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

// object declares the methods of an object at file level.
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
		switch s.op(i + 1) {
		case '(', '<':
			d.stop = s.find(i+1, end, '{')
		case ':':
			if d.stop = s.functionValue(i+2, end); d.stop == 0 {
				return
			}
		default:
			return
		}
		if d.stop < end || s.op(i+1) == ':' {
			s.innerClasses(s.declareAt(i, d), d.stop)
		}
	})
}

// pattern calls f with each name that a pattern between i and end binds. It enters brackets without recursion, so deep
// nesting needs no stack.
func (s *scriptReader) pattern(i, end int, f func(i int)) {
	due := true // a name or a pattern is expected
	for i < end {
		switch o := s.op(i); {
		case o == ',' || o == opSpread:
			due = true
		case closes(o):
			due = false
		case due && opens(o): // go in
		case due && s.kind(i) == word:
			if s.op(i+1) == ':' && s.inObject(i) {
				s.mark(i, notUse)
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

// partEnd returns the comma or bracket that ends a default value. With types, "=" ends it, too.
func (s *scriptReader) partEnd(i, end int, types bool) int {
	for i < end {
		if o := s.op(i); o == ',' || closes(o) || types && o == '=' {
			return i
		}
		if shut := s.afterTypes(i) - 1; shut > i && shut < end && (types || s.typesEnd(shut)) {
			i = shut
		}
		i = s.skip(i)
	}
	return end
}

// inObject reports whether a name before a colon is the key of an object or pattern: the innermost open bracket is a
// brace. It looks back at most 4*maxBack tokens.
func (s *scriptReader) inObject(i int) bool {
	for n := 0; n < 4*maxBack && i > 0; n++ {
		i--
		if o := s.op(i); opens(o) {
			return o == '{'
		} else if closes(o) {
			i = int(s.toks[i].match)
		}
	}
	return false
}
