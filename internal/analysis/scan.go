package analysis

import (
	"slices"
	"unicode"
	"unicode/utf8"
)

// scanner walks a text once and appends its tokens.
type scanner struct {
	text string
	out  []Token
	pos  int
	buf  [4 * MaxTermBytes]byte // the current word in folded form
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

// shape records what a run of word characters and connectors contains.
type shape struct {
	quote  bool // an apostrophe between letters
	joint  bool // a connector: the run is a dotted name, a path, a kebab-case word, a date
	under  bool
	digit  bool
	letter bool
	small  bool // a lower-case letter
	hump   bool // an upper-case letter after the first character
}

// ident reports whether the run is an identifier with parts.
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
			} else if n = connectorLength(s.text, start, i); n > 0 {
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

// fold returns text[a:b] folded, in the scanner's buffer if it fits. Of a long
// word it reads no more than a term can hold.
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

// folded returns text[a:b] as a term, or "" if it is too long for one.
func (s *scanner) folded(a, b int) string {
	if b-a > len(s.buf) {
		return ""
	}
	for i := a; ; i++ {
		if i == b && b-a <= MaxTermBytes {
			return s.text[a:b] // unchanged, so no copy is needed
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

// cut shortens w to the maximum length of a term.
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

// Version is the version of this package's behaviour. An index records it and is
// rebuilt if it differs.
const Version = 2

// MaxTermBytes is the maximum length of a term.
const MaxTermBytes = 64

// Token is one term of a text.
type Token struct {
	Term       string // valid UTF-8, 1 to MaxTermBytes bytes
	Start, End int    // byte offsets of the text that it was read from: text[Start:End]
	Pos        int    // word position from 1; the terms of one identifier share it, stop words leave gaps
}

// Tokens appends the tokens of text to dst and returns it. Tokens are in order
// of Pos, then Start; a whole identifier comes before its parts.
func Tokens(dst []Token, text string) []Token {
	s := scanner{text: text, out: dst}
	s.scan()
	return s.out
}

// Terms returns the distinct terms of text in order of first appearance, for
// queries. It never returns nil.
func Terms(text string) []string {
	var buf [48]Token
	tokens := Tokens(buf[:0], text)
	terms := make([]string, 0, len(tokens))
	if len(tokens) <= 32 { // a question: comparing beats hashing
		for _, t := range tokens {
			if !slices.Contains(terms, t.Term) {
				terms = append(terms, t.Term)
			}
		}
		return terms
	}
	seen := make(map[string]struct{}, len(tokens))
	for _, t := range tokens {
		if _, ok := seen[t.Term]; !ok {
			seen[t.Term] = struct{}{}
			terms = append(terms, t.Term)
		}
	}
	return terms
}

// SplitIdentifier returns the lower-case parts of an identifier or path, in
// order: HTTPServer gives http and server, max_results2 gives max, results
// and 2. It splits at everything that is neither letter nor digit, between
// letters and digits, and where the case rises; it removes no stop words and
// stems nothing. It never returns nil.
func SplitIdentifier(s string) []string {
	parts := make([]string, 0, 4)
	for a, b := part(s, 0); a < b; a, b = part(s, b) {
		if p := fold(nil, s[a:b]); len(p) > 0 {
			parts = append(parts, string(p))
		}
	}
	return parts
}

// divisible reports whether s has more than one part or a separator.
func divisible(s string) bool {
	a, b := part(s, 0)
	return a < b && (a > 0 || b < len(s))
}

// part returns the range of the next part of an identifier from i on. The range
// is empty at the end.
func part(s string, i int) (start, end int) {
	c, n := classAt(s, i)
	for c == space || c == under || c == mark {
		if n == 0 {
			return len(s), len(s)
		}
		i += n
		c, n = classAt(s, i)
	}
	start, end = i, i+n
	if c == digit {
		return start, skip(s, end, digit)
	}
	if c == upper {
		last := start // the last upper-case letter
		for {
			c, n = classAt(s, end)
			if c != upper && c != mark {
				break
			}
			if c == upper {
				last = end
			}
			end += n
		}
		if c != lower && c != unspace || last == start {
			return start, skip(s, end, lower)
		}
		if next, _ := classAt(s, end+n); s[end] == 's' && next != lower { // the plural of an acronym: userIDs
			return start, end + n
		}
		return start, last // HTTPServer: the last capital starts the next part
	}
	return start, skip(s, end, lower)
}

// skip returns the end of the run of characters of class want at i. Marks belong
// to the character before them, and scripts without case count as lower.
func skip(s string, i int, want class) int {
	for {
		c, n := classAt(s, i)
		if c != want && c != mark && (c != unspace || want != lower) {
			return i
		}
		i += n
	}
}

// class is the role of a character in a word.
type class uint8

const (
	space   class = iota // ends a word
	lower                // a letter, or one without case
	upper                // an upper-case letter
	digit                // a decimal digit
	under                // the underscore
	mark                 // a combining or joining character: part of a word, often folded away
	unspace              // a letter of a script written without spaces, or Hangul
)

// ascii holds the class of every ASCII byte.
var ascii = func() (t [utf8.RuneSelf]class) {
	for c := 'a'; c <= 'z'; c++ {
		t[c], t[c-'a'+'A'] = lower, upper
	}
	for c := '0'; c <= '9'; c++ {
		t[c] = digit
	}
	t['_'] = under
	return t
}()

// classAt returns the class and the length in bytes of the character at i. At
// the end of the text it returns space and 0.
func classAt(text string, i int) (class, int) {
	if i >= len(text) {
		return space, 0
	}
	if c := text[i]; c < utf8.RuneSelf {
		return ascii[c], 1
	}
	r, n := utf8.DecodeRuneInString(text[i:])
	return classOf(r), n
}

func classOf(r rune) class {
	switch {
	case r < utf8.RuneSelf:
		return ascii[r]
	case Unspaced(r):
		return unspace
	case unicode.IsMark(r), joiner(r):
		return mark
	case unicode.IsUpper(r), unicode.IsTitle(r):
		return upper
	case unicode.IsLetter(r):
		return lower
	case unicode.Is(unicode.Nd, r):
		return digit
	}
	return space
}

// Unspaced reports whether r is a letter of a script in which spaces don't
// separate words: Han, kana, Thai and related scripts, and Hangul, which has
// spaces but attaches particles to words.
func Unspaced(r rune) bool {
	if r < 0x0E00 {
		return false
	}
	switch {
	case r <= 0x0EFF, // Thai, Lao
		r >= 0x1000 && r <= 0x109F,                             // Myanmar
		r >= 0x1100 && r <= 0x11FF,                             // Hangul Jamo
		r >= 0x1780 && r <= 0x17FF,                             // Khmer
		r >= 0x3005 && r <= 0x9FFF,                             // kana, bopomofo, Han
		r >= 0xA960 && r <= 0xA97F, r >= 0xAC00 && r <= 0xD7FF, // Hangul
		r >= 0xF900 && r <= 0xFAFF,                                 // Han, compatibility
		r >= 0xFF66 && r <= 0xFFDC,                                 // half-width kana and Hangul
		r >= 0x1B000 && r <= 0x1B16F, r >= 0x20000 && r <= 0x3FFFF: // kana, Han
		return r == '〇' || unicode.IsLetter(r) && !voiced(r)
	}
	return false
}

// voiced reports whether r is a half-width sound mark. Unicode classifies them
// as letters, but they belong to the kana before them.
func voiced(r rune) bool { return r == 0xFF9E || r == 0xFF9F }

// joiner reports whether r is an invisible character that occurs within words.
func joiner(r rune) bool {
	switch r {
	case 0x00AD, 0x200C, 0x200D, 0x200E, 0x200F, 0x2060, 0xFEFF, 0xFF9E, 0xFF9F:
		return true // soft hyphen, (non-)joiners, direction marks, word joiner, byte order mark
	}
	return false
}

// quote returns the length of an apostrophe at i between two letters of one
// word, else 0.
func quote(text string, start, i int) int {
	var n int
	switch {
	case i == start || i >= len(text):
		return 0
	case text[i] == '\'':
		n = 1
	case text[i] == 0xE2 || text[i] == 0xCA || text[i] == 0xEF:
		r, size := utf8.DecodeRuneInString(text[i:])
		if r != '’' && r != '‘' && r != 'ʼ' && r != '＇' {
			return 0
		}
		n = size
	default:
		return 0
	}
	if c, _ := classAt(text, i+n); c != lower && c != upper {
		return 0
	}
	return n
}

// apostrophe reduces the word text[a:b], which has an apostrophe inside, to its
// main part. The possessive and a contracted verb are removed ("Mel's" is mel,
// "they're" is they), and so are an elided article ("l'homme" is homme) and the
// prefix of a Python string (f'total'). Names are kept ("O'Brien" is obrien).
// negated is true for contractions of "not", whose verb is a stop word.
func apostrophe(text string, a, b int) (from, to int, negated bool) {
	p, n := b-1, 0
	for p > a {
		if n = quote(text, a, p); n > 0 && utf8.RuneStart(text[p]) {
			break
		}
		p--
	}
	if p <= a {
		return a, b, false
	}
	switch head, tail := text[a:p], text[p+n:b]; {
	case equalFold(tail, "t") && (head[len(head)-1]|0x20) == 'n':
		return a, b, true
	case equalFold(tail, "s"), equalFold(tail, "m"), equalFold(tail, "d"),
		equalFold(tail, "ll"), equalFold(tail, "re"), equalFold(tail, "ve"):
		return a, p, false
	case len(head) == 1 && head[0]|0x20 != 'o', equalFold(head, "qu"), equalFold(head, "rb"), equalFold(head, "br"):
		return p + n, b, false
	}
	return a, b, false
}

// equalFold compares with want, which is lower-case ASCII.
func equalFold(s, want string) bool {
	if len(s) != len(want) {
		return false
	}
	for i := range len(s) {
		if s[i]|0x20 != want[i] {
			return false
		}
	}
	return true
}
