package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// What is read of a message. People type at the beginning and at the end; what
// stands between was pasted.
const (
	headBytes = 6 << 10
	tailBytes = 2 << 10
	maxToken  = 120 // bytes; a longer word is a blob
)

// passage is a stretch of prose: one paragraph, or one item of a list.
type passage struct {
	start, end int
	item       bool // of a list
}

// passages finds the prose in a text. Code, quotations, tables, logs, headings and
// blocks between tags are left out.
func passages(text string) []passage {
	var out []passage
	r := reader{text: text}
	for start := 0; start < len(text); {
		if start >= headBytes && start < len(text)-tailBytes { // what was pasted
			start = len(text) - tailBytes
			if n := strings.IndexByte(text[start:], '\n'); n >= 0 {
				start += n + 1
			}
			r.open = false
			continue
		}
		end := start + strings.IndexByte(text[start:], '\n') + 1
		if end <= start {
			end = len(text)
		}
		cut := end
		if start < headBytes && end > headBytes && len(text)-tailBytes > headBytes { // one long line
			cut = start + sentenceEnd(text[start:headBytes])
		}
		out = r.line(out, start, cut)
		if cut < end {
			r.open = false
			start = len(text) - tailBytes
			if n := strings.IndexAny(text[start:], ".!?\n"); n >= 0 {
				start += n + 1
			}
			continue
		}
		start = end
	}
	return out
}

// sentenceEnd returns where the last whole sentence of s ends.
func sentenceEnd(s string) int {
	if i := strings.LastIndexAny(s, ".!?"); i >= 0 {
		return i + 1
	}
	return 0
}

// reader is where a text stands between two lines.
type reader struct {
	text  string
	fence bool
	tag   string // the block that is open
	open  bool   // the line before was prose
}

// line reads text[start:end].
func (r *reader) line(out []passage, start, end int) []passage {
	line := strings.TrimSpace(r.text[start:end])
	was := r.open
	r.open = false
	switch {
	case strings.HasPrefix(line, "```"), strings.HasPrefix(line, "~~~"):
		if !r.fence || !strings.Contains(line[3:], "```") {
			r.fence = !r.fence
		}
		return out
	case r.fence, line == "":
		return out
	case r.tag != "":
		if strings.Contains(line, "</"+r.tag) {
			r.tag = ""
		}
		return out
	}
	if name := opens(line); name != "" {
		if !strings.Contains(line, "</"+name) {
			r.tag = name
		}
		return out
	}
	at := start + strings.Index(r.text[start:end], line)
	core, item := bullet(line)
	if !item && indented(r.text[start:end]) || !prose(core) {
		return out
	}
	stop := at + len(line)
	at += len(line) - len(core)
	if n := len(out); was && !item && n > 0 && joins(r.text[out[n-1].start:out[n-1].end], core) {
		out[n-1].end = stop
	} else {
		out = append(out, passage{at, stop, item})
	}
	r.open = true
	return out
}

// opens returns the name of a tag that stands at the start of a line: clients wrap
// what they add to a user's message into such blocks.
func opens(line string) string {
	if len(line) < 3 || line[0] != '<' || !letter(line[1]) {
		return ""
	}
	i := 1
	for i < len(line) && (letter(line[i]) || digit(line[i]) || line[i] == '-' || line[i] == '_') {
		i++
	}
	if i == len(line) || line[i] != '>' && line[i] != ' ' || strings.HasSuffix(line, "/>") {
		return ""
	}
	return line[1:i]
}

// joins reports whether a line goes on with what the one before began.
func joins(before, line string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	if strings.ContainsRune(".!?:;…。！？", last) {
		return false
	}
	first, _ := utf8.DecodeRuneInString(line)
	n := len(before) - strings.LastIndexByte(before, '\n') - 1
	return unicode.IsLower(first) || n >= 60
}

// bullet takes the mark of a list's item off.
func bullet(line string) (core string, item bool) {
	for _, mark := range [...]string{"- [ ] ", "- [x] ", "- ", "* ", "• ", "+ ", "– "} {
		if rest, ok := strings.CutPrefix(line, mark); ok {
			return strings.TrimSpace(rest), true
		}
	}
	i := 0
	for i < len(line) && digit(line[i]) {
		i++
	}
	if i > 0 && i < 4 && i+1 < len(line) && (line[i] == '.' || line[i] == ')') && line[i+1] == ' ' {
		return strings.TrimSpace(line[i+1:]), true
	}
	return line, false
}

func indented(line string) bool {
	return strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "    ")
}
