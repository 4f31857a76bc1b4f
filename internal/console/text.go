package console

import (
	"fmt"
	"html/template"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Most code points of a text that a page shows: of a whole one, and of a line in a
// list. What is longer is cut, and says so.
const (
	mostText = 20_000
	mostLine = 280
)

// shown writes a text that anybody may have written, cut to most code points: escaped,
// isolated from the direction of what surrounds it, and with what can't be seen but
// changes what is seen made visible.
func shown(s string, most int) template.HTML {
	var b strings.Builder
	b.Grow(len(s) + 16)
	b.WriteString("<bdi>")
	n, from := 0, 0
	flush := func(to int) { template.HTMLEscape(&b, []byte(s[from:to])) }
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if n == most {
			flush(i)
			fmt.Fprintf(&b, `</bdi><span class="cut-off" title="%d more characters">…</span>`, utf8.RuneCountInString(s[i:]))
			return template.HTML(b.String()) // every piece is escaped
		}
		if concealed(r, size) {
			flush(i)
			if r == utf8.RuneError && size == 1 {
				fmt.Fprintf(&b, `<span class="concealed" title="a byte that is no text">%02X</span>`, s[i])
			} else {
				fmt.Fprintf(&b, `<span class="concealed" title="a character that can’t be seen">U+%04X</span>`, r)
			}
			from = i + size
		}
		i += size
		n++
	}
	flush(len(s))
	b.WriteString("</bdi>")
	return template.HTML(b.String()) // every piece is escaped
}

// concealed reports a character that hides or reorders others: controls, overrides and
// embeddings of direction, tags, and what has no width, but for the joiners that
// scripts and emoji are written with, and the marks of direction, which reorder
// nothing but themselves.
func concealed(r rune, size int) bool {
	switch r {
	case '\n', '\t', '\u200c', '\u200d', '\u200e', '\u200f', '\u061c', '\u00ad':
		return false
	case utf8.RuneError:
		return size == 1
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029' || r == '\u115f' || r == '\u3164'
}

// oneLine is a text without its breaks, cut to most code points.
func oneLine(s string, most int) template.HTML {
	if len(s) > 4*most+4096 { // of a long text only the beginning is looked at
		s = strings.ToValidUTF8(s[:4*most+4096], "")
	}
	return shown(strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\t' || r == '\r' || r == ' ' }), " "), most)
}

// windowTitle is a text for the title of a window, where no mark-up is: one line, without
// what can't be seen, cut.
func windowTitle(s string) string {
	const most = 100
	var b strings.Builder
	n := 0
	for _, word := range strings.Fields(s[:min(len(s), 8*most)]) {
		for i, r := range " " + word {
			if i == 0 && n == 0 || concealed(r, utf8.RuneLen(r)) || r == utf8.RuneError {
				continue
			}
			if n++; n > most {
				return b.String() + "…"
			}
			b.WriteRune(r)
		}
	}
	return b.String()
}
