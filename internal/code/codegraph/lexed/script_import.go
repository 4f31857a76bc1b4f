package lexed

import (
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// imports reads an import statement.
func (s *scriptReader) imports(i, end int) int {
	start := i
	i++
	if s.is(i, "type") && (s.kind(i+1) == word && !s.is(i+1, "from") || s.op(i+1) == '{' || s.op(i+1) == '*') {
		i++
	}
	if s.kind(i) == text {
		s.from(start, i, nil)
		return s.attributes(start, i+1, end)
	}
	if s.kind(i) == word && s.op(i+1) == '=' { // import x = require("y"), import x = A.B
		local := s.text(i)
		if s.is(i+2, "require") && s.kind(i+4) == text {
			s.from(start, i+4, []imported{{local: local, all: true}})
			return s.attributes(start, i+6, end)
		}
		next := s.expressionEnd(i+2, end, false)
		s.mute(start, i+2)
		return next
	}
	var names []imported
	for i < end && s.kind(i) != text && s.op(i) != ';' {
		switch {
		case s.is(i, "from"):
			if s.kind(i+1) == text {
				s.from(start, i+1, names)
				return s.attributes(start, i+2, end)
			}
		case s.op(i) == '*' && s.is(i+1, "as"):
			names = append(names, imported{local: s.text(i + 2), all: true})
			i += 2
		case s.op(i) == '{':
			names = append(names, s.named(i+1, s.match(i))...)
			i = s.match(i)
		case s.kind(i) == word:
			names = append(names, imported{local: s.text(i), deflt: true})
		case s.op(i) != ',':
			return i
		}
		i++
	}
	return i
}

// attributes skips "with { type: 'json' }" and mutes the statement.
func (s *scriptReader) attributes(start, i, end int) int {
	if (s.is(i, "with") || s.is(i, "assert")) && s.op(i+1) == '{' {
		i = s.match(i+1) + 1
	}
	s.mute(start, min(i, end))
	return i
}

// imported is a name that a file gets from another one.
type imported struct {
	name, local string
	all, deflt  bool
}

// named reads "a, b as c, type d".
func (s *scriptReader) named(i, end int) (out []imported) {
	s.list(i, end, func(i, end int) {
		if s.is(i, "type") && i+1 < end && s.kind(i+1) == word && !(s.is(i+1, "as") && i+3 > end) {
			i++
		}
		n := imported{name: strings.Trim(s.text(i), `"'`)}
		n.local = n.name
		if s.is(i+1, "as") || s.op(i+1) == ':' { // the colon is that of a pattern with require
			n.local = s.text(i + 2)
		}
		n.deflt = n.name == "default"
		out = append(out, n)
	})
	return out
}

// from notes the import of what the string at i names.
func (s *scriptReader) from(start, i int, names []imported) {
	spec := unquote(s.text(i))
	if spec == "" {
		return
	}
	target, scope := s.set.scripts.resolve(s.file.Path, spec)
	imp := codegraph.Import{Path: s.keep(spec), Target: target, Line: s.line(start)}
	if len(names) == 1 && names[0].all {
		imp.Name = s.keep(names[0].local)
	}
	s.file.Imports = append(s.file.Imports, imp)
	for _, n := range names {
		switch {
		case n.local == "":
		case scope == "":
			s.names[s.keep(n.local)] = name{}
		case n.all:
			s.names[s.keep(n.local)] = name{qualified: scope, module: true}
		case n.deflt:
			s.names[s.keep(n.local)] = name{loose: true}
			s.addScope(scope)
		default:
			s.names[s.keep(n.local)] = name{qualified: s.keep(scope + "." + n.name)}
		}
	}
}

// export reads what "export" is followed by if that is no declaration. done is false
// for a declaration, which begins at next.
func (s *scriptReader) export(i, end int) (next int, done bool) {
	start := i
	i++
	switch {
	case s.is(i, "default"):
		return i + 1, false
	case s.op(i) == '=':
		if s.name(i + 1) {
			s.exportName(s.text(i + 1))
		}
		return s.expressionEnd(i+1, end, false), true
	case s.is(i, "as") && s.is(i+1, "namespace"):
		s.mute(start, i+3)
		return i + 3, true
	case s.is(i, "type") && (s.op(i+1) == '{' || s.op(i+1) == '*'):
		i++
	}
	switch s.op(i) {
	case '*':
		i++
		var names []imported
		if s.is(i, "as") {
			i += 2
		}
		if s.is(i, "from") && s.kind(i+1) == text {
			s.from(start, i+1, names)
			if _, scope := s.set.scripts.resolve(s.file.Path, unquote(s.text(i+1))); scope != "" {
				s.addScope(scope)
			}
			i += 2
		}
		return s.attributes(start, i, end), true
	case '{':
		names := s.named(i+1, s.match(i))
		i = s.match(i) + 1
		if s.is(i, "from") && s.kind(i+1) == text {
			s.reexport(start, i+1, names)
			return s.attributes(start, i+2, end), true
		}
		for _, n := range names {
			s.exportName(n.name)
		}
		s.mute(start, i)
		return i, true
	}
	return i, false
}

// reexport notes names that the file hands on. Whoever looks for them here finds them by
// the scope.
func (s *scriptReader) reexport(start, i int, names []imported) {
	s.from(start, i, nil)
	_, scope := s.set.scripts.resolve(s.file.Path, unquote(s.text(i)))
	if scope == "" {
		return
	}
	s.addScope(scope)
	for _, n := range names {
		if !n.deflt {
			s.use(-1, codegraph.References, scope+"."+n.name, true, s.line(start))
		}
	}
}

func (s *scriptReader) exportName(n string) {
	if s.exports == nil {
		s.exports = map[string]bool{}
	}
	s.exports[n] = true
}

// exportNames makes exported what a list names.
func (s *scriptReader) exportNames() {
	if s.exports == nil {
		return
	}
	for i := range s.file.Decls {
		d := &s.file.Decls[i]
		if d.Parent < 0 && s.exports[d.Name] && d.Qualified == join(s.scope, d.Name) {
			d.Exported = true
		} else if d.Parent >= 0 && s.exports[s.file.Decls[d.Parent].Name] && s.file.Decls[d.Parent].Exported && !strings.HasPrefix(d.Name, "#") && !strings.HasPrefix(d.Signature, "private ") {
			d.Exported = true
		}
	}
}

// require reads "require('x')" at i.
func (s *scriptReader) require(i int) (str int, ok bool) {
	if s.is(i, "require") && s.op(i+1) == '(' && s.kind(i+2) == text && s.op(i+3) == ')' {
		return i + 2, true
	}
	return 0, false
}

// unquote takes the quotes off a string without looking into it.
func unquote(s string) string {
	if len(s) < 2 || s[0] != s[len(s)-1] {
		return ""
	}
	return s[1 : len(s)-1]
}

// addScope adds a scope that bare names may belong to.
func (r *reader) addScope(scope string) {
	if len(r.file.Scopes) >= maxScopes {
		return
	}
	for _, s := range r.file.Scopes {
		if s == scope {
			return
		}
	}
	r.file.Scopes = append(r.file.Scopes, r.keep(scope))
}

// maxScopes is how many scopes one file has.
const maxScopes = 64
