package taint

import (
	"unicode"
	"unicode/utf8"
)

// word is one word of a text.
type word struct {
	hash   uint64
	weight uint8
	chars  uint8 // code points, at most 255
	single bool  // it is one character of a script without spaces
}

// text is a text as it is compared.
type text struct {
	words  []word
	tokens []token
}

// read reads a text.
func read(s string) text {
	s = plain(s)
	if more := decoded(s); more != "" {
		s += "\n" + plain(more)
	}
	s = nameless(folded(s))
	return text{words: wordsOf(s), tokens: tokensOf(s)}
}

// wordsOf splits lower-case text into words: letters and digits with the dashes and
// underscores between them, a flag with its dashes, and each character of a script
// that has no spaces. Quotes within a word are gone, so that c""url is curl.
func wordsOf(s string) []word {
	out := make([]word, 0, len(s)/6+1)
	var buf [64]byte
	for i := 0; i < len(s); {
		r, size := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[i:])
		}
		switch {
		case unspaced(r):
			w := newWord(append(buf[:0], s[i:i+size]...))
			w.weight, w.single = weightUsual, true
			out = append(out, w)
			i += size
		case wordRune(r), r == '-' && flag(s, i):
			w, end := readWord(s, i, buf[:0])
			out = append(out, newWord(w))
			i = end
		default:
			i += size
		}
	}
	return out
}

// readWord reads the word at i into buf.
func readWord(s string, i int, buf []byte) ([]byte, int) {
	for i < len(s) {
		r, size := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[i:])
		}
		switch {
		case unspaced(r):
			return buf, i
		case wordRune(r):
			buf = append(buf, s[i:i+size]...)
		case r == '-' || r == '_':
			if len(buf) > 0 && buf[0] != '-' && (i+1 == len(s) || !wordByte(s[i+1]) && s[i+1] != s[i]) {
				return buf, i
			}
			buf = append(buf, byte(r))
		case quote(r) && i+size < len(s) && joined(s[i+size:]) && len(buf) > 0:
		default:
			return buf, i
		}
		i += size
	}
	return buf, i
}

// joined reports whether a word goes on behind a quote, or another quote.
func joined(s string) bool {
	return wordByte(s[0]) || quote(rune(s[0])) && len(s) > 1 && wordByte(s[1])
}

func quote(r rune) bool { return r == '\'' || r == '"' || r == '`' || r == '^' || r == '’' }

// flag reports whether a dash begins an option.
func flag(s string, i int) bool {
	if i > 0 && (wordByte(s[i-1]) || s[i-1] == '-') {
		return false
	}
	for i < len(s) && s[i] == '-' {
		i++
	}
	return i < len(s) && wordByte(s[i])
}

func wordByte(c byte) bool { return letter(c) || digit(c) || c >= utf8.RuneSelf }

func wordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return letter(byte(r)) || digit(byte(r))
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

// unspaced reports characters of scripts that put no spaces between words.
func unspaced(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

func newWord(w []byte) word {
	return word{hash: hash(w), weight: weigh(w), chars: uint8(min(utf8.RuneCount(w), 255))}
}

// hash is FNV-1a, so that the same text gives the same result in every process.
func hash[T string | []byte](s T) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// gram is the hash of three words in their order.
func gram(w []word) uint64 {
	h := w[0].hash
	h = h*0x9e3779b97f4a7c15 ^ w[1].hash
	return (h^h>>29)*0x9e3779b97f4a7c15 ^ w[2].hash
}
