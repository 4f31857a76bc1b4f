package lexed

import "github.com/kenlayer/ken/internal/code/codegraph"

// scanner cuts a text into tokens. Each byte is looked at a bounded number of times.
type scanner struct {
	src   string
	lang  *language
	plain bool // take templates and interpolated strings whole, and no tags

	pos, line int
	lineStart int
	fresh     bool // nothing but blanks since the line began
	depth     int  // of braces
	modes     []mode
	unclosed  [4]int // end of a line on which a quote of a kind has no partner: ' " ` /

	toks       []token
	comments   []comment
	directives []directive
	problems   []codegraph.Problem
}

// scan cuts a text into tokens. Where a template or a tag does not end, it tries again
// without them.
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
	s.line, s.fresh = 1, true
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

// step reads one token, comment or blank.
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
	case c == '\\' && s.pos+1 < len(s.src) && (s.src[s.pos+1] == '\n' || s.src[s.pos+1] == '\r'):
		s.pos++ // a line that goes on: the next one begins none
		for s.pos < len(s.src) && s.src[s.pos] == '\r' {
			s.pos++
		}
		if s.pos < len(s.src) && s.src[s.pos] == '\n' {
			s.newline()
			s.fresh = false
		}
	default:
		s.punct()
	}
}

func (s *scanner) newline() {
	s.pos++
	s.line++
	s.lineStart, s.fresh = s.pos, true
}

// emit adds the token from start to the present place, which began on a line.
func (s *scanner) emit(k kind, o op, start, line int) {
	indent := int32(-1)
	if s.fresh {
		indent = s.columns(start)
		s.fresh = false
	}
	s.toks = append(s.toks, token{kind: k, op: o, indent: indent, start: int32(start), end: int32(s.pos), line: int32(line), match: -1})
}

// columns counts the columns before a place on its line; a tab goes to the next
// multiple of eight.
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
	if s.lang.family == python && o == '/' && n == 1 && start+1 < len(s.src) && s.src[start+1] == '/' {
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
	dollar := s.lang.family == script || s.lang.family == java || s.lang.family == cfamily
	for s.pos < len(s.src) && (wordByte[s.src[s.pos]] != 0 || dollar && s.src[s.pos] == '$') {
		s.pos++
	}
	if s.pos < len(s.src) && (s.src[s.pos] == '"' || s.src[s.pos] == '\'' || s.src[s.pos] == '#') && s.prefixed(start) {
		return
	}
	s.emit(word, 0, start, s.line)
}

// number reads a number with its suffix: digits, letters, a point before a digit, a
// sign after an exponent, separators.
func (s *scanner) number() {
	start := s.pos
	for s.pos < len(s.src) {
		c := s.src[s.pos]
		next := byte(0)
		if s.pos+1 < len(s.src) {
			next = s.src[s.pos+1]
		}
		switch {
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

// wordByte says which bytes words are made of. All that is not ASCII is a letter.
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
