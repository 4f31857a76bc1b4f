package lexed

import "strings"

// literal is a form of string.
type literal struct {
	quote  byte
	count  int  // of quotes at its end
	raw    bool // a backslash is a backslash
	double bool // two quotes stand for one
	lines  bool // may go over lines
	holes  int  // braces that begin an expression; 0 for none
	dollar bool // "${" begins an expression
}

// quote reads what begins with a quote.
func (s *scanner) quote(c byte) {
	start := s.pos
	l := literal{quote: c, count: 1}
	switch s.lang.family {
	case script:
		if c == '`' {
			l.lines, l.dollar = true, true
		}
	case python:
		l = triple(l, s.src[start:])
	case java:
		if c == '"' {
			l = triple(l, s.src[start:])
		}
	case csharp:
		if c == '"' {
			l = rawQuotes(l, s.src[start:])
		}
	case rust:
		if c == '\'' {
			s.lifetime()
			return
		}
		l.lines = true
	}
	if c == '`' && s.lang.family != script {
		s.punct()
		return
	}
	s.pos += l.count
	s.literal(l, start)
}

func triple(l literal, s string) literal {
	if len(s) > 2 && s[1] == l.quote && s[2] == l.quote {
		l.count, l.lines = 3, true
	}
	return l
}

// rawQuotes makes a raw string of C# of three quotes or more.
func rawQuotes(l literal, s string) literal {
	n := 0
	for n < len(s) && s[n] == '"' {
		n++
	}
	if n >= 3 {
		l.count, l.raw, l.lines = n, true, true
	}
	return l
}

// literal reads the rest of a string, the token of which began at start, up to its
// end or the first expression in it. A string that its line does not end is no string.
func (s *scanner) literal(l literal, start int) {
	line, lineStart, begin := s.line, s.lineStart, s.pos
	if !l.lines && s.pos < s.unclosed[quoteIndex(l.quote)] {
		s.loneQuote(start)
		return
	}
	for s.pos < len(s.src) {
		c := s.src[s.pos]
		switch {
		case c == '\n' && !l.lines:
			s.unclosed[quoteIndex(l.quote)] = s.pos
			s.pos, s.line, s.lineStart = begin, line, lineStart
			s.loneQuote(start)
			return
		case c == '\n':
			s.line++
			s.lineStart = s.pos + 1
		case c == '\\' && !l.raw:
			if s.lang.family == python && l.holes > 0 && s.pos+1 < len(s.src) && s.src[s.pos+1] == '{' {
				break // no escape: an expression begins, or two braces
			}
			s.pos++
			if s.pos < len(s.src) && s.src[s.pos] == '\r' {
				s.pos++
			}
			if s.pos < len(s.src) && s.src[s.pos] == '\n' {
				s.line++
				s.lineStart = s.pos + 1
			}
		case c == l.quote && s.closes(l):
			if l.double && s.pos+1 < len(s.src) && s.src[s.pos+1] == c {
				s.pos++
				break
			}
			s.pos += l.count
			s.emitText(start, line, lineStart)
			return
		case c == '$' && l.dollar && !s.plain && s.pos+1 < len(s.src) && s.src[s.pos+1] == '{':
			s.pos++
			s.hole(l, start, line, lineStart)
			return
		case c == '{' && l.holes > 0 && !s.plain:
			n := 1
			for s.pos+n < len(s.src) && s.src[s.pos+n] == '{' {
				n++
			}
			if n < l.holes || l.holes == 1 && n%2 == 0 {
				s.pos += n - 1
				break
			}
			s.pos += n - 1
			s.hole(l, start, line, lineStart)
			return
		}
		s.pos++
	}
	s.pos = min(s.pos, len(s.src))
	if l.lines {
		s.problem(line, "a string does not end")
	}
	s.emitText(start, line, lineStart)
}

func (s *scanner) closes(l literal) bool {
	return l.count == 1 || strings.Count(s.src[s.pos:min(len(s.src), s.pos+l.count)], string(l.quote)) == l.count
}

// emitText adds a token of text that may have begun on an earlier line.
func (s *scanner) emitText(start, line, lineStart int) {
	now := s.lineStart
	s.lineStart = lineStart
	s.emit(text, 0, start, line)
	s.lineStart = now
}

// loneQuote takes a quote without a partner for punctuation. Behind an expression in a
// string there is none.
func (s *scanner) loneQuote(start int) {
	if start == s.pos {
		return
	}
	s.emit(punct, op(s.src[s.pos-1]), start, s.line)
}

func quoteIndex(c byte) int {
	switch c {
	case '\'':
		return 0
	case '"':
		return 1
	case '`':
		return 2
	}
	return 3
}

// lifetime reads a character of Rust, or a lifetime, which has no second quote.
func (s *scanner) lifetime() {
	start := s.pos
	rest := s.src[start+1:]
	if strings.HasPrefix(rest, "\\") {
		s.pos++
		s.literal(literal{quote: '\'', count: 1}, start)
		return
	}
	for i := range min(len(rest), 5) {
		if i > 0 && rest[i] == '\'' && (i == 1 || rest[0] >= 0x80) {
			s.pos += i + 2
			s.emit(text, 0, start, s.line)
			return
		}
	}
	s.pos++
	for s.pos < len(s.src) && wordByte[s.src[s.pos]] != 0 {
		s.pos++
	}
	s.emit(text, 0, start, s.line)
}
