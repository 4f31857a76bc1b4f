package analysis

import (
	"unicode"
	"unicode/utf8"
)

// class is what a character does to a word.
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

// Unspaced reports whether r is a letter of a script whose words can't be told
// apart by spaces: Han, kana, Thai and its neighbours, and Hangul, which has
// spaces but glues particles to its words.
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

// voiced reports the half-width sound marks, which are letters to Unicode but
// belong to the kana before them.
func voiced(r rune) bool { return r == 0xFF9E || r == 0xFF9F }

// joiner reports invisible characters that occur inside words.
func joiner(r rune) bool {
	switch r {
	case 0x00AD, 0x200C, 0x200D, 0x200E, 0x200F, 0x2060, 0xFEFF, 0xFF9E, 0xFF9F:
		return true // soft hyphen, (non-)joiners, direction marks, word joiner, byte order mark
	}
	return false
}
