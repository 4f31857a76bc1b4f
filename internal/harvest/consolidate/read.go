package consolidate

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/analysis"
)

// maxWords bounds what is interpreted. A longer text is a document rather than a
// statement, and is the same as another only word for word.
const maxWords = 96

// read takes a statement apart. Its phrases are resolved, its articles and fillers
// are gone.
func read(s string) text {
	t := text{words: make([]word, 0, 24), code: code(s)}
	t.scan(s)
	if !t.raw && !t.code {
		t.resolve()
	}
	return t
}

// code reports what is a line of code or a formula rather than a sentence, even one
// with code in it.
func code(s string) bool {
	if strings.ContainsAny(s, "{}\\^") || strings.Contains(s, "//") && !strings.Contains(s, "://") || strings.HasSuffix(strings.TrimSpace(s), ";") {
		return true
	}
	_, after, equation := strings.Cut(s, " = ")
	return equation && strings.ContainsAny(after, "()+-*/'\"")
}

// scan appends the words of s.
func (t *text) scan(s string) {
	cut := byte(0)
	for i := 0; i < len(s); {
		r, n := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(s[i:])
		}
		if r == ' ' || r == '\n' || r == '\t' || unicode.IsSpace(r) {
			i += n
			continue
		}
		start := i
		for i < len(s) {
			if c := s[i]; c < utf8.RuneSelf {
				if c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\v' || c == '\f' {
					break
				}
				i++
				continue
			}
			r, n = utf8.DecodeRuneInString(s[i:])
			if unicode.IsSpace(r) {
				break
			}
			t.raw = t.raw || analysis.Unspaced(r)
			i += n
		}
		cut = t.chunk(s[start:i], cut)
	}
}

// marks are what may stand around a word without being part of it.
func before(c rune) bool { return strings.ContainsRune("\"'`([{*«“‘„¿¡", c) }
func after(c rune) bool {
	return strings.ContainsRune(".,;:!?)]}\"'`*…”’»。，；：！？、）」』", c)
}

// chunk appends the words of what stands between two spaces, and returns the mark
// before the next one.
func (t *text) chunk(s string, cut byte) byte {
	for s != "" {
		r, n := utf8.DecodeRuneInString(s)
		if !before(r) {
			break
		}
		if r == '(' || r == '[' {
			cut = max(cut, '(')
		}
		s = s[n:]
	}
	next := byte(0)
	for s != "" {
		r, n := utf8.DecodeLastRuneInString(s)
		if !after(r) {
			break
		}
		switch r {
		case '.', '!', '?', '…', '。', '！', '？', ';', '；':
			next = '.'
			t.asks = t.asks || r == '?' || r == '？'
		case ',', '，', '、':
			next = max(next, ',')
		case ':', '：':
			next = max(next, ':')
		case ')', ']':
			next = max(next, ',')
		}
		s = s[:len(s)-n]
	}
	switch s {
	case "":
		return max(cut, next)
	case "-", "–", "—", "•", "--":
		if len(t.words) == 0 {
			return 0
		}
		return '-'
	case "=":
		t.words = append(t.words, word{norm: "be", raw: s, is: be})
		return next
	case "->", "→", "=>":
		t.words = append(t.words, word{norm: "->", raw: s, is: sign, cut: cut})
		return next
	}
	if i, n := inside(s); i > 0 {
		mark := t.chunk(s[:i], cut)
		if s[i] == '=' {
			t.words = append(t.words, word{norm: "be", raw: "=", is: be})
		} else if n > 1 {
			mark = '-'
		} else if s[i] == ',' || s[i] == ';' {
			mark = ','
		}
		return max(t.chunk(s[i+n:], mark), next)
	}
	t.word(s, cut)
	return next
}

// inside finds a mark that separates two words without a space: a dash, "=" as in
// PORT=8080, a comma between words.
func inside(s string) (at, size int) {
	if len(s) < 3 {
		return 0, 0
	}
	for i := 1; i < len(s)-1; i++ {
		switch c := s[i]; {
		case c == '=' && !strings.Contains(s, "://") && strings.IndexByte("<>!=", s[i-1]) < 0 && strings.IndexByte("=>", s[i+1]) < 0:
			return i, 1
		case c == ',' && !(isDigit(s[i-1]) && isDigit(s[i+1])):
			return i, 1
		case c == 0xE2 && strings.HasPrefix(s[i:], "—") && i+3 < len(s):
			return i, 3
		}
	}
	return 0, 0
}

// word appends one word, or the several that a contraction or a quantity holds.
func (t *text) word(s string, cut byte) {
	if strings.Contains(s, "’") || strings.Contains(s, "ʼ") {
		s = strings.NewReplacer("’", "'", "ʼ", "'").Replace(s)
	}
	low := lower(s)
	if low == "cannot" {
		t.add(lexicon()["can"], s, cut)
		t.add(lexicon()["not"], s, 0)
		return
	}
	if e, ok := lexicon()[low]; ok && !capitals(s, e) {
		t.add(e, s, cut)
		return
	}
	if i := strings.LastIndexByte(s, '\''); i > 0 {
		t.contracted(s, i, cut)
		return
	}
	if c := low[0]; isDigit(c) || len(low) > 1 && isDigit(low[1]) && strings.IndexByte("v$#+-~<>", c) >= 0 {
		t.number(s, low, cut)
		return
	}
	if strings.IndexByte(low, '-') > 0 && plainParts(low) {
		for i, p := range strings.Split(low, "-") {
			if i > 0 {
				cut = 0
			}
			t.add(entry{p, compound}, p, cut) // "stand-up" has no verb
		}
		return
	}
	e := entry{norm: low}
	first, _ := utf8.DecodeRuneInString(s)
	switch {
	case !unicode.IsLetter(first) && utf8.RuneCountInString(s) <= 2 && !strings.ContainsFunc(s, unicode.IsLetter):
		e.is |= sign
		if s == "&" {
			e = lexicon()["and"]
		}
	case identifier(s):
		e.is |= name | exact
		e.norm = s
	case unicode.IsUpper(first):
		e.is |= name
	}
	t.add(e, s, cut)
}

func (t *text) add(e entry, raw string, cut byte) {
	if isDigit(e.norm[0]) {
		e.is |= number
	}
	t.words = append(t.words, word{norm: e.norm, raw: raw, is: e.is, cut: cut})
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
