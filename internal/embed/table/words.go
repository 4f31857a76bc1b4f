package table

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/kenlayer/ken/internal/analysis"
)

// maxWord is the maximum length of a word in bytes; the rest is the next word. It
// limits the cost of splitting an unknown word.
const maxWord = 64

// Words calls emit for each word of text in order: sequences of letters and sequences
// of digits, split at camelCase, in lower case and without accents. A character of a
// script without spaces is a word. emit's argument is only valid during the call.
func Words(text string, emit func(word []byte)) {
	s := splitter{emit: emit, word: make([]byte, 0, maxWord+utf8.UTFMax)}
	s.run(text)
}

// class is the class of a character.
type class uint8

const (
	other class = iota // ends a word
	lower
	upper
	digit
)

var ascii = func() (t [utf8.RuneSelf]class) {
	for c := range t {
		switch {
		case 'a' <= c && c <= 'z':
			t[c] = lower
		case 'A' <= c && c <= 'Z':
			t[c] = upper
		case '0' <= c && c <= '9':
			t[c] = digit
		}
	}
	return t
}()

// splitter holds the state of splitting: the word being read.
type splitter struct {
	emit func(word []byte)
	word []byte
	last class // of the word's last character
	caps int   // number of capitals at the end of the word
}

func (s *splitter) flush() {
	if len(s.word) > 0 {
		s.emit(s.word)
		s.word = s.word[:0]
	}
	s.last, s.caps = other, 0
}

func (s *splitter) run(text string) {
	for i := 0; i < len(text); {
		c := text[i]
		if c >= utf8.RuneSelf {
			i += s.beyondASCII(text[i:])
			continue
		}
		k := ascii[c]
		i++
		switch k {
		case other:
			s.flush()
			continue
		case upper:
			s.boundary(upper, text[i:])
			c += 'a' - 'A'
		default:
			if k != s.last || len(s.word) >= maxWord {
				s.boundary(k, "")
			}
		}
		s.word = append(s.word, c)
		s.last = k
	}
	s.flush()
}

// boundary ends the word if a character of class k starts another one; rest is the text
// after that character.
func (s *splitter) boundary(k class, rest string) {
	switch {
	case s.last == other:
	case len(s.word) >= maxWord, (k == digit) != (s.last == digit), k == upper && s.last == lower:
		s.flush()
	case k == upper && startsWord(rest): // the S of HTTPServer
		s.flush()
	case k == lower && s.last == upper && s.caps > 1: // the s of URLs
		s.flush()
	}
	if k == upper {
		s.caps++
	} else {
		s.caps = 0
	}
}

// startsWord reports whether the capital before rest begins a word: a lower-case letter
// follows, unless that is the plural s of an abbreviation.
func startsWord(rest string) bool {
	if rest == "" || rest[0] >= utf8.RuneSelf || ascii[rest[0]] != lower {
		return false
	}
	return rest[0] != 's' || len(rest) > 1 && rest[1] < utf8.RuneSelf && ascii[rest[1]] == lower
}

// beyondASCII reads one character and returns its length in bytes.
func (s *splitter) beyondASCII(text string) int {
	r, n := utf8.DecodeRuneInString(text)
	switch {
	case unicode.Is(unicode.Mn, r): // an accent written apart
	case analysis.Unspaced(r):
		s.flush()
		s.emit(append(s.word, text[:n]...))
	case unicode.IsLetter(r):
		k := lower
		if unicode.IsUpper(r) {
			k = upper
		}
		if k == upper || k != s.last {
			s.boundary(k, text[n:])
		}
		s.word = appendFolded(s.word, text[:n], r)
		s.last = k
	default:
		s.flush()
	}
	if len(s.word) >= maxWord {
		s.flush()
	}
	return n
}

// appendFolded appends a letter in lower case without accents. The letters listed here
// have no decomposition, but people type them without their stroke.
func appendFolded(dst []byte, s string, r rune) []byte {
	switch unicode.ToLower(r) {
	case 'ß':
		return append(dst, "ss"...)
	case 'æ':
		return append(dst, "ae"...)
	case 'œ':
		return append(dst, "oe"...)
	case 'ø':
		return append(dst, 'o')
	case 'ł':
		return append(dst, 'l')
	case 'đ':
		return append(dst, 'd')
	}
	d := norm.NFKD.PropertiesString(s).Decomposition()
	if d == nil {
		return utf8.AppendRune(dst, unicode.ToLower(r))
	}
	for len(d) > 0 {
		r, n := utf8.DecodeRune(d)
		if unicode.IsLetter(r) {
			dst = utf8.AppendRune(dst, unicode.ToLower(r))
		}
		d = d[n:]
	}
	return dst
}
