package lexed

import (
	"slices"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// useKey tells one use of a declaration from another: only the first is kept.
type useKey struct {
	from int
	kind codegraph.EdgeKind
	name string
}

// search goes through the tokens and finds out what the names in them are.
type search struct {
	*reader
	locals *locals
	owner  int   // the declaration that the present token is in
	stack  []int // those around it
	seen   map[useKey]bool
}

// uses finds the names that the file uses.
func (r *reader) uses() {
	s := &search{reader: r, locals: newLocals(r.bindings), owner: -1, seen: map[useKey]bool{}}
	for _, u := range r.file.Uses {
		s.seen[useKey{u.From, u.Kind, u.Name}] = true
	}
	order := make([]int, len(r.places))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if d := int(r.places[a].first) - int(r.places[b].first); d != 0 {
			return d
		}
		return int(r.places[b].last) - int(r.places[a].last)
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
		if r.toks[i].kind != word || r.flags[i]&muted != 0 {
			i++
			continue
		}
		i = max(s.path(i), i+1)
	}
}

// heading tells a base or an interface of a declaration.
func (s *search) heading(u ownUse) {
	first := s.text(u.first)
	if s.locals.has(first) && !s.typeName(u.first) || s.lang.builtin[first] && u.first == u.last && !s.knows(first) {
		return
	}
	s.owner = u.from
	s.found(u.kind, u.first, u.last)
}

func (s *search) typeName(i int) bool { return s.flags[i]&typed != 0 }

// knows reports whether a bare name is declared in the file or imported.
func (s *search) knows(n string) bool {
	if _, ok := s.names[n]; ok {
		return true
	}
	_, ok := s.lookup(n)
	return ok
}

// path reads the name that begins at i with all its parts, tells what is used, and
// returns the token after it.
func (s *search) path(i int) int {
	first := s.text(i)
	switch p := s.op(i - 1); p {
	case '.', opOptional:
		return s.member(i)
	case opThin:
		if s.lang.family == cfamily {
			return s.member(i)
		}
	case opPath:
		if s.lang.family != rust || s.op(i-2) == '>' {
			return s.member(i)
		}
	}
	self := selfWord(s.lang.family, first) && !s.rootWord(i)
	if s.lang.keywords[first] && !self && !s.rootWord(i) {
		return i + 1
	}
	if s.key(i) {
		return i + 1
	}
	end := s.pathEnd(i)
	if o := s.op(i + 1); self && end == i && (o == '.' || o == opThin) && s.kind(i+2) == word {
		end = i + 2
	}
	call := s.called(end) && s.flags[i]&annotation == 0
	switch {
	case self:
		s.self(i, end, call)
	case s.locals.has(first) && s.flags[i]&typed == 0 && !(s.lang.family == rust && end > i && s.op(i+1) == opPath):
		s.ofLocal(i, end, call)
	case s.lang.builtin[first] && !s.knows(first):
		if call && end > i && s.lang.family == java {
			return end + 1
		}
	case call:
		s.found(codegraph.Calls, i, end)
	default:
		s.mention(i, end)
	}
	return end + 1
}

// pathEnd is the last word of "a.b.c" from i on.
func (s *search) pathEnd(i int) int {
	for n := 0; n < 16; n++ {
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
		if o := s.op(sep); (o == '.' && s.lang.family != cfamily || o == opPath && s.lang.family == java) && s.kind(sep+1) == word && s.flags[sep+1]&muted == 0 &&
			(s.lang.family == python || s.lang.family == script || !s.lang.keywords[s.text(sep+1)]) {
			i = sep + 1
			continue
		}
		return i
	}
	return i
}

// called reports whether what ends at i is called, or made.
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
	switch s.lang.family {
	case script:
		return s.op(i+1) == ':' && (s.op(i-1) == '{' || s.op(i-1) == ',') || s.op(i+1) == ':' && s.toks[i].first() && s.op(i-1) != '?' && s.op(i-1) != ':'
	case csharp:
		return s.op(i+1) == ':' && (s.op(i-1) == '(' || s.op(i-1) == ',' || s.op(i-1) == '{' && s.kind(i-2) != text)
	case python:
		return s.op(i+1) == '=' && (s.op(i-1) == '(' || s.op(i-1) == ',')
	case rust:
		return s.op(i+1) == ':' && (s.op(i-1) == '{' || s.op(i-1) == ',') && lower(s.text(i))
	case cfamily:
		return s.op(i-1) == '.' && s.op(i+1) == '='
	}
	return false
}
