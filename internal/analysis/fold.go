package analysis

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// fold appends the form of s in which terms are compared: lower case,
// compatibility forms resolved, accents dropped, so that é is e and ﬁ is fi.
func fold(dst []byte, s string) []byte {
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if ascii[c] == upper {
				c += 'a' - 'A'
			}
			dst = append(dst, c)
			i++
			continue
		}
		p := norm.NFKD.PropertiesString(s[i:])
		if p.Size() == 0 { // a truncated character; s is never cut within one, but this avoids an endless loop
			i++
			continue
		}
		if d := p.Decomposition(); d != nil {
			for len(d) > 0 {
				r, n := utf8.DecodeRune(d)
				dst = foldRune(dst, r)
				d = d[n:]
			}
		} else {
			r, _ := utf8.DecodeRuneInString(s[i:])
			dst = foldRune(dst, r)
		}
		i += p.Size()
	}
	return dst
}

// foldRune appends one decomposed character. The letters named here have no
// decomposition in Unicode, but people type them without their stroke.
func foldRune(dst []byte, r rune) []byte {
	if isAccent(r) || joiner(r) || r == 0x0640 { // the last only stretches an Arabic word
		return dst
	}
	r = unicode.ToLower(r)
	switch r {
	case 'ß':
		return append(dst, "ss"...)
	case 'æ':
		return append(dst, "ae"...)
	case 'œ':
		return append(dst, "oe"...)
	case 'þ':
		return append(dst, "th"...)
	case 'ø':
		r = 'o'
	case 'ł':
		r = 'l'
	case 'đ', 'ð':
		r = 'd'
	case 'ı':
		r = 'i'
	case 'ς':
		r = 'σ'
	}
	switch {
	case r >= 0x0660 && r <= 0x0669: // Arabic digits
		r += '0' - 0x0660
	case r >= 0x06F0 && r <= 0x06F9: // Persian digits
		r += '0' - 0x06F0
	case r == utf8.RuneError:
		return dst
	}
	return utf8.AppendRune(dst, r)
}

// isAccent reports whether r is a mark that does not distinguish words. The marks
// of other scripts, such as Indic vowels, are kept like letters.
func isAccent(r rune) bool {
	switch {
	case r < 0x0300:
		return false
	case r <= 0x036F, r >= 0x0483 && r <= 0x0487, // Latin, Greek, Cyrillic
		r >= 0x0591 && r <= 0x05C7,                                                         // Hebrew points
		r >= 0x0610 && r <= 0x061A, r >= 0x064B && r <= 0x065F, r >= 0x06D6 && r <= 0x06ED, // Arabic
		r >= 0x1AB0 && r <= 0x1AFF, r >= 0x1DC0 && r <= 0x1DFF, r >= 0x20D0 && r <= 0x20FF, // extensions
		r >= 0xFE20 && r <= 0xFE2F, // half marks
		r == 0x0670:
		return unicode.Is(unicode.M, r)
	}
	return r >= 0xFE00 && r <= 0xFE0F // variation selectors
}
