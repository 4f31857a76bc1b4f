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

// scan splits the text into words.
func (r *reader) scan() {
	text, low := r.text, r.low
	quoted, sentence, opens, broken := false, 0, true, false
	cited := false // the line is a quotation that begins with >
	for i := 0; i < len(text) && len(r.words) < maxWords; {
		c := text[i]
		if c == '\n' {
			cited = false
		}
		if c == '>' && (i == 0 || text[i-1] == '\n' || i == r.bodyStart()) && i+1 < len(text) && text[i+1] == ' ' {
			cited = true
		}
		if blank(c) {
			if c == '\n' && i+1 < len(text) && (text[i+1] == '\n' || text[i+1] == '-' || text[i+1] == '*' || text[i+1] == '#') && !opens {
				sentence, opens = sentence+1, true
			}
			i++
			continue
		}
		j, code := i, false
		if c == '`' {
			if n := strings.IndexByte(text[i+1:min(len(text), i+maxCode)], '`'); n > 0 && !strings.ContainsRune(text[i+1:i+1+n], '\n') {
				j, code = i+n+2, true
			}
		}
		for j < len(text) && !blank(text[j]) {
			if text[j] == "—"[0] && j > i && strings.HasPrefix(text[j:], "—") {
				break
			}
			if n := wideMark(text[j:]); n > 0 { // no space follows it
				j += n
				break
			}
			j++
		}
		a, b := i, j
		var marks byte // marks before the word
		for a < b {
			n, m := opening(text[a:b])
			if n == 0 || code && text[a] == '`' {
				break
			}
			if m == '"' || text[a] == '\'' && quotes(text[a+1:]) {
				quoted = true
			}
			marks |= m
			a += n
		}
		var stop byte
		closes := false
		for b > a {
			n, m := closing(text[a:b])
			if n == 0 || text[b-1] == '`' {
				break
			}
			if m == '"' || text[b-1] == '\'' && quoted {
				closes = true
			} else if m != 0 && (stop == 0 || m == '?' || m == '!' || m == '.' && stop != '?') {
				stop = m
			}
			b -= n
		}
		if a == b { // a dash, a bullet
			broken = broken || !opens
			if closes {
				quoted = false
			}
			i = j
			continue
		}
		w := word{start: a, end: b, sentence: sentence, opens: opens, quoted: quoted || cited, broken: broken || marks != 0, stop: stop}
		broken = false
		if closes {
			quoted = false
		}
		if code {
			w.start, w.end = a+1, a+1+strings.IndexByte(text[a+1:b], '`')
			w.possessive = strings.HasSuffix(text[a:b], "'s")
			w.code = true
			if n := strings.IndexByte(text[w.start:w.end], '('); n > 0 { // a call is the function
				w.end = w.start + n
			}
			if strings.ContainsAny(text[w.start:w.end], " \t{}=\"'") { // a command or a value, no name
				w.code = false
				r.words = append(r.words, w)
				goto next
			}
		}
		r.spell(&w, low)
		r.words = append(r.words, w)
	next:
		opens = false
		switch {
		case stop == '.' && abbreviated(w.low) && !code:
			r.words[len(r.words)-1].stop = 0
		case stop == '.' || stop == '?' || stop == '!' || stop == ';':
			sentence, opens, broken = sentence+1, true, true
		case stop != 0:
			broken = true
		}
		i = j
	}
}

// bodyStart returns the offset of the user's words after "User: ".
func (r *reader) bodyStart() int {
	if strings.HasPrefix(r.text, "User: ") {
		return len("User: ")
	}
	return 0
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
func (r *reader) spell(w *word, low string) {
	text := r.text[w.start:w.end]
	if n := len(text); !w.code && n > 2 {
		switch {
		case strings.HasSuffix(text, "'s"):
			text, w.possessive = text[:n-2], true
		case n > 4 && strings.HasSuffix(text, "’s"):
			text, w.possessive = text[:n-4], true
		case strings.HasSuffix(text, "s'"):
			text, w.possessive = text[:n-1], true
		}
		if w.possessive { // it's, let's
			if e, ok := lexicon()[low[w.start:w.end]]; ok {
				text, w.possessive = r.text[w.start:w.end], false
				w.low, w.entry = low[w.start:w.end], e
			}
		}
	}
	end := w.start + len(text)
	lows, uppers, digits, marks, high := 0, 0, 0, 0, false
	hump := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c >= 'a' && c <= 'z':
			lows++
		case c >= 'A' && c <= 'Z':
			uppers++
			hump = hump || i > 0 && lows > 0 && text[i-1] >= 'a' && text[i-1] <= 'z'
		case c >= '0' && c <= '9':
			digits++
		case c == '-' || c == '_' || c == '.' || c == '/' || c == ':' || blank(c):
			marks++
		case c >= utf8.RuneSelf:
			high = true
		}
	}
	w.low = low[w.start:end]
	if high {
		w.low = strings.ReplaceAll(w.low, "’", "'")
	}
	if !w.code {
		w.low = analysis.Standard(w.low)
	}
	if w.entry == (entry{}) {
		w.entry = lexicon()[w.low]
	}
	w.upper = text[0] >= 'A' && text[0] <= 'Z'
	if text[0] >= utf8.RuneSelf {
		first, _ := utf8.DecodeRuneInString(text)
		w.upper = unicode.IsUpper(first)
	}
	w.capitals = uppers >= 2 && lows == 0
	letters := lows + uppers
	if strings.IndexByte(text, '/') >= 0 {
		w.path = isPath(text)
	}
	if !w.code && letters > 0 && !w.path {
		w.code = hump && !strings.ContainsRune(text, '/') || strings.IndexByte(text, '_') > 0 || strings.HasSuffix(text, "()") || dotted(text)
	}
	if w.code && letters == 0 {
		w.code = false
	}
	switch {
	case high || marks > 0 || w.code || strings.ContainsAny(text, "`\"'()[]{}<>,;!*|~"):
		w.name = analysis.Entity(text)
	default:
		w.name = w.low
	}
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
