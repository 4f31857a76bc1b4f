package lexed

import "strings"

// literal is a form of string.
type literal struct {
	quote      byte
	count      int  // number of quotes at its end
	raw        bool // a backslash is an ordinary character
	double     bool // two quotes stand for one quote
	lines      bool // it may have several lines
	openBraces int  // number of braces that begin an expression; 0 for none
	dollar     bool // "${" begins an expression
}

// quote reads a string or character that begins with the quote c.
func (s *scanner) quote(c byte) {
	start := s.pos
	l := literal{quote: c, count: 1}
	switch s.lang.family {
	case script:
		l.lines, l.dollar = c == '`', c == '`'
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

// rawQuotes turns l into a raw string of C# if s begins with three or more quotes.
func rawQuotes(l literal, s string) literal {
	if n := len(s) - len(strings.TrimLeft(s, `"`)); n >= 3 {
		l.count, l.raw, l.lines = n, true, true
	}
	return l
}

// literal reads the rest of a string whose token begins at start, up to its end or its first expression. If the string
// must end on its line and does not, the quote is emitted as punctuation.
func (s *scanner) literal(l literal, start int) {
	line, lineStart, begin := s.line, s.lineStart, s.pos
	if !l.lines && s.pos < s.unclosed[quoteIndex(l.quote)] {
		s.unpairedQuote(start)
		return
	}
	for s.pos < len(s.src) {
		c := s.src[s.pos]
		switch {
		case c == '\n' && !l.lines:
			s.unclosed[quoteIndex(l.quote)] = s.pos
			s.pos, s.line, s.lineStart = begin, line, lineStart
			s.unpairedQuote(start)
			return
		case c == '\n':
			s.line++
			s.lineStart = s.pos + 1
		case c == '\\' && !l.raw:
			if s.lang.family == python && l.openBraces > 0 && s.peek(1) == '{' {
				break // no escape: an expression begins, or two braces stand for one
			}
			s.escape()
		case c == l.quote && s.closes(l):
			if l.double && s.peek(1) == c {
				s.pos++
				break
			}
			s.pos += l.count
			s.emitText(start, line, lineStart)
			return
		case c == '$' && l.dollar && !s.plain && s.peek(1) == '{':
			s.pos++
			s.openExpression(l, start, line, lineStart)
			return
		case c == '{' && l.openBraces > 0 && !s.plain:
			if s.expressionBraces(l) {
				s.openExpression(l, start, line, lineStart)
				return
			}
		}
		s.pos++
	}
	s.pos = min(s.pos, len(s.src))
	if l.lines {
		s.problem(line, "a string does not end")
	}
	s.emitText(start, line, lineStart)
}

// escape moves from a backslash to the last byte that it escapes, such as the end of a line.
func (s *scanner) escape() {
	if s.pos++; s.peek(0) == '\r' {
		s.pos++
	}
	if s.peek(0) == '\n' {
		s.line++
		s.lineStart = s.pos + 1
	}
}

// expressionBraces moves to the last of the braces at the present position, and reports whether they begin an
// expression. Two braces stand for one, unless an expression begins with as many.
func (s *scanner) expressionBraces(l literal) bool {
	n := 1
	for s.peek(1) == '{' {
		s.pos++
		n++
	}
	return n >= l.openBraces && (l.openBraces > 1 || n%2 == 1)
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

// unpairedQuote emits a quote without a partner as punctuation. It does nothing after an expression in a string, where
// there is no quote.
func (s *scanner) unpairedQuote(start int) {
	if start < s.pos {
		s.emit(punct, op(s.src[s.pos-1]), start, s.line)
	}
}

func quoteIndex(c byte) int { return strings.IndexByte("'\"`", c) }

// lifetime reads a character of Rust, or a lifetime, which has no closing quote.
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
	s.skipWord()
	s.emit(text, 0, start, s.line)
}

// prefixed reads a string whose prefix is the word that begins at start.
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
			l.openBraces = 1
		}
		l.raw = false // even in a raw string, a quote after a backslash does not end it
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
		for s.peek(n) == '#' {
			n++
		}
		if s.peek(n) == '"' {
			s.pos += n + 1
			s.until("\""+strings.Repeat("#", min(n, 255)), start)
			return true
		}
		if n == 1 && prefix == "r" && wordByte[s.peek(1)] == wordHead {
			s.escapedWord()
			return true
		}
	}
	return false
}

// escapedWord reads the name after the present character.
func (s *scanner) escapedWord() {
	s.pos++
	start := s.pos
	s.skipWord()
	s.emit(word, 0, start, s.line)
}

// until reads up to the given ending, for the string that began at start.
func (s *scanner) until(ending string, start int) {
	line, lineStart := s.line, s.lineStart
	within, _, ended := strings.Cut(s.src[s.pos:], ending)
	if !ended {
		s.problem(line, "a string does not end")
		ending = ""
	}
	if n := strings.Count(within, "\n"); n > 0 {
		s.line += n
		s.lineStart = s.pos + strings.LastIndexByte(within, '\n') + 1
	}
	s.pos += len(within) + len(ending)
	s.emitText(start, line, lineStart)
}

// at reads what begins with "@" or "$": a name in JavaScript, Java and C, a string or an escaped name in C#.
func (s *scanner) at() {
	start := s.pos
	switch s.lang.family {
	case script, java, cfamily:
		if s.src[s.pos] == '$' {
			s.word()
			return
		}
	case csharp:
		n, l := 0, literal{quote: '"', count: 1}
		for ; (s.peek(n) == '$' || s.peek(n) == '@') && n < 16; n++ {
			if s.peek(n) == '$' {
				l.openBraces++
			} else {
				l.raw, l.double, l.lines = true, true, true
			}
		}
		if s.peek(n) == '"' {
			s.pos += n
			if !l.double {
				l = rawQuotes(l, s.src[s.pos:])
			}
			s.pos += l.count
			s.literal(l, start)
			return
		}
		if n == 1 && s.src[s.pos] == '@' && wordByte[s.peek(1)] == wordHead {
			s.escapedWord()
			return
		}
	}
	s.punct()
}

// regexp reads a regular expression of JavaScript at a slash. It returns false if the slash does not begin one.
func (s *scanner) regexp() bool {
	if s.pos < s.unclosed[3] || !s.operand() {
		return false
	}
	start, class := s.pos, false
	for i := s.pos + 1; i < len(s.src); i++ {
		switch c := s.src[i]; {
		case c == '\n':
			s.unclosed[3] = i
			return false
		case c == '\\':
			i++
			if i < len(s.src) && s.src[i] == '\n' {
				return false
			}
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			for i++; i < len(s.src) && wordByte[s.src[i]] != 0; i++ {
			}
			s.pos = i
			s.emit(text, 0, start, s.line)
			return true
		}
	}
	s.unclosed[3] = len(s.src)
	return false
}

// operand reports whether the previous token requires a value next. After a value, a slash is a division.
func (s *scanner) operand() bool {
	n := len(s.toks)
	if n == 0 {
		return true
	}
	switch t := s.toks[n-1]; t.kind {
	case word:
		if n > 1 && s.toks[n-2].op == '.' {
			return false
		}
		switch s.src[t.start:t.end] {
		case "return", "typeof", "case", "in", "of", "do", "else", "void", "delete", "throw", "new", "instanceof", "yield", "await", "default":
			return true
		}
		return false
	case number, text:
		return false
	default:
		switch t.op {
		case ')':
			return s.condition(n - 1)
		case ']', opStep:
			return false
		case '}':
			return s.src[s.pos+1:] != "" && s.src[s.pos+1] != ' ' && s.src[s.pos+1] != '>' && s.src[s.pos+1] != '='
		case '<':
			return false // "</"
		}
		return true
	}
}

// condition reports whether the parenthesis that closes at token i belongs to an if, a for or a while. It looks back at
// most 64 tokens.
func (s *scanner) condition(i int) bool {
	for depth, from := 0, i; i >= 0 && i > from-64; i-- {
		switch s.toks[i].op {
		case ')':
			depth++
		case '(':
			if depth--; depth > 0 {
				continue
			}
			if i == 0 || s.toks[i-1].kind != word {
				return false
			}
			switch s.src[s.toks[i-1].start:s.toks[i-1].end] {
			case "if", "for", "while", "with":
				return true
			}
			return false
		}
	}
	return false
}
