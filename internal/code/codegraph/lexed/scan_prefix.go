package lexed

import "strings"

// prefixed reads a string with the word from start as its prefix.
func (s *scanner) prefixed(start int) bool {
	prefix := s.src[start:s.pos]
	if len(prefix) > 3 {
		return false
	}
	quote := s.src[s.pos]
	switch s.lang.family {
	case python:
		if quote == '#' || strings.Trim(prefix, "rRbBuUfFtT") != "" || len(prefix) > 2 {
			return false
		}
		l := triple(literal{quote: quote, count: 1}, s.src[s.pos:])
		if strings.ContainsAny(prefix, "fFtT") {
			l.holes = 1
		}
		l.raw = false // even in a raw string a backslash keeps a quote from ending it
		s.pos += l.count
		s.literal(l, start)
		return true
	case rust:
		return s.prefixedRust(start, prefix, quote)
	case cfamily:
		switch {
		case quote == '#':
			return false
		case s.lang.plusplus && quote == '"' && (prefix == "R" || prefix == "LR" || prefix == "uR" || prefix == "UR" || prefix == "u8R"):
			open := strings.IndexByte(s.src[s.pos:min(len(s.src), s.pos+20)], '(')
			if open < 0 {
				return false
			}
			s.until(")"+s.src[s.pos+1:s.pos+open]+"\"", start)
			return true
		case prefix == "L" || prefix == "u" || prefix == "U" || prefix == "u8":
			s.pos++
			s.literal(literal{quote: quote, count: 1}, start)
			return true
		}
	}
	return false
}

func (s *scanner) prefixedRust(start int, prefix string, quote byte) bool {
	switch prefix {
	case "b", "c":
		if quote == '#' {
			return false
		}
		s.pos++
		s.literal(literal{quote: quote, count: 1, lines: quote == '"'}, start)
		return true
	case "r", "br", "cr":
		n := 0
		for s.pos+n < len(s.src) && s.src[s.pos+n] == '#' {
			n++
		}
		if s.pos+n < len(s.src) && s.src[s.pos+n] == '"' {
			s.pos += n + 1
			s.until("\""+strings.Repeat("#", min(n, 255)), start)
			return true
		}
		if n == 1 && prefix == "r" && s.pos+1 < len(s.src) && wordByte[s.src[s.pos+1]] == wordHead {
			s.pos++
			start = s.pos
			for s.pos < len(s.src) && wordByte[s.src[s.pos]] != 0 {
				s.pos++
			}
			s.emit(word, 0, start, s.line)
			return true
		}
	}
	return false
}

// until takes all up to an ending for the string that began at start.
func (s *scanner) until(ending string, start int) {
	line, lineStart := s.line, s.lineStart
	end := strings.Index(s.src[s.pos:], ending)
	if end < 0 {
		s.problem(line, "a string does not end")
		end = len(s.src) - s.pos
	} else {
		end += len(ending)
	}
	within := s.src[s.pos : s.pos+end]
	if n := strings.Count(within, "\n"); n > 0 {
		s.line += n
		s.lineStart = s.pos + strings.LastIndexByte(within, '\n') + 1
	}
	s.pos += end
	s.emitText(start, line, lineStart)
}

// at reads what begins with an at sign or a dollar: a name in JavaScript, Java and C,
// a string or an escaped name in C#.
func (s *scanner) at() {
	start := s.pos
	switch s.lang.family {
	case script, java, cfamily:
		if s.src[s.pos] == '$' {
			s.pos++
			for s.pos < len(s.src) && (wordByte[s.src[s.pos]] != 0 || s.src[s.pos] == '$') {
				s.pos++
			}
			s.emit(word, 0, start, s.line)
			return
		}
	case csharp:
		n, l := 0, literal{quote: '"', count: 1}
		for s.pos+n < len(s.src) && (s.src[s.pos+n] == '$' || s.src[s.pos+n] == '@') && n < 16 {
			if s.src[s.pos+n] == '$' {
				l.holes++
			} else {
				l.raw, l.double, l.lines = true, true, true
			}
			n++
		}
		if s.pos+n < len(s.src) && s.src[s.pos+n] == '"' {
			s.pos += n
			if !l.double {
				l = rawQuotes(l, s.src[s.pos:])
			}
			s.pos += l.count
			s.literal(l, start)
			return
		}
		if n == 1 && s.src[s.pos] == '@' && s.pos+1 < len(s.src) && wordByte[s.src[s.pos+1]] == wordHead {
			s.pos++
			start = s.pos
			for s.pos < len(s.src) && wordByte[s.src[s.pos]] != 0 {
				s.pos++
			}
			s.emit(word, 0, start, s.line)
			return
		}
	}
	s.punct()
}
