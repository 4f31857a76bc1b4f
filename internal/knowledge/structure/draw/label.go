package draw

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"

	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
)

// Bounds of names, in columns of a terminal.
const (
	maxName  = 40
	maxLabel = 24 // of an edge
)

// clean is a text on one line, without anything that can't be seen and changes how
// the rest is shown.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), unicode.IsSpace(r):
			return ' '
		case r == '\u200c', r == '\u200d': // shape letters and emoji
			return r
		case unicode.Is(unicode.Cf, r), r >= 0xfdd0 && r <= 0xfdef, r&0xfffe == 0xfffe:
			return -1
		}
		return r
	}, guardrail.Sanitize(s))
	return strings.Join(strings.Fields(thinned(s)), " ")
}

// maxMarks is how many marks a letter may have on it: more than any script puts there,
// and too few to reach into the lines above and below.
const maxMarks = 4

// thinned is a text without heaps of marks.
func thinned(s string) string {
	marks := 0
	return strings.Map(func(r rune) rune {
		if !unicode.In(r, unicode.Mn, unicode.Me) {
			marks = 0
			return r
		}
		if marks++; marks > maxMarks {
			return -1
		}
		return r
	}, s)
}

// fit cuts a text to at most n columns, between two letters as people see them.
func fit(s string, n int) string {
	if columns(s) <= n {
		return s
	}
	cut, used := 0, 1 // for the ellipsis
	joined := false
	for i, r := range s {
		if !joined && !extends(r) {
			cut = i
		}
		joined = r == '\u200d'
		if used += columnsOf(r); used > n {
			break
		}
	}
	return strings.TrimRight(s[:cut], " ") + "…"
}

// extends reports a sign that belongs to the letter before it.
func extends(r rune) bool {
	return unicode.In(r, unicode.M, unicode.Cf) || r >= 0x1f3fb && r <= 0x1f3ff // tones of skin
}

func columns(s string) (n int) {
	for _, r := range s {
		n += columnsOf(r)
	}
	return n
}

func columnsOf(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// wide is about how many pixels a text takes at a size, rather too many than too few:
// by the widest of the usual sans serif fonts.
func wide(s string, size int) int {
	hundredths := 0
	for _, r := range s {
		hundredths += hundredthsOf(r)
	}
	return (hundredths*size + 99) / 100
}

func hundredthsOf(r rune) int {
	switch {
	case columnsOf(r) == 0:
		return 0
	case columnsOf(r) == 2:
		return 125
	case strings.ContainsRune("ijl.,:;!'|ı", r):
		return 36
	case strings.ContainsRune("frt ()[]-/", r):
		return 44
	case strings.ContainsRune("mwMW@%…<>&#+=~", r):
		return 102
	case unicode.IsUpper(r), r >= 0x2000:
		return 80
	}
	return 65
}

// named is what a node is called.
func named(n *entity.Node) string {
	for _, s := range []string{n.Display, n.Name} {
		if s = clean(s); s != "" {
			return fit(s, maxName)
		}
	}
	return "?"
}

// typed is what a node is, and how much is known of it.
func (p *picture) typed(n *entity.Node) string {
	t := fit(clean(n.Type), maxLabel)
	if t == "" {
		t = entity.Unknown
	}
	return t + " · " + many(n.Records, p.words.Record)
}

// verb is an edge's type in words.
func verb(typ string) string {
	if v := fit(strings.ReplaceAll(clean(typ), "_", " "), maxLabel); v != "" {
		return v
	}
	return "?"
}

func many(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return number(n) + " " + what
}
