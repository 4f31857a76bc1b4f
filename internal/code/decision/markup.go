package decision

import (
	"strings"

	"github.com/kenlayer/ken/internal/lazyregexp"
)

var (
	linkMarkup = lazyregexp.New(`!?\[([^\[\]]*)\]\(\s*<?([^()<>\s]*(?:\([^()\s]*\)[^()<>\s]*)*)>?[^()]*\)`)
	definition = lazyregexp.New(`^ {0,3}\[[^\[\]]+\]:\s+<?([^\s<>]+)>?`) // [name]: where/it/leads.md
)

var emphasis = strings.NewReplacer("*", "", "`", "", "___", "", "__", "", "~~", "")

// plain takes links, emphasis and code marks off a text.
func plain(s string) string {
	if strings.Contains(s, "](") {
		s = linkMarkup.ReplaceAllString(s, "$1")
	}
	if strings.ContainsAny(s, "*_~`") {
		s = emphasis.Replace(s)
	}
	return strings.Trim(strings.TrimSpace(s), "_")
}

// fence is a block of code that is open.
type fence struct {
	mark byte
	run  int
}

// step looks at a line and reports whether it is code, or the mark of it.
func (f *fence) step(text string) bool {
	t := strings.TrimLeft(text, " \t>") // within lists and quotes, too
	run := 0
	for run < len(t) && run < 1000 && (t[run] == '`' || t[run] == '~') && t[run] == t[0] {
		run++
	}
	switch {
	case f.run > 0:
		if run >= f.run && t[0] == f.mark && strings.TrimSpace(t[run:]) == "" {
			f.run = 0
		}
		return true
	case run >= 3 && (t[0] == '~' || !strings.Contains(t[run:], "`")):
		f.mark, f.run = t[0], run
		return true
	}
	return false
}

// withoutComments blanks what stands in HTML comments, in place; a comment that is not
// closed hides nothing. Lines keep their number. Code keeps its comments.
func withoutComments(lines []line) []line {
	out := lines
	copied := false
	var code fence
	for i := 0; i < len(out); i++ {
		if code.step(out[i].text) {
			continue
		}
		from := 0
		var blanked []byte // the line, once it has changed
		for {
			at := strings.Index(out[i].text[from:], "<!--")
			if at < 0 {
				break
			}
			at += from
			j, end := closing(out, i, at+4)
			if j < 0 {
				if blanked != nil {
					out[i].text = string(blanked)
				}
				return out
			}
			if !copied {
				out, copied = append([]line(nil), out...), true
			}
			if j == i {
				if blanked == nil {
					blanked = []byte(out[i].text)
				}
				for k := at; k < end; k++ {
					blanked[k] = ' '
				}
				from = end
				continue
			}
			if blanked != nil {
				out[i].text, blanked = string(blanked), nil
			}
			out[i].text = out[i].text[:at]
			for k := i + 1; k < j; k++ {
				out[k].text = ""
			}
			out[j].text = strings.Repeat(" ", end) + out[j].text[end:]
			i, from = j, end
		}
		if blanked != nil {
			out[i].text = string(blanked)
		}
	}
	return out
}

// closing finds the end of a comment that starts at a place of a line.
func closing(lines []line, i, at int) (int, int) {
	for j := i; j < len(lines); j++ {
		if end := strings.Index(lines[j].text[at:], "-->"); end >= 0 {
			return j, at + end + 3
		}
		at = 0
	}
	return -1, 0
}

// bullet is the list item that a line starts: how far it is indented, and where its
// text starts.
func bullet(s string) (indent, at int, ok bool) {
	indent = line{text: s}.indent()
	i := len(s) - len(strings.TrimLeft(s, " \t"))
	j := i
	switch {
	case i == len(s):
		return 0, 0, false
	case strings.IndexByte("-*+", s[i]) >= 0:
		j = i + 1
	default:
		for j < len(s) && j-i < 9 && s[j] >= '0' && s[j] <= '9' {
			j++
		}
		if j == i || j == len(s) || s[j] != '.' && s[j] != ')' {
			return 0, 0, false
		}
		j++
	}
	if j == len(s) || s[j] != ' ' && s[j] != '\t' {
		return 0, 0, false
	}
	for j < len(s) && (s[j] == ' ' || s[j] == '\t') {
		j++
	}
	return indent, j, true
}

// cells are the columns of a table's row, with where their texts stand in the line.
func cells(s string) (out []cell, ok bool) {
	trimmed := strings.TrimSpace(s)
	if len(trimmed) < 2 || trimmed[0] != '|' {
		return nil, false
	}
	from := strings.IndexByte(s, '|') + 1
	for i := from; i <= len(s); i++ {
		if i < len(s) && (s[i] != '|' || s[i-1] == '\\') {
			continue
		}
		text := strings.TrimSpace(s[from:i])
		if i == len(s) && text == "" {
			break
		}
		at := from + len(s[from:i]) - len(strings.TrimLeft(s[from:i], " \t"))
		out = append(out, cell{text, at, at + len(text)})
		from = i + 1
	}
	return out, len(out) > 0
}

type cell struct {
	text     string
	from, to int // in the line
}

// rule reports whether a row is the one between the head of a table and its body.
func rule(row []cell) bool {
	for _, c := range row {
		if c.text == "" || strings.Trim(c.text, ":-") != "" {
			return false
		}
	}
	return len(row) > 0
}
