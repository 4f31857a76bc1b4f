package analysis

import "unicode/utf8"

// scanner walks a text once and appends its tokens.
type scanner struct {
	text string
	out  []Token
	pos  int
	buf  [4 * MaxTermBytes]byte // the word at hand in its folded form
}

func (s *scanner) scan() {
	for i := 0; i < len(s.text); {
		switch c, n := classAt(s.text, i); c {
		case space, mark:
			i += n
		case unspace:
			i = s.pairs(i)
		default:
			i = s.run(i)
		}
	}
}

// shape is what was seen in a run of word characters and connectors.
type shape struct {
	quote  bool // an apostrophe between letters
	joint  bool // a connector: the run is a dotted name, a path, a kebab-case word, a date
	under  bool
	digit  bool
	letter bool
	small  bool // a lower-case letter
	hump   bool // an upper-case letter after the first character
}

// ident reports whether the run has parts.
func (h shape) ident() bool {
	return h.joint || h.under || h.digit && h.letter || h.hump && h.small
}

// run reads the word or identifier that starts at i and returns its end.
func (s *scanner) run(i int) int {
	start := i
	var h shape
scan:
	for {
		c, n := classAt(s.text, i)
		switch c {
		case lower:
			h.letter, h.small = true, true
		case upper:
			h.letter = true
			h.hump = h.hump || i > start
		case digit:
			h.digit = true
		case under:
			h.under = true
		case unspace:
			break scan
		case space:
			if n = quote(s.text, start, i); n > 0 {
				h.quote = true
			} else if n = joint(s.text, start, i); n > 0 {
				h.joint = true
			} else {
				break scan
			}
		}
		i += n
	}
	s.pos++
	end := i
	if !h.joint && h.letter && !h.digit {
		if end = plusPlus(s.text, start, i); end > i {
			s.emit(s.folded(start, end), start, end)
		}
	}
	s.word(start, i, h)
	return end
}

// word emits the tokens of the run text[a:b].
func (s *scanner) word(a, b int, h shape) {
	if h.quote && !h.joint {
		var negated bool
		if a, b, negated = apostrophe(s.text, a, b); negated {
			s.emit("not", a, b)
			return
		}
	}
	switch {
	case h.ident():
		s.identifier(a, b, h)
	case acronym(s.text[a:b]):
		s.emit(s.folded(a, b), a, b)
	default:
		s.plain(a, b)
	}
}

// plain emits the stem of a word that has no parts, unless it is a stop word.
func (s *scanner) plain(a, b int) {
	w := s.fold(a, b)
	if len(w) == 0 {
		return
	}
	if e := lookup(cut(w)); !e.stop {
		s.emit(e.stem, a, b)
	}
}

func (s *scanner) emit(term string, start, end int) {
	if term != "" {
		s.out = append(s.out, Token{Term: term, Start: start, End: end, Pos: s.pos})
	}
}

// fold returns text[a:b] folded, in the scanner's buffer where it fits. Of a
// long word it reads no more than a term can hold.
func (s *scanner) fold(a, b int) []byte {
	for b -= max(0, b-a-len(s.buf)); b < len(s.text) && b > a && !utf8.RuneStart(s.text[b]); {
		b--
	}
	buf := s.buf[:0]
	for i := a; i < b; i++ {
		c := s.text[i]
		switch {
		case c >= utf8.RuneSelf:
			return fold(buf, s.text[i:b])
		case ascii[c] == upper:
			c += 'a' - 'A'
		case c == '\'' || c == ',':
			continue
		}
		if buf = append(buf, c); len(buf) > MaxTermBytes {
			return buf // longer than any term: the rest does not matter
		}
	}
	return buf
}

// folded returns text[a:b] as a term of its own, and "" when it is too long for one.
func (s *scanner) folded(a, b int) string {
	if b-a > len(s.buf) {
		return ""
	}
	for i := a; ; i++ {
		if i == b && b-a <= MaxTermBytes {
			return s.text[a:b] // as it stands: no copy
		}
		if i == b {
			return ""
		}
		if c := s.text[i]; c >= utf8.RuneSelf || ascii[c] == upper || c == '\'' || c == ',' {
			break
		}
	}
	w := s.fold(a, b)
	if len(w) > MaxTermBytes {
		return ""
	}
	return string(w)
}

// cut shortens w to the longest term that it starts with.
func cut(w []byte) []byte {
	if len(w) <= MaxTermBytes {
		return w
	}
	n := MaxTermBytes
	for n > 0 && !utf8.RuneStart(w[n]) {
		n--
	}
	return w[:n]
}
