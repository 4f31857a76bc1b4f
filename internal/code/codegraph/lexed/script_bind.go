package lexed

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// required records the names that a require binds.
func (s *scriptReader) required(nameAt, str int) {
	if s.op(nameAt) == '{' {
		s.from(nameAt, str, s.named(nameAt+1, s.match(nameAt)))
		return
	}
	if s.op(str+2) == '.' && s.kind(str+3) == word { // require("x").y
		s.from(nameAt, str, []imported{{name: s.text(str + 3), local: s.text(nameAt)}})
		s.mark(str+3, notUse)
		return
	}
	s.from(nameAt, str, []imported{{local: s.text(nameAt), all: true}})
	n := s.names[s.text(nameAt)]
	if n.module {
		n.viaScopes = true
		s.names[s.text(nameAt)] = n
		s.addScope(n.qualified)
	}
}

// parameters binds the names in a parameter list, for the tokens up to last.
func (s *scriptReader) parameters(open, last int) {
	if s.op(open) != '(' {
		return
	}
	shut := s.match(open)
	s.pattern(open+1, shut, func(i int) {
		s.local(i, open, last)
		t := typing{at: i, name: s.text(i), last: last, decl: -1}
		at := i + 1
		if s.op(at) == '?' {
			at++
		}
		if s.op(at) == ':' {
			t.first, t.end, t.annotation = at+1, s.partEnd(at+1, shut, true), true
		}
		s.typings = append(s.typings, t)
	})
}

// bind binds the local names of functions: variables, parameters of inner functions, caught errors, and names of inner
// functions and classes.
func (s *scriptReader) bind() {
	var open []int
	for i := range s.toks {
		switch o := s.op(i); {
		case o == '(':
			s.bindParameters(i, open)
			open = append(open, i)
		case opens(o):
			open = append(open, i)
		case closes(o):
			for len(open) > 0 && s.match(open[len(open)-1]) <= i {
				open = open[:len(open)-1]
			}
		case s.kind(i) == word:
			s.bindWord(i, open)
		}
	}
}

// level returns the last token of the innermost block. inner is false at file level and in a container, where names are
// declarations.
func (s *scriptReader) level(open []int) (last int, inner bool) {
	for n := len(open) - 1; n >= 0 && n >= len(open)-maxBack; n-- {
		if s.op(open[n]) == '{' {
			return s.match(open[n]), s.flags[open[n]]&container == 0
		}
	}
	return len(s.toks) - 1, false
}

func (s *scriptReader) bindWord(i int, open []int) {
	if s.op(i-1) == '.' {
		return
	}
	switch s.text(i) {
	case "let", "const", "var", "using":
		last, inner := s.level(open)
		if n := len(open); !inner && n > 0 && s.op(open[n-1]) == '(' {
			last, inner = s.bodyEnd(s.match(open[n-1])+1), true // the head of a loop
		}
		if inner {
			s.bindVariables(i+1, last)
		}
	case "function":
		at := i + 1
		if s.op(at) == '*' {
			at++
		}
		if s.kind(at) == word && s.op(at+1) == '(' {
			if last, inner := s.level(open); inner {
				s.local(at, at, last)
			}
			s.mark(at, notUse)
			at++
		}
		s.parameters(at, s.bodyEnd(s.match(at)+1))
	case "class":
		if last, inner := s.level(open); inner && s.name(i+1) {
			s.local(i+1, i+1, last)
			s.mark(i+1, notUse)
		}
	case "catch":
		s.parameters(i+1, s.bodyEnd(s.match(i+1)+1))
	case "require", "import":
		if s.flags[i]&notUse == 0 && s.op(i+1) == '(' && s.kind(i+2) == text && (s.op(i+3) == ')' || s.op(i+3) == ',') {
			s.from(i, i+2, nil)
		}
	default:
		if s.op(i+1) == opArrow && !(s.op(i-1) == ':' && s.op(i-2) == ')') { // a function type as a return type
			s.local(i, i, s.arrowEnd(i+2, open))
		}
	}
}

// bindVariables reads the declarators after "let".
func (s *scriptReader) bindVariables(i, last int) {
	for n := 0; i <= last && n < 1000; n++ {
		var t typing
		switch {
		case opens(s.op(i)):
			s.pattern(i+1, s.match(i), func(k int) {
				s.local(k, k, last)
				s.typings = append(s.typings, typing{at: k, name: s.text(k), decl: -1})
			})
			i = s.match(i) + 1
		case s.kind(i) == word:
			s.local(i, i, last)
			t = typing{at: i, name: s.text(i), last: last, decl: -1}
			if str, ok := s.require(i + 2); ok && s.op(i+1) == '=' {
				s.required(i, str)
				s.markNotUse(i, str+2)
				s.bindings = s.bindings[:len(s.bindings)-1]
			}
			i++
		default:
			return
		}
		if s.op(i) == ':' {
			t.first, t.annotation = i+1, true
			i = s.typeEnd(i+1, last, '=', ',')
			t.end = i
		}
		if s.op(i) == '=' {
			from := i + 1
			if i = s.expressionEnd(i+1, last, true); !t.annotation {
				t.first, t.end, t.at = from, i, i-1
			}
		}
		if t.name != "" {
			s.typings = append(s.typings, t)
		}
		if s.op(i) != ',' {
			return
		}
		i++
	}
}

// bodyEnd returns the last token of the body that begins at i. A return type may come before the body.
func (s *scriptReader) bodyEnd(i int) int {
	if s.op(i) == ':' {
		i = s.returnEnd(i+1, min(len(s.toks), i+200))
	}
	if s.op(i) == '{' {
		return s.match(i)
	}
	return i
}

// bindParameters binds the parameters in parentheses if a body follows: that of an arrow function, or of a method in an
// object.
func (s *scriptReader) bindParameters(i int, open []int) {
	after := s.match(i) + 1
	switch {
	case s.op(after) == opArrow:
	case s.op(after) == ':' && s.arrowBefore(i) && s.functionValue(i, min(len(s.toks), after+60)) > 0:
	case s.op(after) == '{' && s.kind(i-1) == word && !s.lang.keywords[s.text(i-1)]:
		s.parameters(i, s.match(after))
		s.mark(i-1, notUse)
		return
	default:
		return
	}
	for n := 0; s.op(after) != opArrow && n < 60; n++ {
		after = s.skip(after)
	}
	s.parameters(i, s.arrowEnd(after+1, open))
}

// arrowEnd returns the last token of the body of an arrow function that begins at i. For a long expression, it returns
// the end of the enclosing brackets.
func (s *scriptReader) arrowEnd(i int, open []int) int {
	if s.op(i) == '{' {
		return s.match(i)
	}
	for k, n := i, 0; k < len(s.toks) && n < 100; k, n = s.skip(k), n+1 {
		if o := s.op(k); o == ';' || o == ',' || closes(o) || k > i && s.toks[k].first() && !s.continues(k) {
			return k - 1
		}
	}
	if len(open) > 0 {
		return s.match(open[len(open)-1])
	}
	return len(s.toks) - 1
}

// arrowBefore reports whether an arrow function may begin at i, by the token before it. It may not after a question
// mark, because the colon after the parentheses belongs to that.
func (s *scriptReader) arrowBefore(i int) bool {
	switch s.op(i - 1) {
	case '=', '(', ',', ':', '[', opArrow, opLogic:
		return true
	}
	return s.is(i-1, "async") || s.is(i-1, "return")
}

// binding is the range of tokens in which a name is local to a function.
type binding struct {
	name        string // shares memory with the source
	first, last int32
}

// local binds the word at i for the tokens from first to last.
func (r *reader) local(i, first, last int) {
	if r.kind(i) != word || last < first {
		return
	}
	r.bindings = append(r.bindings, binding{r.text(i), int32(first), int32(last)})
}

// locals tracks which names are bound at the present token. Tokens are visited in order.
type locals struct {
	begin, end []binding
	bound      map[string]int
}

func newLocals(all []binding) *locals {
	l := &locals{begin: all, end: slices.Clone(all), bound: map[string]int{}}
	slices.SortStableFunc(l.begin, func(a, b binding) int { return int(a.first) - int(b.first) })
	slices.SortStableFunc(l.end, func(a, b binding) int { return int(a.last) - int(b.last) })
	return l
}

// advance moves on to token i.
func (l *locals) advance(i int) {
	for len(l.end) > 0 && int(l.end[0].last) < i {
		l.bound[l.end[0].name]--
		l.end = l.end[1:]
	}
	for len(l.begin) > 0 && int(l.begin[0].first) <= i {
		l.bound[l.begin[0].name]++
		l.begin = l.begin[1:]
	}
}

func (l *locals) has(name string) bool { return l.bound[name] > 0 }

// lower reports whether a name begins in lower case.
func lower(s string) bool {
	s = strings.TrimLeft(s, "_$#")
	return s != "" && s[0] >= 'a' && s[0] <= 'z'
}

// upper reports whether a name begins in upper case, as names of types and constants do.
func upper(s string) bool {
	s = strings.TrimLeft(s, "_$")
	return s != "" && s[0] >= 'A' && s[0] <= 'Z'
}

// declaration is a declaration as a reader found it. Positions are token numbers.
type declaration struct {
	kind     codegraph.Kind
	name     string
	within   string // the qualifying scope
	parent   int
	first    int // including its annotations
	head     int // without its annotations
	stop     int // first token after its heading; the signature ends before it
	last     int
	exported bool
	test     bool
	doc      string // if the comment is in an unusual place
}

const (
	maxSignature = 200 // bytes
	maxDoc       = 200
)

// declare adds a declaration and returns its index in File.Decls.
func (r *reader) declare(d declaration) int {
	d.last = min(max(d.last, d.head), len(r.toks)-1)
	if d.doc == "" {
		d.doc = r.doc(d.first, d.head)
	}
	line := r.line(d.head)
	q := joinDotted(d.within, d.name)
	decl := codegraph.Decl{
		Kind: d.kind, Name: r.intern(d.name), Qualified: r.intern(q), Parent: d.parent,
		Line: line, End: max(line, r.endLine(d.last)), Exported: d.exported,
		Signature: r.signature(d.head, d.stop), Doc: d.doc,
	}
	n := len(r.file.Decls)
	r.file.Decls = append(r.file.Decls, decl)
	r.places = append(r.places, place{first: int32(d.first), last: int32(d.last), test: d.test})
	if _, ok := r.declared[decl.Qualified]; !ok {
		r.declared[decl.Qualified] = n
	}
	return n
}

// declareAt is declare for a declaration whose name is the word at a token.
func (r *reader) declareAt(at int, d declaration) int {
	r.mark(at, notUse)
	d.name = r.text(at)
	return r.declare(d)
}

// typeParameters binds the names in the list of type parameters at i, if there is one, for the tokens from first to
// last. For -1 in place of first, each name is bound from itself on.
func (r *reader) typeParameters(i, first, last int) {
	if r.op(i) != '<' {
		return
	}
	r.list(i+1, r.angle(i), func(at, end int) {
		for at+1 < end && (r.op(at) == '@' || r.is(at, "in") || r.is(at, "out") || r.is(at, "const")) {
			if at++; r.op(at-1) == '@' {
				at++
			}
		}
		if first < 0 {
			r.local(at, at, last)
		} else {
			r.local(at, first, last)
		}
	})
}

// signature returns the tokens from i up to stop on one line.
func (r *reader) signature(i, stop int) string {
	var b strings.Builder
	end := int32(-1)
	for ; i < stop && i < len(r.toks) && b.Len() <= maxSignature; i++ {
		t := r.toks[i]
		if end >= 0 && t.start > end && b.Len() > 0 {
			b.WriteByte(' ')
		}
		s := r.src[t.start:t.end]
		if t.kind == text {
			s = strings.Join(strings.Fields(s[:min(len(s), maxSignature)]), " ")
		}
		b.WriteString(s)
		end = t.end
	}
	return clip(strings.ToValidUTF8(b.String(), "\uFFFD"), maxSignature)
}

// clip cuts a text to at most n bytes, at a character boundary.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	n -= len("…")
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.TrimRight(s[:n], " ") + "…"
}

// exported reports whether the members of declaration i can be visible outside the file. It is true for -1.
func (r *reader) exported(i int) bool { return i < 0 || r.file.Decls[i].Exported }

// base records that a declaration inherits from, or implements, the type at i.
func (r *reader) base(from int, kind codegraph.EdgeKind, i, end int) {
	if i >= end || r.kind(i) != word {
		return
	}
	path := i
	for path+2 < end && (r.op(path+1) == '.' || r.op(path+1) == opPath) && r.kind(path+2) == word {
		path += 2
	}
	r.markNotUse(i, path+1)
	if from >= 0 {
		r.places[from].derived = true
	}
	r.own = append(r.own, ownUse{from: from, kind: kind, first: i, last: path})
}

// list calls f with each element of a comma-separated list between i and end. It ignores commas in brackets and in
// lists of types.
func (r *reader) list(i, end int, f func(i, end int)) {
	for i < end {
		stop := r.elementEnd(i, end)
		f(i, stop)
		i = stop + 1
	}
}

// elementEnd returns the comma that ends the element at i of such a list; end for the last element.
func (r *reader) elementEnd(i, end int) int {
	for i < end && r.op(i) != ',' {
		i = r.past(i, end)
	}
	return min(i, end)
}
