package taint

import (
	"strings"
	"unicode/utf8"
)

// maxArguments bounds what is read of one call's arguments: as much as an answer
// that is kept at all.
const maxArguments = 4 << 20

// values returns what a call's arguments say: the strings of the JSON, numbers and
// words between them, and its keys at the end, so that a command that is split over
// an array stands together. What is no JSON, or broke off, is read as far as it goes.
func values(arguments string) string {
	if len(arguments) > maxArguments {
		arguments = arguments[:maxArguments]
	}
	trimmed := strings.TrimLeft(arguments, " \t\r\n")
	if trimmed == "" || trimmed[0] != '{' && trimmed[0] != '[' && trimmed[0] != '"' {
		return arguments
	}
	var text, keys strings.Builder
	text.Grow(len(arguments))
	for i := 0; i < len(arguments); {
		c := arguments[i]
		if c != '"' {
			if c == '{' || c == '}' || c == '[' || c == ']' || c == ',' || c == ':' {
				c = '\n' // it ends a number, and no span
			}
			text.WriteByte(c)
			i++
			continue
		}
		s, end := literal(arguments[i+1:])
		i += 1 + end
		if isKey(arguments[i:]) {
			keys.WriteByte('\n')
			keys.WriteString(s)
			continue
		}
		text.WriteByte('\n')
		text.WriteString(s)
		text.WriteByte('\n')
	}
	return text.String() + keys.String()
}

// isKey reports a string that a colon follows.
func isKey(rest string) bool {
	rest = strings.TrimLeft(rest, " \t\r\n")
	return rest != "" && rest[0] == ':'
}

// literal decodes a JSON string behind its opening quote, and returns where it ends.
func literal(s string) (decoded string, end int) {
	i := strings.IndexAny(s, `"\`)
	switch {
	case i < 0:
		return s, len(s)
	case s[i] == '"':
		return s[:i], i + 1
	}
	var b strings.Builder
	for i = 0; i < len(s); {
		switch c := s[i]; {
		case c == '"':
			return b.String(), i + 1
		case c != '\\' || i+1 == len(s):
			b.WriteByte(c)
			i++
		default:
			r, size := jsonEscape(s[i+1:])
			b.WriteRune(r)
			i += 1 + size
		}
	}
	return b.String(), len(s)
}

func jsonEscape(s string) (rune, int) {
	switch s[0] {
	case 'n', 'r', 't', 'b', 'f':
		return ' ', 1
	case 'u':
		return escaped(s)
	}
	return utf8.DecodeRuneInString(s)
}
