package intent

import (
	"strings"
	"unicode/utf8"
)

const (
	windowEdge  = 12 << 10 // bytes read at each end of a long message
	maxQuestion = 2000     // characters of the vector leg's query
	headShare   = 1000     // of them, the beginning of a long message
	tailShare   = 600      // and its end; what is left is for failing lines
)

// window returns what is read of a message: all of it, or its beginning and its
// end with a line break between. The result is valid UTF-8.
func window(text string) string {
	if len(text) > 2*windowEdge {
		text = text[:windowEdge] + "\n" + text[len(text)-windowEdge:]
	}
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "")
	}
	return text
}

// question returns the query for the vector leg: the text itself, or of a long
// one the head, the lines that report failures, and the tail. The words are those
// of text.
func question(text string, words []word) string {
	if trimmed := strings.TrimSpace(text); utf8.RuneCountInString(trimmed) <= maxQuestion {
		return trimmed
	}
	head, tail := clip(text, headShare), clipTail(text, tailShare)
	from, to := len(head), len(text)-len(tail)
	left := maxQuestion - headShare - tailShare - 2
	var b strings.Builder
	b.WriteString(head)
	for i := range words {
		w := &words[i]
		if w.start < from || w.end > to || !reports(w, exceptionName(w.text) != "") && !errorCode(w.text) {
			continue
		}
		start := from + strings.LastIndexByte(text[from:w.start], '\n') + 1
		end := to
		if n := strings.IndexByte(text[w.end:to], '\n'); n >= 0 {
			end = w.end + n
		}
		line := strings.TrimSpace(clip(text[start:end], 200))
		if n := utf8.RuneCountInString(line) + 1; n <= left {
			b.WriteByte('\n')
			b.WriteString(line)
			left -= n
		}
		from = end
	}
	b.WriteByte('\n')
	b.WriteString(tail)
	return strings.TrimSpace(b.String())
}

// clip returns the first n characters of s, cut back to a space where one is near.
func clip(s string, n int) string {
	end, space := 0, 0
	for i, r := range s {
		if n == 0 {
			break
		}
		if r == ' ' || r == '\n' {
			space = i
		}
		n--
		end = i + utf8.RuneLen(r)
	}
	if end < len(s) && end-space < 80 && space > 0 {
		end = space
	}
	return s[:end]
}

// clipTail returns the last n characters of s, cut forward to a space where one is near.
func clipTail(s string, n int) string {
	start := len(s)
	for ; n > 0 && start > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:start])
		start -= size
	}
	if start > 0 {
		if i := strings.IndexAny(s[start:], " \n"); i >= 0 && i < 80 {
			start += i + 1
		}
	}
	return s[start:]
}
