package lexed

// regexp reads a regular expression of JavaScript at a slash, if the slash begins one.
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

// operand reports whether a value is due, by the token before: after a value a slash
// divides.
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

// condition reports whether the parenthesis that closes at token i is that of an if, a
// for or a while. It looks back a bounded number of tokens.
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
