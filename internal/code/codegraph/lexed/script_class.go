package lexed

import "github.com/kenlayer/ken/internal/code/codegraph"

// class reads a class at the word "class".
func (s *scriptReader) class(i, end int, d declaration, deflt bool) int {
	i++
	d.kind, d.name = codegraph.KindType, "default"
	if s.name(i) && !s.is(i, "extends") && !s.is(i, "implements") || !deflt && s.kind(i) == word {
		d.name = s.text(i)
		s.mark(i, muted)
		i++
	}
	return s.classBody(i-1, end, d, i)
}

// classBody reads a class from what stands behind its name.
func (s *scriptReader) classBody(from, end int, d declaration, i int) int {
	if s.name(i) && !s.is(i, "implements") && i > from+1 { // "= class Name"
		s.mark(i, muted)
		i++
	}
	open := s.braceAfter(i, end)
	d.stop, d.last = open, s.match(open)
	if open >= end {
		d.last = min(i, end-1)
	}
	n := s.declare(d)
	s.heritage(n, i, open)
	if open < end {
		s.mark(open, container)
		s.members(open+1, min(s.match(open), end), n, true)
	}
	return min(s.match(open), end) + 1
}

// braceAfter finds the brace that opens a body, or end.
func (s *scriptReader) braceAfter(i, end int) int {
	for n := 0; i < end && n < 1000; n++ {
		switch o := s.op(i); {
		case o == '{':
			return i
		case o == ';' || closes(o):
			return end
		case o == '<':
			if shut := s.angle(i); shut > 0 {
				i = shut + 1
				continue
			}
		}
		i = s.skip(i)
	}
	return end
}

// heritage reads type parameters, "extends" and "implements" between i and open.
func (s *scriptReader) heritage(n, i, open int) {
	if s.op(i) == '<' {
		i = s.typeParameters(i, int(s.places[n].last))
	}
	kind := codegraph.Inherits
	for i < open {
		switch {
		case s.is(i, "extends"):
			kind = codegraph.Inherits
			i++
			s.list(i, s.heritageEnd(i, open), func(i, end int) { s.base(n, kind, i, end) })
		case s.is(i, "implements"):
			kind = codegraph.Implements
			i++
			s.list(i, s.heritageEnd(i, open), func(i, end int) { s.base(n, kind, i, end) })
		}
		i = s.skip(i)
	}
}

func (s *scriptReader) heritageEnd(i, open int) int {
	for i < open && !s.is(i, "implements") && !s.is(i, "extends") {
		i = s.skip(i)
	}
	return i
}

// typeParameters binds "<T extends U>" for the declaration that ends at last.
func (s *scriptReader) typeParameters(i, last int) int {
	shut := s.angle(i)
	if shut < 0 {
		return i + 1
	}
	s.list(i+1, shut, func(i, end int) {
		for i+1 < end && (s.is(i, "const") || s.is(i, "in") || s.is(i, "out")) && s.kind(i+1) == word {
			i++
		}
		if s.kind(i) == word {
			s.local(i, i, last)
		}
	})
	return shut + 1
}

func (s *scriptReader) function(i, end int, d declaration, deflt bool) int {
	i++
	if s.op(i) == '*' {
		i++
	}
	d.kind, d.name = codegraph.KindFunction, "default"
	if s.kind(i) == word {
		d.name = s.text(i)
		s.mark(i, muted)
		i++
	} else if !deflt {
		return i
	}
	return s.callable(i, end, d)
}

// callable declares what has parameters at i, and goes behind its body, if it has one.
func (s *scriptReader) callable(i, end int, d declaration) int {
	types := i
	if s.op(i) == '<' {
		if shut := s.angle(i); shut > 0 {
			i = shut + 1
		}
	}
	open := i
	if s.op(i) == '(' {
		i = s.match(i) + 1
	}
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
	if s.op(types) == '<' {
		s.typeParameters(types, int(s.places[n].last))
	}
	s.parameters(open, int(s.places[n].last))
	return i
}

// returnEnd goes behind the type that a function returns: to its body, or to the end
// of the statement.
func (s *scriptReader) returnEnd(i, end int) int {
	due := true // a type is due: a brace opens one, not the body
	for from := i; i < end; {
		o := s.op(i)
		if o == '{' && !due || o == ';' || o == ',' || closes(o) || i > from && !due && s.toks[i].first() && !s.continues(i) {
			return i
		}
		due = o == '|' || o == '&' || o == opArrow || o == ':' || o == '?' ||
			s.kind(i) == word && (s.is(i, "is") && s.kind(i-1) == word || s.is(i, "keyof") || s.is(i, "readonly") || s.is(i, "extends"))
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
