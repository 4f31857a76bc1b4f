package repository

import (
	"strings"
	"unicode/utf8"
)

// line is one line of a source, without its end. A line that is too long to be
// one chunk becomes several with the same number.
type line struct {
	no     int // from 1
	text   string
	chars  int // code points, and one for the line's end
	indent int // columns before the first character; a tab counts four
}

func newLine(no int, text string) line {
	l := line{no: no, text: text, chars: utf8.RuneCountInString(text) + 1}
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case ' ':
			l.indent++
		case '\t':
			l.indent += 4
		default:
			return l
		}
	}
	return l
}

func (l line) blank() bool { return strings.TrimSpace(l.text) == "" }

// trimmed is the line without the space around it.
func (l line) trimmed() string { return strings.TrimSpace(l.text) }

const byteOrderMark = "\ufeff"

// splitLines cuts src at line feeds. A byte order mark and the carriage returns
// before line feeds are not part of any line.
func splitLines(src string) []line {
	src = strings.TrimPrefix(src, byteOrderMark)
	lines := make([]line, 0, strings.Count(src, "\n")+1)
	for no := 1; src != ""; no++ {
		var text string
		text, src, _ = strings.Cut(src, "\n")
		lines = append(lines, newLine(no, strings.TrimSuffix(text, "\r")))
	}
	return lines
}

// render joins lines as they were in the source, without blank ends.
func render(lines []line) string {
	var b strings.Builder
	for i, l := range lines {
		if i > 0 && l.no != lines[i-1].no {
			b.WriteByte('\n')
		}
		b.WriteString(l.text)
	}
	return strings.TrimRight(b.String(), " \t\r\n")
}

func width(lines []line) int {
	n := 0
	for _, l := range lines {
		n += l.chars
	}
	return n
}

// span is lines[from:to].
type span struct{ from, to int }

func (s span) empty() bool { return s.from >= s.to }

// trim drops blank lines from both ends.
func (s span) trim(lines []line) span {
	for s.from < s.to && lines[s.from].blank() {
		s.from++
	}
	for s.from < s.to && lines[s.to-1].blank() {
		s.to--
	}
	return s
}

// clip shortens s to n characters at most, on one line, with an ellipsis.
func clip(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return strings.TrimSpace(string([]rune(s)[:n-1])) + "…"
}
