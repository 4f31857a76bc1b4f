package intent

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/analysis"
)

// word is one word, name, path or number in its original spelling, without the punctuation around
// it.
type word struct {
	text       string // without quotes, brackets and closing punctuation
	low        string // text in lower case, without a contracted verb
	start, end int    // text's offsets in the message

	first      bool // first word of its line
	opens      bool // first word of a sentence
	code       bool // inside a fenced or indented block
	quoted     byte // the quote or bracket directly before it; 0 if there is none; non-ASCII quotes are stored as '"'
	at         bool // preceded by an at sign
	comma      bool // a comma, semicolon or dash is between it and the previous word
	asks       bool // followed by a question mark
	colon      bool // followed by a colon
	call       bool // followed by "()"
	possessive bool // "Caroline's"; text is Caroline
	not        bool // "doesn't"; text is the complete word
	unspaced   bool // a run of a script without spaces
	frame      bool // part of the phrases around the question, see markFrames
}

// lex appends the words of text to dst.
func lex(dst []word, text string) []word {
	l := lexer{text: text, words: dst, lineStart: true, opens: true}
	l.code = indented(text, 0)
	for i := 0; i < len(text); {
		r, n := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(text[i:])
		}
		if inside(r) {
			i = l.word(i)
		} else {
			i = l.between(i, r, n)
		}
	}
	return l.words
}

type lexer struct {
	text  string
	words []word

	lineStart, opens, comma bool
	fence, code             bool
	quoted                  byte
}

// between processes a character of n bytes that belongs to no word, and returns the next offset.
func (l *lexer) between(i int, r rune, n int) int {
	prev := byte(0)
	switch r {
	case '\n':
		l.lineStart, l.opens, l.comma = true, true, false
		l.code = indented(l.text, i+1)
	case '`':
		prev = '`'
		if line := fenceLine(l.text[i:]); l.lineStart && line > 0 {
			l.fence = !l.fence
			return i + line // skip the name of the language
		}
	case '"', '“', '”', '„', '«', '»', '「', '『', '《':
		prev = '"'
	case '(', '[', '{', '<':
		prev = byte(r)
	case '!', '。', '！', '…', '،':
		l.opens = true
	case '?', '？', '؟':
		l.opens = true
		if n := len(l.words); n > 0 {
			l.words[n-1].asks = true
		}
	case ',', ';', '—', '–', '、', '，':
		l.comma = true
	}
	l.quoted = prev
	return i + n
}

// word reads the word at i and returns the offset of its end.
func (l *lexer) word(i int) int {
	start := i
	run := false
	for i < len(l.text) {
		r, n := rune(l.text[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(l.text[i:])
			if u := analysis.Unspaced(r); u != run && (u || !unicode.IsMark(r) && r != 'ー') {
				if i > start { // "Go" and "語言" are two words
					break
				}
				run = u
			}
		} else if run {
			break
		}
		if !inside(r) {
			break
		}
		i += n
	}
	l.add(start, i, run)
	return i
}

// add trims the range [start, end) and appends it as a word.
func (l *lexer) add(start, end int, run bool) {
	a, b := start, end
	at := false
	for a < b && strings.IndexByte("'-:+#$&%*@.\\", l.text[a]) >= 0 {
		if l.text[a] == '.' && a+1 < b && (l.text[a+1] == '/' || l.text[a+1] == '.' || isLetter(l.text[a+1])) {
			break // ./run, ../run, .env
		}
		at = at || l.text[a] == '@'
		a++
	}
	for b > a && strings.IndexByte("'-:+#$&%*@.\\~", l.text[b-1]) >= 0 {
		if l.text[b-1] == '+' && b-a > 2 && l.text[b-2] == '+' || l.text[b-1] == '#' && b-a == 2 {
			break // C++, C#
		}
		b--
	}
	b = a + len(strings.TrimSuffix(l.text[a:b], "’"))
	tail := l.text[b:end]
	if a == b { // only punctuation: a dash separates, other marks mean nothing
		l.comma = l.comma || l.text[start] == '-'
		return
	}
	w := word{
		start: a, end: b, text: l.text[a:b], first: l.lineStart, opens: l.opens, code: l.fence || l.code,
		quoted: l.quoted, at: at, comma: l.comma, colon: strings.HasPrefix(tail, ":"), call: strings.HasPrefix(l.text[b:], "()"), unspaced: run,
	}
	if a > 0 && l.text[a-1] == '\'' {
		w.quoted = '\''
	}
	w.text, w.possessive, w.not = contraction(w.text)
	if w.possessive {
		w.end = w.start + len(w.text)
	}
	w.low = bare(w.text)
	l.words = append(l.words, w)
	l.lineStart, l.comma, l.quoted = false, false, 0
	l.opens = strings.HasPrefix(tail, ".") && !isAbbreviation(w.text) || w.colon
}

// contraction removes a possessive ending and detects a contracted "not".
func contraction(s string) (base string, possessive, not bool) {
	p := strings.LastIndexByte(s, '\'')
	n := 1
	if p < 0 {
		if p, n = strings.LastIndex(s, "’"), len("’"); p < 0 {
			return s, false, false
		}
	}
	switch tail := s[p+n:]; {
	case p == 0:
		return s, false, false
	case tail == "s" || tail == "S":
		return s[:p], true, false
	case tail == "t" && s[p-1] == 'n':
		return s, false, true
	}
	return s, false, false
}

// bare returns the word in lower case without a contracted verb.
func bare(s string) string {
	s = strings.ToLower(s)
	if p := strings.IndexByte(s, '\''); p > 0 {
		return cutVerb(s, s[:p], s[p+1:])
	}
	if head, tail, ok := strings.Cut(s, "’"); ok {
		return cutVerb(s, head, tail)
	}
	return s
}

func cutVerb(s, head, tail string) string {
	switch tail {
	case "s", "m", "d", "ll", "re", "ve":
		return head
	}
	return s
}

// isAbbreviation reports whether s is an abbreviation whose full stop does not end a sentence.
func isAbbreviation(s string) bool {
	switch s {
	case "Dr", "Mr", "Mrs", "Ms", "Prof", "St", "vs", "No", "e.g", "i.e", "cf":
		return true
	}
	return false
}

// inside reports whether r can be part of a word, path or identifier.
func inside(r rune) bool {
	if r < utf8.RuneSelf {
		return insideASCII[r]
	}
	return r == '’' || unicode.IsLetter(r) || unicode.IsMark(r) || unicode.Is(unicode.Nd, r) ||
		r == 0x200C || r == 0x200D // joiners
}

var insideASCII = func() (t [utf8.RuneSelf]bool) {
	for c := range t {
		t[c] = isLetter(byte(c)) || isDigit(byte(c)) || strings.IndexByte("_.-/\\:@#$+'~&%", byte(c)) >= 0
	}
	return t
}()

// fenceLine returns the length of the line at the start of s if it opens or closes a block of code;
// 0 otherwise. The backticks of an inline block close on the same line.
func fenceLine(s string) int {
	rest, ok := strings.CutPrefix(s, "```")
	if !ok {
		return 0
	}
	line, _, _ := strings.Cut(rest, "\n")
	if strings.Contains(line, "`") {
		return 0
	}
	return len("```") + len(line)
}

// indented reports whether the line at i begins like an indented block of code.
func indented(text string, i int) bool {
	return strings.HasPrefix(text[i:], "\t") || strings.HasPrefix(text[i:], "    ")
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isUpper(c byte) bool  { return c >= 'A' && c <= 'Z' }
func isLower(c byte) bool  { return c >= 'a' && c <= 'z' }
