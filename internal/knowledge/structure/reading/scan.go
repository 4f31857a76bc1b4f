package reading

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/analysis"
)

// word is one word of the text, without the marks around it.
type word struct {
	start, end int    // byte offsets in text
	low        string // lower case (of ASCII letters), without a possessive
	name       string // in the form of analysis.Entity
	entry      entry  // lexicon entry of low
	stop       byte   // the mark after it that ends a sentence or a clause: . ? ! ; : , ( or 0
	sentence   int
	opens      bool // first of its sentence
	upper      bool // it begins with a capital
	capitals   bool // it has only capitals
	code       bool // in backquotes, or written as an identifier
	path       bool
	possessive bool
	quoted     bool // within double quotes
	broken     bool // a mark is before it, so that no phrase continues here
	aside      bool // it is part of "(asked by …)" or of the speaker's name, and is not analysed
}

// plain reports whether a word is the claim's own: no quotation, no code and no part of a label.
func (w *word) plain() bool { return !w.quoted && !w.aside && !w.code && !w.path }

// nameable reports whether a word can be part of a name. Brackets and other marks of code can't.
func (w *word) nameable() bool {
	return w.name != "" && !strings.ContainsAny(w.name, "(){}[]=\"\\^|")
}

// scan splits the text into words.
func (r *reader) scan() {
	s := scanner{reader: r, opens: true}
	for i := 0; i < len(r.text) && len(r.words) < maxWords; {
		c := r.text[i]
		if blank(c) {
			if c == '\n' {
				s.endLine(i)
			}
			i++
			continue
		}
		s.cited = s.cited || c == '>' && s.beginsCitation(i)
		end, code := r.token(i)
		s.add(i, end, code)
		i = end
	}
}

// scanner holds the state of splitting a text into words.
type scanner struct {
	*reader
	sentence      int
	opens, broken bool // of the next word
	quoted        bool // a quotation has begun
	cited         bool // the line is a quotation that begins with >
}

// endLine ends a quoted line, and the sentence before an empty line, a heading and a list's item.
func (s *scanner) endLine(i int) {
	s.cited = false
	if i+1 < len(s.text) && !s.opens && strings.IndexByte("\n-*#", s.text[i+1]) >= 0 {
		s.sentence, s.opens = s.sentence+1, true
	}
}

// beginsCitation reports whether the > at i begins a quoted line.
func (s *scanner) beginsCitation(i int) bool {
	text := s.text
	return (i == 0 || text[i-1] == '\n' || i == len("User: ") && strings.HasPrefix(text, "User: ")) && strings.HasPrefix(text[i+1:], " ")
}

// token returns the end of the word at byte i, marks included, and whether it begins with code in backquotes.
func (r *reader) token(i int) (end int, code bool) {
	text := r.text
	end = i
	if text[i] == '`' {
		if n := strings.IndexByte(text[i+1:min(len(text), i+maxCode)], '`'); n > 0 && strings.IndexByte(text[i+1:i+1+n], '\n') < 0 {
			end, code = i+n+2, true
		}
	}
	for end < len(text) && !blank(text[end]) && (end == i || !strings.HasPrefix(text[end:], "—")) {
		if n := wideMark(text[end:]); n > 0 { // no space follows it
			return end + n, code
		}
		end++
	}
	return end, code
}

// add appends the word in text[i:j], if there is one between its marks.
func (s *scanner) add(i, j int, code bool) {
	a, opened := s.skipOpening(i, j, code)
	b, stop, closes := s.skipClosing(a, j)
	if a == b { // a dash, a bullet
		s.broken = s.broken || !s.opens
		s.quoted = s.quoted && !closes
		return
	}
	w := word{start: a, end: b, sentence: s.sentence, opens: s.opens, quoted: s.quoted || s.cited, broken: s.broken || opened, stop: stop}
	if !code || s.unquote(&w) {
		s.spell(&w)
	}
	if stop == '.' && !code && abbreviated(w.low) {
		stop, w.stop = 0, 0
	}
	s.words = append(s.words, w)
	s.quoted = s.quoted && !closes
	s.opens, s.broken = false, stop != 0
	switch stop {
	case '.', '?', '!', ';':
		s.sentence, s.opens = s.sentence+1, true
	}
}

// skipOpening returns the start of the word in text[a:b] after its marks, and whether one of them begins a clause.
func (s *scanner) skipOpening(a, b int, code bool) (start int, separates bool) {
	for a < b {
		n, m := opening(s.text[a:b])
		if n == 0 || code && s.text[a] == '`' {
			break
		}
		if m == '"' || s.text[a] == '\'' && quotes(s.text[a+1:]) {
			s.quoted = true
		}
		separates = separates || m != 0
		a += n
	}
	return a, separates
}

// skipClosing returns the end of the word in text[a:b] before its marks, the strongest of them, and whether a quotation ends.
func (s *scanner) skipClosing(a, b int) (end int, stop byte, closes bool) {
	for b > a {
		n, m := closing(s.text[a:b])
		if n == 0 || s.text[b-1] == '`' {
			break
		}
		if m == '"' || s.text[b-1] == '\'' && s.quoted {
			closes = true
		} else if m != 0 && (stop == 0 || m == '?' || m == '!' || m == '.' && stop != '?') {
			stop = m
		}
		b -= n
	}
	return b, stop, closes
}

// unquote narrows a word to the code in its backquotes. It reports whether that can be a name; a command and a value can't.
func (r *reader) unquote(w *word) bool {
	text := r.text[w.start:w.end]
	w.possessive = strings.HasSuffix(text, "'s")
	text = text[1:]
	text = text[:strings.IndexByte(text, '`')]
	if n := strings.IndexByte(text, '('); n > 0 { // a call is the function
		text = text[:n]
	}
	w.start++
	w.end = w.start + len(text)
	w.code = !strings.ContainsAny(text, " \t{}=\"'")
	return w.code
}

// quotes reports whether the text after a single quotation mark is a quotation, that is,
// whether another mark soon ends it. It does not in "get 'em".
func quotes(s string) bool {
	s = s[:min(len(s), maxQuote)]
	for i := 1; i < len(s); i++ {
		if s[i] == '\'' && (i+1 == len(s) || !letter(s[i+1])) && s[i-1] != 's' {
			return strings.IndexByte(s[:i], ' ') > 0
		}
	}
	return false
}

// maxQuote is the maximum length in bytes of a text in single quotation marks.
const maxQuote = 160

// blank reports whether a byte separates words.
func blank(c byte) bool { return c <= ' ' || c == 0x7f }

// spell sets the fields of a word from its text.
func (r *reader) spell(w *word) {
	text := r.cutPossessive(w)
	s := shapeOf(text)
	w.low = r.low[w.start : w.start+len(text)]
	if s.high {
		w.low = strings.ReplaceAll(w.low, "’", "'")
	}
	if !w.code {
		w.low = analysis.Standard(w.low)
	}
	if w.entry == (entry{}) {
		w.entry = lexicon()[w.low]
	}
	initial, _ := utf8.DecodeRuneInString(text)
	w.upper = unicode.IsUpper(initial)
	w.capitals = s.uppers >= 2 && s.lows == 0
	w.path = strings.IndexByte(text, '/') >= 0 && isPath(text)
	w.code = s.lows+s.uppers > 0 && (w.code || !w.path && s.isIdentifier(text))
	if w.name = w.low; s.high || s.joined || w.code || strings.ContainsAny(text, "`\"'()[]{}<>,;!*|~") {
		w.name = analysis.Entity(text)
	}
}

// cutPossessive returns the text of a word without the ending of a possessive. Words such as it's and let's keep theirs.
func (r *reader) cutPossessive(w *word) string {
	text := r.text[w.start:w.end]
	n := len(text)
	switch {
	case w.code || n <= 2:
		return text
	case strings.HasSuffix(text, "'s"):
		n -= len("'s")
	case n > len("’s") && strings.HasSuffix(text, "’s"):
		n -= len("’s")
	case strings.HasSuffix(text, "s'"):
		n -= len("'")
	default:
		return text
	}
	if e, ok := lexicon()[r.low[w.start:w.end]]; ok {
		w.entry = e
		return text
	}
	w.possessive = true
	return text[:n]
}

// shape tells which characters a word has.
type shape struct {
	lows, uppers int  // numbers of ASCII letters
	joined       bool // it has a mark or a blank inside, as in snake_case
	hump         bool // it has a capital right after a small letter
	high         bool // it has characters beyond ASCII
}

func shapeOf(text string) (s shape) {
	small := false // the letter before
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c >= 'a' && c <= 'z':
			s.lows++
		case c >= 'A' && c <= 'Z':
			s.uppers++
			s.hump = s.hump || small
		case c == '-' || c == '_' || c == '.' || c == '/' || c == ':' || blank(c):
			s.joined = true
		case c >= utf8.RuneSelf:
			s.high = true
		}
		small = c >= 'a' && c <= 'z'
	}
	return s
}

// isIdentifier reports whether a word of this shape is written as in code: PaymentsService, max_len, run(), log.go.
func (s *shape) isIdentifier(text string) bool {
	return s.hump && strings.IndexByte(text, '/') < 0 || strings.IndexByte(text, '_') > 0 || strings.HasSuffix(text, "()") || dotted(text)
}

// dotted reports whether s is a name such as log.go or ken.Claim, with letters on both
// sides of a dot.
func dotted(s string) bool {
	i := strings.IndexByte(s, '.')
	if i <= 0 || i+1 >= len(s) || strings.Contains(s, "..") || strings.ContainsAny(s, "/@:") {
		return false
	}
	return letter(s[i-1]) && letter(s[i+1]) && i > 1 && len(s)-i > 2
}

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// isPath reports whether s is the path of a file: it has a file's extension, a leading
// slash or dot, or two slashes. "and/or" and web addresses are not.
func isPath(s string) bool {
	if strings.Contains(s, "://") || strings.Contains(s, "//") || strings.HasPrefix(s, "www.") || len(s) < 3 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case letter(c), c >= '0' && c <= '9', c == '/', c == '.', c == '_', c == '-', c == '@', c == '<', c == '>', c == '{', c == '}', c == '*', c == ':':
		default:
			return false
		}
	}
	base := s[strings.LastIndexByte(s, '/')+1:]
	dot := strings.LastIndexByte(base, '.')
	return dot > 0 && len(base)-dot <= 6 && len(base)-dot > 1 && letter(base[dot+1]) || s[0] == '/' && letter(s[1]) || s[0] == '.' || strings.Count(s, "/") >= 2 && !strings.ContainsAny(s, "<>{}*")
}

// opening returns the length of a mark at the start of a word, and its kind.
func opening(s string) (int, byte) {
	if c := s[0]; letter(c) || c >= '0' && c <= '9' { // most words, at once
		return 0, 0
	}
	switch s[0] {
	case '"':
		return 1, '"'
	case '(', '[', '{', '<':
		return 1, '('
	case '*', '_', '\'', '#', '~', '|', '>', '=', '+', '&', ',', ';', '!', '?', '\\':
		if s[0] == '_' && len(s) > 1 && s[1] == '_' {
			return 0, 0
		}
		return 1, 0
	case '-':
		return 1, '('
	}
	switch r, n := utf8.DecodeRuneInString(s); r {
	case '“', '«', '„':
		return n, '"'
	case '—', '–', '•', '→':
		return n, '('
	case '‘', '’':
		return n, 0
	}
	return 0, 0
}

// closing returns the length of a mark at the end of a word, and its kind.
func closing(s string) (int, byte) {
	if c := s[len(s)-1]; letter(c) || c >= '0' && c <= '9' {
		return 0, 0
	}
	switch c := s[len(s)-1]; c {
	case '.', '?', '!', ';', ',', ':':
		return 1, c
	case ')', ']', '}', '>':
		if c == ')' && strings.HasSuffix(s, "()") || c == '>' && strings.HasPrefix(s, "<") {
			return 0, 0
		}
		return 1, ','
	case '"':
		return 1, '"'
	case '*', '_', '~', '|', '\'', '-', '\\':
		return 1, 0
	}
	switch r, n := utf8.DecodeLastRuneInString(s); r {
	case '”', '»', '“':
		return n, '"'
	case '—', '–', '，', '、':
		return n, ','
	case '。', '！', '；', '…':
		return n, '.'
	case '？':
		return n, '?'
	case '’', '‘':
		return n, 0
	}
	return 0, 0
}

// wideMark returns the length of the Chinese or Japanese mark at the start of s, 0 for
// none.
func wideMark(s string) int {
	if s[0] < utf8.RuneSelf {
		return 0
	}
	if r, n := utf8.DecodeRuneInString(s); strings.ContainsRune("。，、！？；", r) {
		return n
	}
	return 0
}

// abbreviated reports whether the full stop after a word ends no sentence.
func abbreviated(low string) bool {
	return slices.Contains([]string{"e.g", "i.e", "eg", "ie", "vs", "dr", "mr", "mrs", "ms", "st", "cf", "approx", "inc"}, low)
}
