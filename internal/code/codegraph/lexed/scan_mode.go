package lexed

import "strings"

// mode is something that code is nested in, or that is nested in code.
type mode struct {
	kind    modeKind
	depth   int // of braces outside
	literal literal
}

type modeKind uint8

const (
	inCode     modeKind = iota
	inTemplate          // an expression in a string
	inHole              // an expression between or in tags
	inTag               // from "<" to ">"
	inText              // between two tags
)

// maxModes is how deep strings and tags may nest; deeper ones are taken whole.
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

// hole ends a piece of text at the brace here and begins an expression in it.
func (s *scanner) hole(l literal, start, line, lineStart int) {
	s.emitText(start, line, lineStart)
	s.push(mode{kind: inTemplate, depth: s.depth, literal: l})
	s.brace()
}

func (s *scanner) brace() {
	s.pos++
	s.depth++
	s.emit(punct, '{', s.pos-1, s.line)
}

// resume goes on with the string or the tag in which the closing brace at start ended an
// expression, and reports whether there is one.
func (s *scanner) resume(start int) bool {
	if len(s.modes) == 0 {
		return false
	}
	m := s.modes[len(s.modes)-1]
	if m.kind != inTemplate && m.kind != inHole || m.depth != s.depth {
		return false
	}
	s.pop()
	s.emit(punct, '}', start, s.line)
	if m.kind == inTemplate {
		for n := 1; n < m.literal.holes && s.pos < len(s.src) && s.src[s.pos] == '}'; n++ {
			s.pos++
		}
		l := m.literal
		l.lines = l.lines || s.lang.family == csharp
		s.literal(l, s.pos)
	}
	return true
}

// tagStarts tells a tag from "less than" and from a list of types.
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
	end := 0
	for end < len(rest) && wordByte[rest[end]] != 0 {
		end++
	}
	name, after := rest[:end], strings.TrimLeft(rest[end:min(len(rest), end+200)], " \t\r\n")
	generic := strings.HasPrefix(after, ",") || strings.HasPrefix(after, "extends ") || strings.HasPrefix(after, "=")
	return !generic && name != "const" && !(strings.HasPrefix(after, ">(") && end > 0 && end <= 2 && name[0] <= 'Z')
}

// openTag reads "<" and the name after it.
func (s *scanner) openTag() {
	s.pos++
	s.emit(punct, '<', s.pos-1, s.line)
	s.push(mode{kind: inTag, depth: s.depth})
	for s.pos < len(s.src) && wordByte[s.src[s.pos]] == wordHead {
		start := s.pos
		for s.pos < len(s.src) && (wordByte[s.src[s.pos]] != 0 || s.src[s.pos] == '-' || s.src[s.pos] == ':') {
			s.pos++
		}
		if c := s.src[start]; c >= 'a' && c <= 'z' && (s.pos >= len(s.src) || s.src[s.pos] != '.') {
			s.emit(text, 0, start, s.line) // an element of the page, not a component
			return
		}
		s.emit(word, 0, start, s.line)
		if s.pos >= len(s.src) || s.src[s.pos] != '.' {
			return
		}
		s.punct()
	}
}

// tag reads the next piece of a tag, or of the text between two.
func (s *scanner) tag() {
	c, next := s.src[s.pos], byte(0)
	if s.pos+1 < len(s.src) {
		next = s.src[s.pos+1]
	}
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
		case c == '{':
			s.push(mode{kind: inHole, depth: s.depth})
			s.brace()
		case c == '<': // types of a component
			s.types()
		case c == '\n':
			s.newline()
		default:
			s.pos++
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
	case c == '{':
		s.push(mode{kind: inHole, depth: s.depth})
		s.brace()
	case c == '\n':
		s.newline()
	default:
		s.pos++
	}
}

// endTag closes an element. Where it is not in another one, it is a value like any.
func (s *scanner) endTag() {
	s.pop()
	if m := s.mode(); m != inTag && m != inText {
		s.emit(text, 0, s.pos, s.line)
	}
}

// types skips a list of types in a tag.
func (s *scanner) types() {
	depth := 0
	for s.pos < len(s.src) {
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
		s.pos++
	}
}
