package taint

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// plain takes the disguises off a text that do not depend on what it says: escapes,
// entities, percent-encoding, compatibility forms and invisible characters. Case
// stays, because base64 needs it.
func plain(s string) string {
	if strings.IndexByte(s, '&') >= 0 {
		s = html.UnescapeString(s)
	}
	if strings.ContainsAny(s, `\%`) {
		s = unescape(s)
	}
	if !ascii(s) {
		s = visible(norm.NFKC.String(s))
	}
	return s
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// visible drops what nobody sees.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Variation_Selector, r), r == 'ᅟ', r == 'ᅠ', r == 'ㅤ', r == 'ﾠ', r == utf8.RuneError:
			return -1
		}
		return r
	}, s)
}

// unescape decodes %41, \x41, \u0041 and \n. What is no escape stays, but for the
// backslash itself: it only hides what follows.
func unescape(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '%' && i+2 < len(s) && unhex(s[i+1]) >= 0 && unhex(s[i+2]) >= 0:
			b.WriteByte(byte(unhex(s[i+1])<<4 | unhex(s[i+2])))
			i += 2
		case c != '\\' || i+1 == len(s):
			b.WriteByte(c)
		default:
			i++
			r, size := escaped(s[i:])
			b.WriteRune(r)
			i += size - 1
		}
	}
	return b.String()
}

// escaped reads what follows a backslash.
func escaped(s string) (r rune, size int) {
	digits := 0
	switch s[0] {
	case 'n', 'r', 't': // in a Windows path it is a letter; both texts read alike
		return ' ', 1
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	}
	if digits > 0 && len(s) > digits {
		v := rune(0)
		for _, c := range []byte(s[1 : 1+digits]) {
			h := unhex(c)
			if h < 0 {
				return rune(s[0]), 1
			}
			v = v<<4 | rune(h)
		}
		return v, 1 + digits
	}
	return utf8.DecodeRuneInString(s)
}

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

var refang = strings.NewReplacer("hxxp", "http", "[.]", ".", "(.)", ".", "[dot]", ".", "(dot)", ".", "[at]", "@", "[:]", ":", "${ifs}", " ", "$ifs", " ",
	"/usr/bin/env ", "", "/dev/null", "") // the last two are in every script

// folded is plain text in lower case, with addresses as they work.
func folded(s string) string {
	s = strings.ToLower(s)
	if strings.ContainsAny(s, "[($x/") {
		s = refang.Replace(s)
	}
	return s
}

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func digit(c byte) bool { return '0' <= c && c <= '9' }
