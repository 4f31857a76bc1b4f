package wire

import "unicode/utf8"

// appendEscaped appends a string's JSON form without its quotes, as encoding/json
// writes it: what is not UTF-8 becomes U+FFFD. It leaves <, > and & alone: escaped,
// they would cost tokens and tell the model nothing.
//
// A block has thousands of characters and few that need an escape: what lies between
// them is copied at once.
func appendEscaped(b []byte, s string) []byte {
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c < ' ' || c == '"' || c == '\\' {
				b = appendEscape(append(b, s[from:i]...), c)
				from = i + 1
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b = append(append(b, s[from:i]...), `\ufffd`...)
			from = i + n
		case r == '\u2028' || r == '\u2029': // ends a line in JavaScript
			b = append(append(append(b, s[from:i]...), `\u202`...), hexDigits[r&0xf])
			from = i + n
		}
		i += n
	}
	return append(b, s[from:]...)
}

const hexDigits = "0123456789abcdef"

// appendEscape appends the escape of an ASCII character that needs one.
func appendEscape(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\b':
		return append(b, '\\', 'b')
	case '\f':
		return append(b, '\\', 'f')
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	}
	return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
}
