package analysis

import "unicode/utf8"

// quote returns the length of an apostrophe at i that stands between two
// letters of one word, else 0.
func quote(text string, start, i int) int {
	var n int
	switch {
	case i == start || i >= len(text):
		return 0
	case text[i] == '\'':
		n = 1
	case text[i] == 0xE2 || text[i] == 0xCA || text[i] == 0xEF:
		r, size := utf8.DecodeRuneInString(text[i:])
		if r != '’' && r != '‘' && r != 'ʼ' && r != '＇' {
			return 0
		}
		n = size
	default:
		return 0
	}
	if c, _ := classAt(text, i+n); c != lower && c != upper {
		return 0
	}
	return n
}

// apostrophe cuts the word text[a:b], which has an apostrophe inside, down to
// what it is about: the possessive and the contracted verb go ("Mel's" is mel,
// "they're" is they), an elided article goes ("l'homme" is homme), and so does
// the prefix of a Python string (f'total'). Names stay whole ("O'Brien" is
// obrien). negated is true for contractions of "not", whose verb is a stop word.
func apostrophe(text string, a, b int) (from, to int, negated bool) {
	p, n := b-1, 0
	for p > a {
		if n = quote(text, a, p); n > 0 && utf8.RuneStart(text[p]) {
			break
		}
		p--
	}
	if p <= a {
		return a, b, false
	}
	switch head, tail := text[a:p], text[p+n:b]; {
	case equalFold(tail, "t") && (head[len(head)-1]|0x20) == 'n':
		return a, b, true
	case equalFold(tail, "s"), equalFold(tail, "m"), equalFold(tail, "d"),
		equalFold(tail, "ll"), equalFold(tail, "re"), equalFold(tail, "ve"):
		return a, p, false
	case len(head) == 1 && head[0]|0x20 != 'o', equalFold(head, "qu"), equalFold(head, "rb"), equalFold(head, "br"):
		return p + n, b, false
	}
	return a, b, false
}

// equalFold compares with want, which is lower-case ASCII.
func equalFold(s, want string) bool {
	if len(s) != len(want) {
		return false
	}
	for i := range len(s) {
		if s[i]|0x20 != want[i] {
			return false
		}
	}
	return true
}
