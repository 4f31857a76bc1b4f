package model

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/analysis"
)

// The least of a quote that may be looked for where the fact does not say it
// stands, and that proves something by itself where it does. Shorter ones stand
// in many messages by chance.
const (
	leastWords = 3
	leastChars = 12
)

// needle is a quote as it is looked for: without the marks around it, which
// models add, nor the stop at its end, nor the prefix of rendered lines.
func needle(quote string) string {
	quote = strings.TrimPrefix(strings.TrimSpace(quote), linePrefix)
	quote = strings.ReplaceAll(quote, "\n"+linePrefix, "\n")
	q := strings.Trim(fold(quote), `"' `)
	return strings.TrimRight(q, ` .,;:!?"'。！？，；：`)
}

// telling reports whether a folded quote is long enough to prove something.
func telling(q string) bool {
	return utf8.RuneCountInString(q) >= leastChars || words(q) >= leastWords
}

// words counts words; a character of a script without spaces counts as one.
func words(s string) int {
	n, inside := 0, false
	for _, r := range s {
		letter := unicode.IsLetter(r) || unicode.IsDigit(r)
		switch {
		case analysis.Unspaced(r):
			n++
			letter = false
		case letter && !inside:
			n++
		}
		inside = letter || inside && r == '\''
	}
	return n
}

// find looks for a folded quote in the message, from word to word, and returns the
// words of the message itself.
func (m *message) find(q string) (verbatim string, ok bool) {
	if q == "" {
		return "", false
	}
	if m.folded == "" {
		m.folded = fold(m.text)
	}
	start := indexWords(m.folded, q)
	if start < 0 {
		return "", false
	}
	f := folder{places: true}
	f.run(m.text)
	from, to := f.at[start], len(m.text)
	if end := start + len(q); end < len(f.at) {
		to = f.at[end]
	}
	return strings.TrimSpace(m.text[from:to]), true
}

// near is how far around a quote its line is read, in bytes: pasted files may be
// one line.
const near = 500

// around returns the line of the message that a quote found in it stands in, or as
// much of the line as is near.
func (m *message) around(quote string) string {
	start := strings.Index(m.text, quote)
	end := start + len(quote)
	before, after := m.text[max(0, start-near):start], m.text[end:min(len(m.text), end+near)]
	after, _, _ = strings.Cut(after, "\n")
	return before[strings.LastIndexByte(before, '\n')+1:] + quote + after
}

// indexWords is strings.Index for matches that begin and end where a word does:
// "no tests" does not stand in "piano tests".
func indexWords(s, q string) int {
	for from := 0; ; {
		i := strings.Index(s[from:], q)
		if i < 0 {
			return -1
		}
		i += from
		before, _ := utf8.DecodeLastRuneInString(s[:i])
		first, size := utf8.DecodeRuneInString(q)
		last, _ := utf8.DecodeLastRuneInString(q)
		after, _ := utf8.DecodeRuneInString(s[i+len(q):])
		if !joined(before, first) && !joined(last, after) {
			return i
		}
		from = i + size
	}
}

// joined reports whether two neighbours are characters of one word.
func joined(a, b rune) bool {
	part := func(r rune) bool {
		return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) && !analysis.Unspaced(r)
	}
	return part(a) && part(b)
}

// supports reports whether a quote too short to tell anything by itself says a
// word of the fact, as "use pnpm" does for a fact about pnpm and "yes" for none.
func supports(quote, text string) bool {
	said := map[string]bool{}
	for _, t := range analysis.Terms(quote) {
		said[t] = true
	}
	for _, t := range analysis.Terms(text) {
		if said[t] {
			return true
		}
	}
	return false
}
