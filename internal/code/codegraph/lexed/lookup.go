package lexed

import (
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// lookup finds the declaration to which a bare name refers in this file. It searches the enclosing declarations from
// the inside out.
func (s *search) lookup(n string) (string, bool) {
	around := ""
	if s.owner >= 0 {
		d := s.file.Decls[s.owner]
		around = d.Qualified
		if !isContainer(d.Kind) {
			around = strings.TrimSuffix(strings.TrimSuffix(around, d.Name), ".")
		}
	}
	for level := 0; level < 32 && around != "" && strings.HasPrefix(around, s.scope); level++ {
		if at, ok := s.declared[around]; around == s.scope || !ok || s.membersAreBare(s.file.Decls[at].Kind) {
			if i, ok := s.declared[joinDotted(around, n)]; ok {
				return s.file.Decls[s.constructed(i)].Qualified, true
			}
		}
		if around == s.scope {
			return "", false
		}
		cut := strings.LastIndexByte(around, '.')
		if cut < len(s.scope) {
			around = s.scope
			continue
		}
		around = around[:cut]
	}
	if i, ok := s.declared[joinDotted(s.scope, n)]; ok {
		return s.file.Decls[i].Qualified, true
	}
	return "", false
}

// constructed returns the type of a constructor, which has the same name. It returns any other declaration itself.
func (s *search) constructed(i int) int {
	d := s.file.Decls[i]
	if d.Kind == codegraph.KindMethod && d.Parent >= 0 && s.file.Decls[d.Parent].Name == d.Name {
		return d.Parent
	}
	return i
}

// membersAreBare reports whether members of such a declaration can be used by their bare names within it.
func (s *search) membersAreBare(k codegraph.Kind) bool {
	ofTypes := s.lang.family == java || s.lang.family == csharp || s.lang.family == cfamily
	return k == codegraph.KindNamespace || k == codegraph.KindPackage || ofTypes && isContainer(k)
}

// noteUse records a use of the path from i to end, whose first part is not a local name.
func (s *search) noteUse(kind codegraph.EdgeKind, i, end int) {
	n, qualified, ok := s.resolve(i, end)
	switch {
	case ok:
		if kind == codegraph.Calls && s.lang.family == csharp && !qualified && n == s.text(i) && !s.is(i-1, "new") {
			n = "." + n // a method, perhaps of a base type
		}
		s.use(kind, n, qualified, s.line(i))
		if kind == codegraph.Calls && end > i {
			s.noteOwnerType(i, end)
		}
	case kind == codegraph.Calls && end > i && !s.library(s.text(i)):
		s.use(kind, "."+s.text(end), false, s.line(i))
	}
}

// library reports whether a name is imported from a library. Its members are not in the repository then.
func (s *search) library(n string) bool {
	imp, ok := s.names[n]
	return ok && imp.qualified == "" && !imp.viaScopes
}

// resolve returns the name to which the path from token i to end refers, as far as this file shows. ok is false for a
// name from a library and for a name that nothing declares.
func (s *search) resolve(i, end int) (n string, qualified, ok bool) {
	if s.lang.family == rust {
		return s.resolveRust(i, end)
	}
	first, rest := s.text(i), s.dotted(i+2, end)
	if imp, ok := s.names[first]; ok {
		return s.imported(imp, first, rest, i)
	}
	if q, ok := s.lookup(first); ok {
		if rest == "" || s.hasMembers(q, rest) {
			return joinDotted(q, rest), true, true
		}
		s.use(codegraph.References, q, true, s.line(i)) // a value and a member of it
		return "", false, false
	}
	return s.resolveUnknown(i, end, first, rest)
}

// imported resolves a path that begins with an imported name.
func (s *search) imported(imp name, first, rest string, i int) (n string, qualified, ok bool) {
	switch {
	case imp.viaScopes && rest == "":
		return first, false, true
	case imp.module && rest != "":
		return joinDotted(imp.qualified, rest), true, true
	case imp.viaScopes:
		if upper(first) {
			return joinDotted(first, rest), false, true
		}
		s.use(codegraph.References, first, false, s.line(i))
		return "", false, false
	case imp.qualified == "" || imp.module:
		return "", false, false
	case rest != "" && !upper(first):
		s.use(codegraph.References, imp.qualified, true, s.line(i))
		return "", false, false
	}
	return joinDotted(imp.qualified, rest), true, true
}

// hasMembers reports whether the declaration q may have members that are qualified by its name.
func (s *search) hasMembers(q, member string) bool {
	if _, ok := s.declared[joinDotted(q, member)]; ok {
		return true
	}
	return isContainer(s.file.Decls[s.declared[q]].Kind)
}

// isContainer reports whether the names of members begin with the name of such a declaration.
func isContainer(k codegraph.Kind) bool {
	return k == codegraph.KindType || k == codegraph.KindInterface || k == codegraph.KindNamespace || k == codegraph.KindPackage
}

// resolveUnknown resolves a path whose first name is neither declared nor imported by the file.
func (s *search) resolveUnknown(i, end int, first, rest string) (n string, qualified, ok bool) {
	bare := joinDotted(first, rest)
	switch s.lang.family {
	case script, python:
		if s.module && (len(s.file.Scopes) == 0 || s.lang.family == script) || rest != "" && !upper(first) {
			return "", false, false
		}
	case java, csharp:
		if rest == "" && !upper(first) {
			return "." + first, false, true
		}
		if lower(first) {
			for k := i; k <= end && s.lang.family == java; k += 2 { // the name of a package, in full
				if upper(s.text(k)) {
					return bare, true, true
				}
			}
			return "", false, false
		}
	}
	return bare, false, true
}

func (s *search) dotted(i, end int) string {
	if i == end {
		return s.text(i)
	}
	var b strings.Builder
	for ; i <= end; i += 2 {
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(s.text(i))
	}
	return b.String()
}
