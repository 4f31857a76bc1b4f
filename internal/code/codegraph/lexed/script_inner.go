package lexed

import (
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// innerClasses declares the classes within a function: those with a name, and those that it gives back. i is the first
// token of its body, or of the expression of an arrow.
func (s *scriptReader) innerClasses(function, i int) {
	end := int(s.places[function].last) + 1
	s.nested(i, end, func(i int) int {
		if !s.is(i, "class") || s.op(i-1) == '.' || s.op(i+1) == ':' || s.op(i+1) == '=' || s.braceAfter(i+1, end) >= end {
			return i + 1
		}
		before := i - 1
		for s.op(before) == '(' {
			before--
		}
		returned := s.is(before, "return") || s.op(before) == opArrow
		if !returned && !s.name(i+1) {
			return i + 1
		}
		return s.innerClass(function, i, end, returned)
	})
}

// innerClass declares the class at i. Its name is qualified by that of the function, unless the function is the
// module's default value. A class without a name has that of the function.
func (s *scriptReader) innerClass(function, i, end int, returned bool) int {
	f := s.file.Decls[function]
	d := declaration{kind: codegraph.KindType, name: f.Name, within: strings.TrimSuffix(strings.TrimSuffix(f.Qualified, f.Name), "."),
		parent: f.Parent, first: i, head: i, exported: f.Exported && returned}
	name := i + 1
	named := s.name(name)
	if named {
		if d.name = s.text(name); f.Name != "default" {
			d.within, d.parent = f.Qualified, function
		}
		s.mark(name, notUse)
	}
	n := len(s.file.Decls)
	next := s.classBody(i, end, d, name)
	path := s.file.Decls[n].Qualified
	if named {
		s.typings = append(s.typings, typing{at: i, path: path, name: s.text(name), last: end - 1, decl: -1})
	}
	if returned {
		s.typings = append(s.typings, typing{at: i, path: path, decl: function})
	}
	return next
}
