package lexed

import (
	"cmp"
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// typing records the type of a name from one token on: the type of an expression, or the type in an annotation. Without
// either, the type is unknown.
type typing struct {
	at         int    // token from which the type is valid
	first, end int    // range of tokens of the expression or annotation; empty if equal
	annotation bool   // the tokens are a type
	member     string // what is called on the value of the expression; "" for nothing
	weak       bool   // it is used only if no other type is known; from isinstance
	path       string // path of the type, in place of an expression: of a fixture or of a class within a function
	name       string // a local value; its type is valid up to the token last
	last       int
	decl       int // a declaration in place of a local value, -1 for none; its first type is used
}

// localType is the type of a local value: a qualified name that may go through other values.
type localType struct {
	path string
	last int
	weak bool
}

// declType records the type of a declaration from the tokens between first and end.
func (r *reader) declType(decl, first, end int, annotation bool) {
	if decl >= 0 && end > first {
		r.typings = append(r.typings, typing{at: end - 1, first: first, end: end, annotation: annotation, decl: decl})
	}
}

// takesTypes reports whether types of values are tracked in the file's language.
func (r *reader) takesTypes() bool { return r.lang.family == python || r.lang.family == script }

// advanceTypes moves on to token i.
func (s *search) advanceTypes(i int) {
	for len(s.typings) > 0 && s.typings[0].at <= i {
		t := &s.typings[0]
		s.typings = s.typings[1:]
		if t.decl >= 0 {
			if d := &s.file.Decls[t.decl]; d.Type == "" {
				if p := s.typingPath(t); p != d.Qualified {
					d.Type = s.intern(p)
				}
			}
			continue
		}
		if t.weak {
			if old, ok := s.types[t.name]; ok && old.path != "" && !old.weak && i <= old.last {
				continue
			}
		}
		if p := s.typingPath(t); p != "" {
			s.types[t.name] = localType{p, t.last, t.weak}
		} else if !t.weak {
			delete(s.types, t.name)
		}
	}
}

func (s *search) typingPath(t *typing) string {
	switch {
	case t.path != "":
		if _, here := s.declared[t.path]; !here {
			if q, ok := s.lookup(t.name); ok { // a fixture in the same file
				return q
			}
		}
		return t.path
	case t.first >= t.end:
		return ""
	case t.annotation:
		return s.annotated(t.first, t.end, 0)
	}
	if p := s.valuePath(t.first, t.end); p != "" {
		return joinDotted(p, t.member)
	}
	return ""
}

// base returns the path of the value or type of the word at i; "" if unknown.
func (s *search) base(i int) string {
	first := s.text(i)
	if selfWord(s.lang.family, first) {
		return s.ownType()
	}
	if s.isLocal(i) {
		if t, ok := s.types[first]; ok && i <= t.last {
			return t.path
		}
		return ""
	}
	return s.baseName(first)
}

// baseName returns the path of a name that is not local; "" if unknown.
func (s *search) baseName(first string) string {
	if imp, ok := s.names[first]; ok {
		return cmp.Or(imp.value, imp.qualified)
	}
	q, _ := s.lookup(first)
	return q
}

// valuePath returns the path of an expression between i and end: "a.b.d" for "a.b(c).d()". It returns "" for others.
func (s *search) valuePath(i, end int) string {
	for i < end && (s.is(i, "await") || s.is(i, "new") && s.lang.family == script) {
		i++
	}
	if s.kind(i) != word || i >= end {
		return ""
	}
	p, k := s.base(i), i+1
	switch first := s.text(i); {
	case s.lang.family == python && s.op(end-1) == ')' && s.isCast(i, end):
		first := int(s.toks[end-1].match) + 1
		return s.annotated(first, s.elementEnd(first, end-1), 0)
	case first == "super":
		bases := s.superPaths()
		if len(bases) == 0 {
			return ""
		}
		p = bases[0]
	}
	for k < end && p != "" {
		switch o := s.op(k); {
		case (o == '.' || o == opOptional) && s.kind(k+1) == word:
			p, k = joinDotted(p, s.text(k+1)), k+2
		case o == '(':
			k = s.match(k) + 1
		case o == '<' && s.lang.family == script:
			shut := s.angle(k)
			if shut < 0 {
				return ""
			}
			k = shut + 1
		case o == '!' && s.lang.family == script:
			k++
		case s.is(k, "as") && s.lang.family == script:
			return s.annotated(k+1, end, 0)
		default:
			return ""
		}
	}
	return p
}

// isCast reports whether an expression is "cast(T, x)" or "typing.cast(T, x)".
func (s *search) isCast(i, end int) bool {
	return s.is(i, "cast") && s.match(i+1) == end-1 || s.op(i+1) == '.' && s.is(i+2, "cast") && s.match(i+3) == end-1
}

// wrappers are types that are mostly used through the type that they wrap.
var wrappers = words(`Optional Annotated Type type Final ClassVar Iterator Generator AsyncIterator AsyncGenerator ContextManager
	AbstractContextManager AsyncContextManager AbstractAsyncContextManager Awaitable Coroutine Required NotRequired Promise Readonly Partial PromiseLike`)

// annotated returns the path of the type between i and end; "" if there is not exactly one type.
func (s *search) annotated(i, end, depth int) (p string) {
	if depth > 8 || i >= end {
		return ""
	}
	if bar := s.unionBar(i, end); bar >= i { // of "A | None", A
		switch rest := bar + 1; {
		case s.none(i, bar):
			return s.annotated(rest, end, depth+1)
		case s.none(rest, end) || s.op(rest+1) == '|' && s.none(rest, rest+1):
			return s.annotated(i, bar, depth+1)
		}
		return ""
	}
	if s.kind(i) == text && i+1 == end {
		return s.quotedType(s.text(i))
	}
	if s.kind(i) != word {
		return ""
	}
	if s.is(i, "readonly") && i+1 < end {
		i++
	}
	if s.namesOwnType(i) {
		return s.ownType()
	}
	last := i
	for s.op(last+1) == '.' && s.kind(last+2) == word && last+2 < end {
		last += 2
	}
	open := last + 1
	if wrappers[s.text(last)] && open < end && (s.op(open) == '[' || s.op(open) == '<') {
		shut := s.match(open)
		if s.op(open) == '<' {
			shut = s.angle(open)
		}
		return s.annotated(open+1, s.elementEnd(open+1, shut), depth+1)
	}
	if b := s.base(i); b != "" && (open >= end || s.op(open) == '[' && s.match(open) == end-1 && end-open > 2 || s.op(open) == '<') {
		return joinDotted(b, s.dotted(i+2, last))
	}
	return ""
}

// unionBar returns the first bar between the types of a union, or -1.
func (s *search) unionBar(i, end int) int {
	for ; i < end; i = s.skip(i) {
		switch s.op(i) {
		case '|':
			return i
		case '<':
			i = max(s.angle(i), i)
		}
	}
	return -1
}

// quotedType returns the path of a type in quotes: "shop.Cart | None"; "" for other texts.
func (s *search) quotedType(quoted string) string {
	parts := strings.Split(strings.TrimSpace(strings.TrimSuffix(strings.Trim(quoted, `"'`), " | None")), ".")
	for _, part := range parts {
		if part == "" || strings.ContainsFunc(part, func(c rune) bool { return c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') }) {
			return ""
		}
	}
	return joinDotted(s.baseName(parts[0]), strings.Join(parts[1:], "."))
}

// namesOwnType reports whether the type at i is the enclosing one: "this", "Self" or "typing.Self".
func (s *search) namesOwnType(i int) bool {
	return s.is(i, "this") || s.is(i, "Self") || s.op(i+1) == '.' && s.is(i+2, "Self")
}

// ownType returns the path of the enclosing type; "" for none.
func (s *search) ownType() string {
	if t := s.typeAround(); t >= 0 {
		return s.file.Decls[t].Qualified
	}
	return ""
}

// none reports whether the tokens between i and end are the word for no value: None, null or undefined.
func (s *search) none(i, end int) bool {
	return i+1 == end && (s.is(i, "None") || s.is(i, "null") || s.is(i, "undefined"))
}

// superPaths returns the paths of the base types of the enclosing type.
func (s *search) superPaths() (out []string) {
	t := s.typeAround()
	if t < 0 {
		return nil
	}
	for _, b := range s.bases[t] {
		if p := s.baseName(s.text(b.first)); p != "" {
			out = append(out, joinDotted(p, s.dotted(b.first+2, b.last)))
		}
	}
	return out
}

// noteParts records the uses of the members from i to end of values with the given paths, and the result of a call of
// the last member.
func (s *search) noteParts(paths []string, i, end int, call bool) {
	line := s.line(i)
	var full []string
	for _, p := range paths {
		for k := i; k <= end; k += 2 {
			p = joinDotted(p, s.text(k))
			s.useTyped(useKind(call && k == end), p, line)
		}
		full = append(full, p)
	}
	s.chainCall(full, end, call)
}

// chainCall records the type of a call's result for the member access that follows.
func (s *search) chainCall(paths []string, end int, call bool) {
	if !call || len(paths) == 0 {
		return
	}
	open := end + 1
	if s.op(open) == '<' {
		open = s.angle(open) + 1
	}
	if s.op(open) == opOptional {
		open++
	}
	if s.op(open) != '(' {
		return
	}
	after := s.match(open) + 1
	if s.op(after) == '!' {
		after++
	}
	if o := s.op(after); (o == '.' || o == opOptional) && s.kind(after+1) == word {
		s.chains[after+1] = paths
	}
}

// useTyped adds a use that is resolved through the types of values.
func (s *search) useTyped(kind codegraph.EdgeKind, n string, line int) {
	s.add(codegraph.Use{From: s.owner, Kind: kind, Name: n, Qualified: true, Typed: true, Line: line})
}
