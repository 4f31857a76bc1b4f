package lexed

import (
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// member tells the use of a member of a value: of a call there is no more to say than
// the name.
func (s *search) member(i int) int {
	if s.lang.plusplus && s.op(i-1) == opPath && s.op(i-2) == '>' { // Shelf<int>::make
		if k := s.angleBack(i-2) - 1; s.name(k) && s.op(k-1) != opPath {
			if n, qualified, ok := s.resolve(k, k); ok {
				kind := codegraph.References
				if s.called(i) {
					kind = codegraph.Calls
				}
				s.use(kind, join(n, s.text(i)), qualified, s.line(i))
				return i + 1
			}
		}
	}
	if s.called(i) && (s.lang.family != rust || s.op(i+1) != '!') {
		s.use(codegraph.Calls, "."+s.text(i), false, s.line(i))
	}
	return i + 1
}

// ofLocal tells what is called of a local value.
func (s *search) ofLocal(i, end int, call bool) {
	if call && end > i {
		s.use(codegraph.Calls, "."+s.text(end), false, s.line(i))
	}
}

// mention tells a name that is not called, if it is certain to name something of
// interest: something declared or imported, or a type.
func (s *search) mention(i, end int) {
	first := s.text(i)
	if s.knows(first) || s.flags[i]&typed != 0 || s.lang.family == rust && end > i {
		s.found(codegraph.References, i, end)
		if end > i && !s.names[first].module {
			s.outer(i, end)
		}
		return
	}
	switch s.lang.family {
	case script, python:
		if upper(first) && !s.module {
			s.found(codegraph.References, i, end)
		}
	case java, csharp, cfamily:
		if s.lang.family == cfamily && strings.HasPrefix(first, "__") {
			return
		}
		if upper(first) || s.lang.family == cfamily && s.typePosition(i, end) {
			s.found(codegraph.References, i, end)
			if end > i {
				s.outer(i, end)
			}
		}
	case rust:
		if upper(first) {
			s.found(codegraph.References, i, end)
		}
	}
}

// outer mentions the type of "Cart.MAX".
func (s *search) outer(i, end int) {
	if upper(s.text(end - 2)) {
		if n, qualified, ok := s.resolve(i, end-2); ok {
			s.use(codegraph.References, n, qualified, s.line(i))
		}
	}
}

// typePosition reports whether the name from i to end is the type of the name after it,
// or stands behind "struct".
func (s *search) typePosition(i, end int) bool {
	switch s.text(i - 1) {
	case "struct", "union", "enum", "class":
		return true
	}
	for end++; s.op(end) == '*' || s.op(end) == '&'; end++ {
		if p := s.op(i - 1); p != '(' && p != ',' && p != ';' && p != '{' && p != '}' && p != '<' && s.kind(i-1) != word {
			return false
		}
	}
	return s.name(end)
}

// self tells a use of a member of the type around: "this.total".
func (s *search) self(i, end int, call bool) {
	if end == i {
		return
	}
	member := i + 2
	owner := s.typeAround()
	line := s.line(i)
	if owner >= 0 {
		q := join(s.file.Decls[owner].Qualified, s.text(member))
		if at, ok := s.declared[q]; ok {
			kind := codegraph.References
			if call && member == end {
				kind = codegraph.Calls
			}
			s.use(kind, s.file.Decls[at].Qualified, true, line)
			if call && member < end {
				s.use(codegraph.Calls, "."+s.text(end), false, line)
			}
			return
		}
		if bases := s.places[owner].bases; call && member == end && len(bases) == 1 && s.text(i) != "Self" {
			s.use(codegraph.Calls, "."+s.text(end), false, line)
			return
		}
	}
	if call {
		s.use(codegraph.Calls, "."+s.text(end), false, line)
	}
}

// typeAround is the innermost type around the present place, or that whose member it
// is; -1 for none.
func (s *search) typeAround() int {
	for n, d := 0, s.owner; d >= 0 && n < maxDepth; n++ {
		switch s.file.Decls[d].Kind {
		case codegraph.KindType, codegraph.KindInterface:
			return d
		}
		d = s.file.Decls[d].Parent
	}
	return -1
}
