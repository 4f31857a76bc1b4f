package lexed

// required notes the names that a require binds.
func (s *scriptReader) required(nameAt, str int) {
	if s.op(nameAt) == '{' {
		s.from(nameAt, str, s.named(nameAt+1, s.match(nameAt)))
		return
	}
	if s.op(str+2) == '.' && s.kind(str+3) == word { // require("x").y
		s.from(nameAt, str, []imported{{name: s.text(str + 3), local: s.text(nameAt)}})
		s.mark(str+3, muted)
		return
	}
	s.from(nameAt, str, []imported{{local: s.text(nameAt), all: true}})
	n := s.names[s.text(nameAt)]
	if n.module {
		n.loose = true
		s.names[s.text(nameAt)] = n
		s.addScope(n.qualified)
	}
}

// parameters binds the names of a list of parameters up to the token last.
func (s *scriptReader) parameters(open, last int) {
	if s.op(open) != '(' {
		return
	}
	s.pattern(open+1, s.match(open), func(i int) { s.local(i, open, last) })
}

// bind finds what the bodies of functions declare for themselves: variables, parameters
// of functions in them, what catch catches, names of functions and classes.
func (s *scriptReader) bind() {
	var open []int
	for i := range s.toks {
		o := s.op(i)
		switch {
		case opens(o):
			open = append(open, i)
		case closes(o):
			for len(open) > 0 && s.match(open[len(open)-1]) <= i {
				open = open[:len(open)-1]
			}
		}
		switch {
		case s.kind(i) == word:
			s.bindWord(i, open)
		case o == '(':
			s.bindParameters(i, open[:len(open)-1])
		}
	}
}

// level is the last token of the innermost block, and false at the level of the file or of
// a container, whose names are declarations.
func (s *scriptReader) level(open []int) (last int, inner bool) {
	for n := len(open) - 1; n >= 0 && n >= len(open)-maxBack; n-- {
		if s.op(open[n]) == '{' {
			return s.match(open[n]), s.flags[open[n]]&container == 0
		}
	}
	return len(s.toks) - 1, false
}

func (s *scriptReader) bindWord(i int, open []int) {
	switch s.text(i) {
	case "let", "const", "var", "using":
		if s.op(i-1) == '.' {
			return
		}
		last, inner := s.level(open)
		if inParens := len(open) > 0 && s.op(open[len(open)-1]) == '('; !inner {
			if !inParens {
				return
			}
			last = s.bodyEnd(s.match(open[len(open)-1]) + 1) // the head of a loop
		}
		s.bindVariables(i+1, last)
	case "function":
		if s.op(i-1) == '.' {
			return
		}
		at := i + 1
		if s.op(at) == '*' {
			at++
		}
		if s.kind(at) == word && s.op(at+1) == '(' {
			if last, inner := s.level(open); inner {
				s.local(at, at, last)
			}
			s.mark(at, muted)
			at++
		}
		if s.op(at) == '(' {
			s.parameters(at, s.bodyEnd(s.match(at)+1))
		}
	case "class":
		if s.name(i+1) && s.op(i-1) != '.' {
			if last, inner := s.level(open); inner {
				s.local(i+1, i+1, last)
				s.mark(i+1, muted)
			}
		}
	case "catch":
		if s.op(i+1) == '(' && s.op(i-1) != '.' {
			s.parameters(i+1, s.bodyEnd(s.match(i+1)+1))
		}
	case "require", "import":
		s.inner(i)
	default:
		if s.op(i+1) == opArrow && s.op(i-1) != '.' {
			s.local(i, i, s.arrowEnd(i+2, open))
		}
	}
}

// inner notes an import in the middle of the code.
func (s *scriptReader) inner(i int) {
	if s.flags[i]&muted != 0 || s.op(i-1) == '.' {
		return
	}
	if s.op(i+1) == '(' && s.kind(i+2) == text && (s.op(i+3) == ')' || s.op(i+3) == ',') {
		s.from(i, i+2, nil)
	}
}

// bindVariables reads the declarators behind "let".
func (s *scriptReader) bindVariables(i, last int) {
	for n := 0; i <= last && n < 1000; n++ {
		switch {
		case opens(s.op(i)):
			s.pattern(i+1, s.match(i), func(k int) { s.local(k, k, last) })
			i = s.match(i) + 1
		case s.kind(i) == word:
			s.local(i, i, last)
			if str, ok := s.require(i + 2); ok && s.op(i+1) == '=' {
				s.required(i, str)
				s.mute(i, str+2)
				s.unbind()
			}
			i++
		default:
			return
		}
		if s.op(i) == ':' {
			i = s.typeEnd(i+1, last)
		}
		if s.op(i) == '=' {
			i = s.expressionEnd(i+1, last, true)
		}
		if s.op(i) != ',' {
			return
		}
		i++
	}
}

// bodyEnd is the last token of the body that begins at i, perhaps behind a type.
func (s *scriptReader) bodyEnd(i int) int {
	if s.op(i) == ':' {
		i = s.returnEnd(i+1, min(len(s.toks), i+200))
	}
	if s.op(i) == '{' {
		return s.match(i)
	}
	return i
}

// bindParameters binds the parameters in parentheses, if a body follows: an arrow's, or
// that of a method in an object.
func (s *scriptReader) bindParameters(i int, open []int) {
	after := s.match(i) + 1
	switch {
	case s.op(after) == opArrow:
	case s.op(after) == ':' && s.arrowBefore(i) && s.functionValue(i, min(len(s.toks), after+60)) > 0:
	case s.op(after) == '{' && s.kind(i-1) == word && !s.lang.keywords[s.text(i-1)]:
		s.parameters(i, s.match(after))
		s.mark(i-1, muted)
		return
	default:
		return
	}
	for n := 0; s.op(after) != opArrow && n < 60; n++ {
		after = s.skip(after)
	}
	s.parameters(i, s.arrowEnd(after+1, open))
}

// arrowEnd is the last token of what an arrow at i-1 gives: a block, or an expression. Of
// a long one the brackets around decide.
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

// arrowBefore reports whether an arrow function may begin behind the token before i: it
// may not behind a question mark, where the colon after the parentheses is its partner.
func (s *scriptReader) arrowBefore(i int) bool {
	switch s.op(i - 1) {
	case '=', '(', ',', ':', '[', opArrow, opLogic:
		return true
	}
	return s.is(i-1, "async") || s.is(i-1, "return")
}
