package lexed

import "strings"

// comment reads a comment at a slash, if there is one.
func (s *scanner) comment() bool {
	if s.pos+1 >= len(s.src) || s.lang.family == python {
		return false
	}
	start, line, own := s.pos, s.line, s.fresh
	switch s.src[s.pos+1] {
	case '/':
		s.skipLine()
	case '*':
		s.block()
	default:
		return false
	}
	s.note(start, line, own)
	return true
}

// note keeps the comment from start to the present place.
func (s *scanner) note(start, line int, own bool) {
	s.comments = append(s.comments, comment{start: int32(start), end: int32(s.pos), line: int32(line), endLine: int32(s.line),
		tok: int32(len(s.toks)), own: own})
}

// skipLine goes to the end of the line. In C a backslash at the end takes the next
// one along.
func (s *scanner) skipLine() {
	for s.pos < len(s.src) {
		end := strings.IndexByte(s.src[s.pos:], '\n')
		if end < 0 {
			s.pos = len(s.src)
			return
		}
		s.pos += end
		if s.lang.family != cfamily || !strings.HasSuffix(strings.TrimSuffix(s.src[:s.pos], "\r"), "\\") {
			return
		}
		fresh := s.fresh
		s.newline()
		s.fresh = fresh
	}
}

// block goes behind the end of a block comment.
func (s *scanner) block() {
	line, depth := s.line, 1
	fresh := s.fresh
	for s.pos += 2; s.pos < len(s.src); s.pos++ {
		switch c := s.src[s.pos]; {
		case c == '\n':
			s.newline()
			s.pos-- // the loop steps over it
			s.fresh = fresh
		case c == '*' && s.pos+1 < len(s.src) && s.src[s.pos+1] == '/':
			s.pos++
			if depth--; depth == 0 {
				s.pos++
				return
			}
		case c == '/' && s.lang.nested && s.pos+1 < len(s.src) && s.src[s.pos+1] == '*':
			s.pos++
			depth++
		}
	}
	s.problem(line, "a comment does not end")
}

// hash reads what begins with a number sign: a comment in Python, a private name in
// JavaScript, a line for the preprocessor in C and C#, an attribute in Rust.
func (s *scanner) hash() {
	start := s.pos
	switch {
	case s.lang.family == python:
		line, own := s.line, s.fresh
		s.skipLine()
		s.note(start, line, own)
	case s.lang.family == script && start+1 < len(s.src) && wordByte[s.src[start+1]] == wordHead:
		s.pos++
		for s.pos < len(s.src) && wordByte[s.src[s.pos]] != 0 {
			s.pos++
		}
		s.emit(word, 0, start, s.line)
	case s.lang.directives && s.fresh:
		s.directive()
	default:
		s.punct()
	}
}

// directive reads a line for the preprocessor. Block comments in it may be longer.
func (s *scanner) directive() {
	d := directive{line: int32(s.line), tok: int32(len(s.toks)), note: -1}
	if n := len(s.comments); n > 0 && s.comments[n-1].own && s.comments[n-1].tok == d.tok && s.comments[n-1].endLine == d.line-1 {
		d.note = n - 1
	}
	start := s.pos + 1
	for s.pos < len(s.src) && s.src[s.pos] != '\n' {
		switch {
		case s.src[s.pos] == '/' && s.pos+1 < len(s.src) && s.src[s.pos+1] == '*' && s.lang.family == cfamily:
			s.block()
			continue
		case s.src[s.pos] == '/' && s.pos+1 < len(s.src) && s.src[s.pos+1] == '/':
			s.skipLine()
			continue
		case s.src[s.pos] == '\\' && s.lang.family == cfamily:
			s.pos++
			if s.pos < len(s.src) && s.src[s.pos] == '\r' {
				s.pos++
			}
			if s.pos < len(s.src) && s.src[s.pos] == '\n' {
				s.newline()
			}
			continue
		}
		s.pos++
	}
	body := strings.TrimLeft(s.src[start:s.pos], " \t")
	end := 0
	for end < len(body) && wordByte[body[end]] != 0 {
		end++
	}
	d.name, d.rest = body[:end], strings.TrimSpace(body[end:])
	s.directives = append(s.directives, d)
	s.fresh = true
}
