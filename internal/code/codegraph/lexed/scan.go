package lexed

import (
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// scanner splits a text into tokens. Its time is linear: it reads each byte a bounded number of times.
type scanner struct {
	src   string
	lang  *language
	plain bool // read templates and interpolated strings as one token, and no tags

	pos, line   int
	lineStart   int
	atLineStart bool // only blanks since the start of the line
	depth       int  // number of open braces
	modes       []mode
	unclosed    [4]int // end of the line on which a quote has no partner, for each of ' " ` /

	toks       []token
	comments   []comment
	directives []directive
	problems   []codegraph.Problem
}

// scan splits a text into tokens. If a template or a tag does not end, it scans again in plain mode.
func scan(src string, lang *language) *scanner {
	s := &scanner{src: src, lang: lang}
	s.run()
	if len(s.modes) > 0 {
		s = &scanner{src: src, lang: lang, plain: true}
		s.run()
	}
	return s
}

func (s *scanner) run() {
	s.line, s.atLineStart = 1, true
	s.toks = make([]token, 0, len(s.src)/5+8)
	if len(s.src) > 1 && s.src[:2] == "#!" && s.lang.family != rust {
		s.skipLine()
	}
	for s.pos < len(s.src) {
		if m := s.mode(); m == inTag || m == inText {
			s.tag()
			continue
		}
		s.step()
	}
}

// step reads one token or comment, or skips blanks.
func (s *scanner) step() {
	c := s.src[s.pos]
	switch {
	case c == '\n':
		s.newline()
	case c <= ' ' || c == 0x7f:
		s.pos++
	case wordByte[c] == wordHead:
		s.word()
	case c >= '0' && c <= '9':
		s.number()
	case c == '"' || c == '\'' || c == '`':
		s.quote(c)
	case c == '/' && s.comment():
	case c == '/' && s.lang.family == script && s.regexp():
	case c == '#':
		s.hash()
	case c == '@' || c == '$':
		s.at()
	case c == '<' && s.lang.tags && !s.plain && s.tagStarts():
		s.openTag()
	case c == '\\' && (s.peek(1) == '\n' || s.peek(1) == '\r'):
		for s.pos++; s.peek(0) == '\r'; { // a continued line: what follows does not start a line
			s.pos++
		}
		if s.peek(0) == '\n' {
			s.newline()
			s.atLineStart = false
		}
	default:
		s.punct()
	}
}

func (s *scanner) newline() {
	s.pos++
	s.line++
	s.lineStart, s.atLineStart = s.pos, true
}

// emit adds the token from start to the present position. line is the line on which it began.
func (s *scanner) emit(k kind, o op, start, line int) {
	indent := int32(-1)
	if s.atLineStart {
		indent = s.columns(start)
		s.atLineStart = false
	}
	s.toks = append(s.toks, token{kind: k, op: o, indent: indent, start: int32(start), end: int32(s.pos), line: int32(line), match: -1})
}

// columns returns the number of columns before a position on its line. A tab advances to the next multiple of eight.
func (s *scanner) columns(at int) int32 {
	n := int32(0)
	for i := s.lineStart; i < at; i++ {
		switch s.src[i] {
		case '\t':
			n += 8 - n%8
		case '\f':
			n = 0
		case '\r', 0:
		default:
			n++
		}
	}
	return n
}

func (s *scanner) punct() {
	start := s.pos
	o, n := punctuation(s.src[start:])
	if s.lang.family == python && o == '/' && s.peek(1) == '/' {
		n = 2
	}
	s.pos += n
	switch o {
	case '{':
		s.depth++
	case '}':
		s.depth--
		if s.resume(start) {
			return
		}
	}
	s.emit(punct, o, start, s.line)
}

func (s *scanner) word() {
	start := s.pos
	for s.skipWord(); s.peek(0) == '$' && (s.lang.family == script || s.lang.family == java || s.lang.family == cfamily); s.skipWord() {
		s.pos++
	}
	if c := s.peek(0); (c == '"' || c == '\'' || c == '#') && s.prefixed(start) {
		return
	}
	s.emit(word, 0, start, s.line)
}

// peek returns the byte that is n bytes after the present position; 0 behind the end of the text.
func (s *scanner) peek(n int) byte {
	if s.pos+n < len(s.src) {
		return s.src[s.pos+n]
	}
	return 0
}

func (s *scanner) skipWord() { s.pos += wordLength(s.src[s.pos:]) }

// wordLength returns the length of the word at the beginning of a text.
func wordLength(s string) int {
	for i := range len(s) {
		if wordByte[s[i]] == 0 {
			return i
		}
	}
	return len(s)
}

// number reads a number: digits, letters, separators, a point before a digit, a sign after an exponent, and a suffix.
func (s *scanner) number() {
	start := s.pos
	for s.pos < len(s.src) {
		switch c, next := s.src[s.pos], s.peek(1); {
		case wordByte[c] != 0:
		case c == '.' && (next >= '0' && next <= '9'):
		case (c == '+' || c == '-') && (s.src[s.pos-1]|32) == 'e' && next >= '0' && next <= '9' && !(s.src[start] == '0' && start+1 < s.pos && s.src[start+1]|32 == 'x'):
		case c == '\'' && s.lang.plusplus && wordByte[next] != 0:
		default:
			s.emit(number, 0, start, s.line)
			return
		}
		s.pos++
	}
	s.emit(number, 0, start, s.line)
}

func (s *scanner) problem(line int, what string) {
	s.problems = append(s.problems, codegraph.Problem{Line: line, Text: what})
}

const (
	wordTail = 1 // a digit
	wordHead = 2
)

// wordByte says which bytes words consist of. All bytes outside ASCII count as letters.
var wordByte = func() (t [256]byte) {
	for c := range t {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_', c >= 0x80:
			t[c] = wordHead
		case c >= '0' && c <= '9':
			t[c] = wordTail
		}
	}
	return t
}()

// mode is a kind of text within code, or of code within text.
type mode struct {
	kind    modeKind
	depth   int // number of open braces outside of it
	literal literal
}

type modeKind uint8

const (
	inCode          modeKind = iota
	inTemplate               // an expression in a string
	inTagExpression          // an expression between tags or in a tag
	inTag                    // from "<" to ">"
	inText                   // between two tags
)

// maxModes is the maximum nesting of strings and tags. If it is exceeded, the scanner switches to plain mode.
const maxModes = 200

func (s *scanner) mode() modeKind {
	if len(s.modes) == 0 {
		return inCode
	}
	return s.modes[len(s.modes)-1].kind
}

func (s *scanner) push(m mode) {
	if len(s.modes) >= maxModes {
		s.plain = true
		s.modes = s.modes[:0]
		s.problem(s.line, "strings or tags are nested too deeply")
		return
	}
	s.modes = append(s.modes, m)
}

func (s *scanner) pop() { s.modes = s.modes[:len(s.modes)-1] }

// openExpression ends a piece of text at the present brace and begins an expression.
func (s *scanner) openExpression(l literal, start, line, lineStart int) {
	s.emitText(start, line, lineStart)
	s.push(mode{kind: inTemplate, depth: s.depth, literal: l})
	s.brace()
}

func (s *scanner) brace() {
	s.pos++
	s.depth++
	s.emit(punct, '{', s.pos-1, s.line)
}

// resume continues the string or tag whose expression ended with the brace at start. It reports whether there is one.
func (s *scanner) resume(start int) bool {
	if len(s.modes) == 0 {
		return false
	}
	m := s.modes[len(s.modes)-1]
	if m.kind != inTemplate && m.kind != inTagExpression || m.depth != s.depth {
		return false
	}
	s.pop()
	s.emit(punct, '}', start, s.line)
	if m.kind == inTemplate {
		for n := 1; n < m.literal.openBraces && s.peek(0) == '}'; n++ {
			s.pos++
		}
		l := m.literal
		l.lines = l.lines || s.lang.family == csharp
		s.literal(l, s.pos)
	}
	return true
}

// tagStarts reports whether "<" begins a tag, and not a comparison or a list of types.
func (s *scanner) tagStarts() bool {
	rest := s.src[s.pos+1:]
	if rest == "" || rest[0] != '>' && wordByte[rest[0]] != wordHead {
		return false
	}
	if n := len(s.toks); n > 0 {
		switch t := s.toks[n-1]; t.kind {
		case word:
			switch s.src[t.start:t.end] {
			case "return", "default", "case", "yield", "await", "else", "do":
			default:
				return false
			}
		case punct:
			if t.op == ')' || t.op == ']' || t.op == '}' || t.op == '>' || t.op == '.' || t.op == opStep {
				return false
			}
		default:
			return false
		}
	}
	if !s.lang.types {
		return true
	}
	end := wordLength(rest)
	name, after := rest[:end], strings.TrimLeft(rest[end:min(len(rest), end+200)], " \t\r\n")
	return !hasPrefix(after, ",", "extends ", "=") && name != "const" && !(hasPrefix(after, ">(") && end > 0 && end <= 2 && name[0] <= 'Z')
}

// openTag reads "<" and the name after it.
func (s *scanner) openTag() {
	s.pos++
	s.emit(punct, '<', s.pos-1, s.line)
	s.push(mode{kind: inTag, depth: s.depth})
	for wordByte[s.peek(0)] == wordHead {
		start := s.pos
		for s.skipWord(); s.peek(0) == '-' || s.peek(0) == ':'; s.skipWord() {
			s.pos++
		}
		if c := s.src[start]; c >= 'a' && c <= 'z' && s.peek(0) != '.' {
			s.emit(text, 0, start, s.line) // an HTML element, not a component
			return
		}
		s.emit(word, 0, start, s.line)
		if s.peek(0) != '.' {
			return
		}
		s.punct()
	}
}

// tag reads the next piece of a tag or of the text between tags.
func (s *scanner) tag() {
	c, next := s.src[s.pos], s.peek(1)
	if s.mode() == inTag {
		switch {
		case c == '>':
			s.modes[len(s.modes)-1].kind = inText
			s.pos++
		case c == '/' && next == '>':
			s.pos += 2
			s.endTag()
		case c == '/' && (next == '/' || next == '*'):
			s.comment()
		case c == '"' || c == '\'':
			s.pos++
			s.literal(literal{quote: c, count: 1, raw: true, lines: true}, s.pos-1)
		case c == '<': // type arguments of a component
			s.types()
		default:
			s.tagPart()
		}
		return
	}
	switch {
	case c == '<' && next == '/':
		for s.pos < len(s.src) && s.src[s.pos] != '>' {
			if s.src[s.pos] == '\n' {
				s.newline()
				continue
			}
			s.pos++
		}
		s.pos = min(s.pos+1, len(s.src))
		s.endTag()
	case c == '<' && (next == '>' || wordByte[next] == wordHead):
		s.openTag()
	default:
		s.tagPart()
	}
}

// tagPart reads an expression, a line end or a character in a tag or between tags.
func (s *scanner) tagPart() {
	switch s.src[s.pos] {
	case '{':
		s.push(mode{kind: inTagExpression, depth: s.depth})
		s.brace()
	case '\n':
		s.newline()
	default:
		s.pos++
	}
}

// endTag closes an element. An element that is not within another one is emitted as a value.
func (s *scanner) endTag() {
	s.pop()
	if m := s.mode(); m != inTag && m != inText {
		s.emit(text, 0, s.pos, s.line)
	}
}

// types skips a list of type arguments in a tag.
func (s *scanner) types() {
	for depth := 0; s.pos < len(s.src); s.pos++ {
		switch s.src[s.pos] {
		case '<':
			depth++
		case '>':
			if depth--; depth == 0 {
				s.pos++
				return
			}
		case '\n', '{', '/':
			return
		}
	}
}
