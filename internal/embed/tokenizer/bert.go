package tokenizer

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// bert is BERT's normaliser. In this order and each if enabled, it removes control
// characters, turns white space into spaces, puts spaces around Chinese characters,
// removes accents, and lower-cases.
type bert struct {
	clean, chinese, accents, lower bool

	ascii [utf8.RuneSelf]byte // what becomes of an ASCII character
	drop  [utf8.RuneSelf]bool
}

func newBert(clean, chinese, accents, lower bool) *bert {
	n := &bert{clean: clean, chinese: chinese, accents: accents, lower: lower}
	for b := range byte(utf8.RuneSelf) {
		c := b
		if clean {
			switch {
			case b == '\t' || b == '\n' || b == '\r':
				c = ' '
			case b < ' ' || b == 0x7f:
				n.drop[b] = true
			}
		}
		if lower && 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		n.ascii[b] = c
	}
	return n
}

func (n *bert) append(dst, src []byte) []byte {
	for i := 0; i < len(src); {
		if b := src[i]; b < utf8.RuneSelf {
			if !n.drop[b] {
				dst = append(dst, n.ascii[b])
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(src[i:])
		dst = n.appendRune(dst, r)
		i += size
	}
	return dst
}

// appendRune handles characters outside of ASCII.
func (n *bert) appendRune(dst []byte, r rune) []byte {
	if n.clean {
		if r == utf8.RuneError || unicode.Is(unicode.C, r) {
			return dst
		}
		if unicode.IsSpace(r) {
			return append(dst, ' ')
		}
	}
	spaced := n.chinese && isChinese(r)
	if spaced {
		dst = append(dst, ' ')
	}
	if n.accents {
		var buf [32]byte
		var one [utf8.UTFMax]byte
		parts := norm.NFD.Append(buf[:0], one[:utf8.EncodeRune(one[:], r)]...)
		for len(parts) > 0 {
			part, size := utf8.DecodeRune(parts)
			if !unicode.Is(unicode.Mn, part) {
				dst = n.appendLower(dst, part)
			}
			parts = parts[size:]
		}
	} else {
		dst = n.appendLower(dst, r)
	}
	if spaced {
		dst = append(dst, ' ')
	}
	return dst
}

func (n *bert) appendLower(dst []byte, r rune) []byte {
	switch {
	case !n.lower:
	case r == 'İ': // the only letter whose lower case is two characters
		return append(dst, "i\u0307"...)
	default:
		r = unicode.ToLower(r)
	}
	return utf8.AppendRune(dst, r)
}

// isChinese reports whether r is in BERT's list of ranges: ideographs, but not Kana or
// Hangul.
func isChinese(r rune) bool {
	switch {
	case r < 0x3400:
		return false
	case r <= 0x4DBF, 0x4E00 <= r && r <= 0x9FFF, 0xF900 <= r && r <= 0xFAFF,
		0x20000 <= r && r <= 0x2A6DF, 0x2A700 <= r && r <= 0x2CEAF, 0x2F800 <= r && r <= 0x2FA1F:
		return true
	}
	return false
}
