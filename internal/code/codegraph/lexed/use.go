package lexed

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// useKey identifies a use. Only the first use with a key is stored, with the number of uses.
type useKey struct {
	from int
	kind codegraph.EdgeKind
	name string
}

// search visits the tokens in order and resolves the names among them.
type search struct {
	*reader
	locals *locals
	owner  int            // declaration that contains the present token
	stack  []int          // declarations that enclose owner
	seen   map[useKey]int // indices in File.Uses

	types  map[string]localType // types of local values
	chains map[int][]string     // by token after a dot: possible paths of the value before the dot
	bases  map[int][]ownUse     // by declaration: what it inherits from
}

// uses records all names that the file uses.
func (r *reader) uses() {
	s := &search{reader: r, locals: newLocals(r.bindings), owner: -1, seen: map[useKey]int{}, types: map[string]localType{}, chains: map[int][]string{}, bases: map[int][]ownUse{}}
	for i, u := range r.file.Uses {
		s.seen[useKey{u.From, u.Kind, u.Name}] = i
	}
	slices.SortStableFunc(r.typings, func(a, b typing) int { return a.at - b.at })
	for _, o := range r.own {
		if o.kind == codegraph.Inherits {
			s.bases[o.from] = append(s.bases[o.from], o)
		}
	}
	order := make([]int, len(r.places))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(r.places[a].first, r.places[b].first), cmp.Compare(r.places[b].last, r.places[a].last))
	})
	own := r.own
	slices.SortStableFunc(own, func(a, b ownUse) int { return a.first - b.first })
	for i := 0; i < len(r.toks); {
		for len(s.stack) > 0 && int(r.places[s.stack[len(s.stack)-1]].last) < i {
			s.stack = s.stack[:len(s.stack)-1]
		}
		for len(order) > 0 && int(r.places[order[0]].first) <= i {
			if int(r.places[order[0]].last) >= i {
				s.stack = append(s.stack, order[0])
			}
			order = order[1:]
		}
		s.owner = -1
		if n := len(s.stack); n > 0 {
			s.owner = s.stack[n-1]
		}
		s.locals.advance(i)
		for len(own) > 0 && own[0].first <= i {
			s.heading(own[0])
			own = own[1:]
		}
		s.advanceTypes(i)
		if r.toks[i].kind != word || r.flags[i]&notUse != 0 {
			i++
			continue
		}
		i = max(s.path(i), i+1)
	}
}

// heading records a base type or an interface of a declaration.
func (s *search) heading(u ownUse) {
	first := s.text(u.first)
	s.owner = u.from
	if s.isLocal(u.first) {
		t := s.types[first]
		if at, ok := s.declared[t.path]; ok && u.first == u.last && u.first <= t.last && isContainer(s.file.Decls[at].Kind) {
			s.use(u.kind, t.path, true, s.line(u.first)) // a class of the same function
		}
		return
	}
	if s.lang.builtin[first] && u.first == u.last && !s.isKnown(first) {
		return
	}
	s.noteUse(u.kind, u.first, u.last)
}

func (s *search) typeName(i int) bool { return s.flags[i]&typed != 0 }

// isLocal reports whether the word at i is the name of a local value.
func (s *search) isLocal(i int) bool { return s.locals.has(s.text(i)) && !s.typeName(i) }

// isKnown reports whether a bare name is declared in the file or imported.
func (s *search) isKnown(n string) bool {
	if _, ok := s.names[n]; ok {
		return true
	}
	_, ok := s.lookup(n)
	return ok
}

// path reads the whole dotted name that begins at i, records what it uses, and returns the token after it.
func (s *search) path(i int) int {
	first := s.text(i)
	if s.followsValue(i) {
		return s.member(i)
	}
	self := selfWord(s.lang.family, first) && !s.rootWord(i)
	if s.lang.keywords[first] && !self && !s.rootWord(i) || s.key(i) {
		return i + 1
	}
	end := s.pathEnd(i)
	if o := s.op(i + 1); self && end == i && (o == '.' || o == opOptional || o == opThinArrow) && s.kind(i+2) == word {
		end = i + 2
	}
	call := s.isDecorator(i) || s.called(end) && s.flags[i]&annotation == 0
	switch {
	case self:
		s.self(i, end, call)
	case s.isLocal(i) && (s.lang.family != rust || end == i):
		s.noteLocalCall(i, end, call)
	case first == "super" && s.takesTypes():
		s.noteSuper(i, end)
		if s.lang.family == python {
			return i + 1
		}
	case s.lang.builtin[first] && !s.isKnown(first):
	case s.noteValue(i, end, call):
	case call:
		s.noteUse(codegraph.Calls, i, end)
	default:
		s.noteMention(i, end)
	}
	return end + 1
}

// isDecorator reports whether the word at i begins a decorator of Python: "@cached".
func (s *search) isDecorator(i int) bool {
	return s.lang.family == python && s.op(i-1) == '@' && s.toks[i-1].first()
}

// followsValue reports whether the word at i is a member of the value or type before it: "x.i", "x?.i", "x->i", "x::i".
func (s *search) followsValue(i int) bool {
	switch s.op(i - 1) {
	case '.', opOptional:
		return true
	case opThinArrow:
		return s.lang.family == cfamily
	case opPath:
		return s.lang.family != rust || s.op(i-2) == '>'
	}
	return false
}

// pathEnd returns the last word of the dotted name that begins at i.
func (s *search) pathEnd(i int) int {
	for range 16 {
		sep := i + 1
		if s.lang.family == rust || s.lang.plusplus {
			if s.op(sep) == opPath && s.op(sep+1) == '<' { // Vec::<T>::new
				if shut := s.angle(sep + 1); shut > 0 && s.op(shut+1) == opPath && s.kind(shut+2) == word {
					return i
				}
			}
			if s.op(sep) == opPath && s.kind(sep+1) == word {
				i = sep + 1
				continue
			}
			if s.lang.family == rust {
				return i
			}
		}
		if o := s.op(sep); (o == '.' && s.lang.family != cfamily || o == opOptional && s.lang.family == script || o == opPath && s.lang.family == java) && s.kind(sep+1) == word && s.flags[sep+1]&notUse == 0 &&
			(s.lang.family == python || s.lang.family == script || !s.lang.keywords[s.text(sep+1)]) {
			i = sep + 1
			continue
		}
		return i
	}
	return i
}

// called reports whether the name that ends at i is called or constructed.
func (s *search) called(i int) bool {
	switch o := s.op(i + 1); o {
	case '(':
		return true
	case '<':
		if shut := s.angle(i + 1); shut > 0 {
			return s.op(shut+1) == '('
		}
	case '!':
		return s.lang.family == rust && opens(s.op(i+2))
	case opOptional:
		return s.op(i+2) == '('
	case opPath:
		if s.lang.family == rust && s.op(i+2) == '<' {
			shut := s.angle(i + 2)
			return shut > 0 && s.op(shut+1) == '('
		}
	}
	return s.lang.family == script && s.kind(i+1) == text && s.src[s.toks[i+1].start] == '`'
}

// key reports whether the word at i is a key of an object, a named argument or a label.
func (s *search) key(i int) bool {
	before, after := s.op(i-1), s.op(i+1)
	switch s.lang.family {
	case script:
		return after == ':' && (before == '{' || before == ',' || s.toks[i].first() && before != '?' && before != ':')
	case csharp:
		return after == ':' && (before == '(' || before == ',' || before == '{' && s.kind(i-2) != text)
	case python:
		return after == '=' && (before == '(' || before == ',')
	case rust:
		return after == ':' && (before == '{' || before == ',') && lower(s.text(i))
	case cfamily:
		return before == '.' && after == '='
	}
	return false
}

// member records the use of a member of a value. If the value's type is unknown, only the name is recorded.
func (s *search) member(i int) int {
	if paths := s.chains[i]; paths != nil {
		end := s.pathEnd(i)
		s.noteParts(paths, i, end, s.called(end))
		return end + 1
	}
	if s.lang.plusplus && s.op(i-1) == opPath && s.op(i-2) == '>' { // Shelf<int>::make
		if k := s.angleBack(i-2) - 1; s.name(k) && s.op(k-1) != opPath {
			if n, qualified, ok := s.resolve(k, k); ok {
				s.use(useKind(s.called(i)), joinDotted(n, s.text(i)), qualified, s.line(i))
				return i + 1
			}
		}
	}
	if s.called(i) && (s.lang.family != rust || s.op(i+1) != '!') {
		s.use(codegraph.Calls, "."+s.text(i), false, s.line(i))
	}
	return i + 1
}

// noteLocalCall records what is called on a local value.
func (s *search) noteLocalCall(i, end int, call bool) {
	if p := s.base(i); p != "" && s.takesTypes() {
		if end > i {
			s.noteParts([]string{p}, i+2, end, call)
		} else {
			s.chainCall([]string{p}, end, call)
		}
		return
	}
	if call && end > i {
		s.use(codegraph.Calls, "."+s.text(end), false, s.line(i))
	}
}

// noteSuper records the uses of members of the base types of the enclosing type.
func (s *search) noteSuper(i, end int) {
	paths := s.superPaths()
	switch {
	case len(paths) == 0:
		if s.lang.family == script && end > i && s.called(end) {
			s.use(codegraph.Calls, "."+s.text(end), false, s.line(i))
		}
	case s.lang.family == script && end > i:
		s.noteParts(paths, i+2, end, s.called(end))
	case s.lang.family == python:
		s.chainCall(paths, i, true)
	}
}

// noteValue records the uses of members of a value that the file declares or imports, such as "current.app.name". It
// reports whether there were any. It skips names that are known by their qualified names.
func (s *search) noteValue(i, end int, call bool) bool {
	if !s.takesTypes() {
		return false
	}
	first := s.text(i)
	imp, imported := s.names[first]
	q := cmp.Or(imp.value, imp.qualified)
	if !imported {
		var ok bool
		if q, ok = s.lookup(first); !ok {
			return false
		}
	}
	switch {
	case q == "":
		return false
	case end == i:
		if !imp.module && !imp.viaScopes {
			s.chainCall([]string{q}, end, call)
		}
		return false
	case imp.viaScopes && !imp.module:
		s.use(codegraph.References, first, false, s.line(i))
	case imp.module:
		for k := i + 2; k < end; k += 2 {
			s.useTyped(codegraph.References, joinDotted(q, s.dotted(i+2, k)), s.line(i))
		}
		s.chainCall([]string{joinDotted(q, s.dotted(i+2, end))}, end, call)
		return false
	case imported && !upper(first):
		s.use(codegraph.References, q, true, s.line(i))
	case imported || s.hasMembers(q, s.dotted(i+2, end)):
		s.chainCall([]string{joinDotted(q, s.dotted(i+2, end))}, end, call)
		return false
	default:
		s.use(codegraph.References, q, true, s.line(i))
	}
	s.noteParts([]string{q}, i+2, end, call)
	return true
}

// noteMention records a name that is not called, if it certainly refers to something declared or imported, or to a
// type.
func (s *search) noteMention(i, end int) {
	first, f, owner := s.text(i), s.lang.family, false
	switch {
	case s.isKnown(first) || s.typeName(i) || f == rust && end > i:
		owner = !s.names[first].module
	case f == cfamily:
		if strings.HasPrefix(first, "__") || !upper(first) && !s.typePosition(i, end) {
			return
		}
		owner = true
	case !upper(first) || s.module && (f == script || f == python):
		return
	default:
		owner = f == java || f == csharp
	}
	s.noteUse(codegraph.References, i, end)
	if owner && end > i {
		s.noteOwnerType(i, end)
	}
}

// noteOwnerType records a reference to the type in "Cart.MAX".
func (s *search) noteOwnerType(i, end int) {
	if upper(s.text(end - 2)) {
		if n, qualified, ok := s.resolve(i, end-2); ok {
			s.use(codegraph.References, n, qualified, s.line(i))
		}
	}
}

// typePosition reports whether the name from i to end is a type: that of the next name, or the name after "struct".
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

// self records the use of a member of the enclosing type: "this.total".
func (s *search) self(i, end int, call bool) {
	if end == i {
		return
	}
	member, line := i+2, s.line(i)
	if owner := s.typeAround(); owner >= 0 {
		q := s.file.Decls[owner].Qualified
		at, ok := s.declared[joinDotted(q, s.text(member))]
		switch {
		case ok:
			s.use(useKind(call && member == end), s.file.Decls[at].Qualified, true, line)
			switch paths := []string{s.file.Decls[at].Qualified}; {
			case s.takesTypes() && member < end:
				s.noteParts(paths, member+2, end, call)
			case s.takesTypes():
				s.chainCall(paths, end, call)
			case call && member < end:
				s.use(codegraph.Calls, "."+s.text(end), false, line)
			}
			return
		case s.takesTypes():
			s.noteParts([]string{q}, member, end, call)
			return
		}
	}
	if call {
		s.use(codegraph.Calls, "."+s.text(end), false, line)
	}
}

// useKind returns the kind of a use: a call or another one.
func useKind(call bool) codegraph.EdgeKind {
	if call {
		return codegraph.Calls
	}
	return codegraph.References
}

// typeAround returns the innermost type that encloses the present token or of which the enclosing declaration is a
// member; -1 for none.
func (s *search) typeAround() int { return s.enclosing(codegraph.KindType, codegraph.KindInterface) }

// enclosing returns the innermost declaration of one of these kinds around the present token; -1 for none.
func (s *search) enclosing(kinds ...codegraph.Kind) int {
	for n, d := 0, s.owner; d >= 0 && n < maxDepth; n++ {
		if slices.Contains(kinds, s.file.Decls[d].Kind) {
			return d
		}
		d = s.file.Decls[d].Parent
	}
	return -1
}

// selfWord reports whether a word stands for the enclosing type or its instance.
func selfWord(f family, w string) bool {
	switch f {
	case python:
		return w == "self" || w == "cls"
	case rust:
		return w == "self" || w == "Self"
	}
	return w == "this"
}

// rootWord reports whether the keyword at i begins a path of Rust.
func (s *search) rootWord(i int) bool {
	return s.lang.family == rust && s.op(i+1) == opPath && (s.is(i, "crate") || s.is(i, "super") || s.is(i, "self"))
}

// use records a use by the present declaration. It ignores a declaration's reference to itself.
func (s *search) use(kind codegraph.EdgeKind, n string, qualified bool, line int) {
	if n == "" || qualified && s.owner >= 0 && n == s.file.Decls[s.owner].Qualified && kind != codegraph.Calls && !s.sharesName() {
		return
	}
	s.add(codegraph.Use{From: s.owner, Kind: kind, Name: n, Qualified: qualified, Line: line})
}

// sharesName reports whether the present declaration may have the same name as a type. In TypeScript, variables may.
func (s *search) sharesName() bool {
	return s.lang.family == script && s.file.Decls[s.owner].Kind == codegraph.KindVariable
}

// add adds a use, or increments the count of an equal one.
func (s *search) add(u codegraph.Use) {
	key := useKey{u.From, u.Kind, u.Name}
	if at, ok := s.seen[key]; ok {
		s.file.Uses[at].Times = max(s.file.Uses[at].Times, 1) + 1
		return
	}
	u.Name = s.intern(u.Name)
	key.name = u.Name
	s.seen[key] = len(s.file.Uses)
	s.file.Uses = append(s.file.Uses, u)
}

func (r *reader) use(from int, kind codegraph.EdgeKind, n string, qualified bool, line int) {
	r.file.Uses = append(r.file.Uses, codegraph.Use{From: from, Kind: kind, Name: r.intern(n), Qualified: qualified, Line: line})
}
