package session

import (
	"fmt"
	"unicode/utf8"
)

// cut leaves out the middle of a text that is longer than limit bytes: its
// beginning and end say most of what it is. A marker stands in between, and the
// whole is within the limit. It returns how many bytes are gone, 0 for none.
func cut(s string, limit int) (string, int) {
	if len(s) <= limit {
		return s, 0
	}
	half := max(0, (limit-len(marker(len(s))))/2)
	head, tail := half, len(s)-half
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return s[:head] + marker(tail-head) + s[tail:], tail - head
}

func marker(n int) string { return fmt.Sprintf("\n[… %d bytes left out …]\n", n) }

// cut bounds an entry's text and the arguments of its calls.
func (e *Entry) cut(limit int) {
	e.Message.Text, e.Cut = cut(e.Message.Text, limit)
	for i := range e.Message.ToolCalls {
		c := &e.Message.ToolCalls[i]
		c.Arguments = cutArguments(c.Arguments, limit)
	}
}
