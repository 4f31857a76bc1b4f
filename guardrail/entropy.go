package guardrail

import (
	"math"
	"strings"
)

// credible reports whether an assigned value looks like a secret and not like a
// word, a placeholder or an expression. The limits were set so that Go and
// Markdown sources yield next to nothing but what their authors wrote as a secret.
func credible(v string, quoted, chosen bool) bool {
	least, bits := 16, 3.0 // machine-made: a token or a key
	if chosen {            // by a person: shorter, and less random
		least, bits = 8, 2.75
	}
	if !quoted { // an expression, more often than not
		least, bits = least+4, bits+0.25
		if chosen {
			least = 8
		}
		if strings.Contains(v, "->") || strings.Contains(v, "::") || strings.HasPrefix(v, "&") || strings.HasPrefix(v, "*") {
			return false
		}
	}
	// Brackets and backslashes belong to expressions and escapes.
	if len(v) < least || uuid(strings.TrimPrefix(v, "urn:uuid:")) || placeholder(v) || strings.ContainsAny(v, "\\()[]") {
		return false
	}
	digit, letter, symbol, dots := 0, 0, 0, 0
	for i := range len(v) {
		switch c := v[i]; {
		case c <= ' ' || c >= 0x7f:
			return false // prose
		case '0' <= c && c <= '9':
			digit++
		case 'a' <= c|0x20 && c|0x20 <= 'z':
			letter++
		case strings.IndexByte("!@#$%^&*+=?~", c) >= 0:
			symbol++
		case c == '.' || c == '/' || c == ':':
			dots++
		}
	}
	switch {
	case digit == 0 && (symbol == 0 || !chosen), letter == 0 && symbol == 0:
		return false
	case !quoted && digit < 2, !chosen && digit < 2:
		return false
	case dots > 0 && symbol == 0 && (chosen || dots > 2):
		return false // a path, an address, a selector
	}
	return entropy(v) >= bits
}

// placeholder reports a value that stands for a secret instead of being one.
func placeholder(v string) bool {
	if strings.HasPrefix(v, "$") || strings.HasPrefix(v, "%") || strings.ContainsAny(v, "<>{}") {
		return true
	}
	lower := strings.ToLower(v)
	for _, w := range [...]string{"...", "***", "xxxx", "$(", "example", "changeme", "change-me", "change_me", "your",
		"placeholder", "dummy", "redacted", "replace", "insert", "sample", "todo", "abcdefgh", "123456789"} {
		if strings.Contains(lower, w) {
			return true
		}
	}
	return false
}

// uuid reports the 8-4-4-4-12 form.
func uuid(v string) bool {
	if len(v) != 36 {
		return false
	}
	for i := range len(v) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (v[i] == '-') || !dash && !('0' <= v[i] && v[i] <= '9' || 'a' <= v[i]|0x20 && v[i]|0x20 <= 'f') {
			return false
		}
	}
	return true
}

// entropy is Shannon's, in bits a character, of v's own distribution.
func entropy(v string) float64 {
	var count [256]int
	for i := range len(v) {
		count[v[i]]++
	}
	h := 0.0
	for _, n := range count {
		if n > 0 {
			p := float64(n) / float64(len(v))
			h -= p * math.Log2(p)
		}
	}
	return h
}

func distinct(v string) int {
	var seen [256]bool
	n := 0
	for i := range len(v) {
		if !seen[v[i]] {
			seen[v[i]] = true
			n++
		}
	}
	return n
}

func digits(v string) int {
	n := 0
	for i := range len(v) {
		if '0' <= v[i] && v[i] <= '9' {
			n++
		}
	}
	return n
}

func letters(v string) int {
	n := 0
	for i := range len(v) {
		if 'a' <= v[i]|0x20 && v[i]|0x20 <= 'z' {
			n++
		}
	}
	return n
}

func alnum(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

func upperDigit(c byte) bool { return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' }

func wordDash(c byte) bool { return alnum(c) || c == '_' || c == '-' }

func wordSlash(c byte) bool { return alnum(c) || c == '/' }

func base64Byte(c byte) bool { return alnum(c) || c == '+' || c == '/' || c == '=' }

func percentBase64(c byte) bool { return base64Byte(c) || c == '%' }

func tokenByte(c byte) bool { return base64Byte(c) || c == '_' || c == '-' || c == '.' || c == '~' }
