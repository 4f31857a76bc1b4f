package model

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/kenlayer/ken/guardrail"
)

// The frame of what is sent. Every line of content starts with linePrefix, so
// that no content can be taken for a line of the frame, whatever it says: this
// holds without a delimiter that would have to be secret.
const (
	transcriptOpen  = "----- transcript -----"
	transcriptClose = "----- end of transcript -----"
	partsOpen       = "----- parts -----"
	partsClose      = "----- end of parts -----"
	linePrefix      = "| "
)

// Limits of what is shown of a message, in characters. What a tool printed is
// mostly noise to this task, and findings are made of it without a model.
const (
	toolChars = 1500
	callChars = 300
	mostCalls = 8
)

// quoted writes text as lines of content. Blank lines are left out. Markers of
// the layer and control tokens of chat templates are made harmless first.
func quoted(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(guardrail.Neutralize(guardrail.Sanitize(text)), "\n") {
		if strings.TrimSpace(line) != "" {
			b.WriteString(linePrefix + line + "\n")
		}
	}
	return b.String()
}

// header is the line that a message starts with; the day is given when it is
// another than the day of the message before.
func (m *message) header(day string) string {
	who := m.who.String()
	if m.tool != "" {
		who += " " + m.tool
	}
	if m.day != "" && m.day != day {
		who += ", " + m.day
	}
	return fmt.Sprintf("=== message %d: %s ===\n", m.seq, who)
}

// content is a message's text and calls, as they are shown when there is room.
func (m *message) content() string {
	var b strings.Builder
	if m.who == tool {
		b.WriteString(middle(m.text, toolChars))
	} else {
		b.WriteString(m.text)
	}
	for i, call := range m.calls {
		if i == mostCalls {
			fmt.Fprintf(&b, "\n(and %d more calls)", len(m.calls)-i)
			break
		}
		b.WriteString("\n(calls " + call + ")")
	}
	return b.String()
}

// body is the content as it is sent, shortened in its middle to so many tokens,
// with the tokens that it has.
func (c *Client) body(m *message, room int) (string, int) {
	text := m.content()
	body := quoted(text)
	n := c.opts.Count(body)
	for keep := utf8.RuneCountInString(text); n > room && keep > 0; {
		keep = min(keep*9/10, int(float64(keep)*0.95*float64(room)/float64(n)))
		body = quoted(middle(text, keep))
		n = c.opts.Count(body)
	}
	return body, n
}

// middle returns the first and the last characters of text, keep together, with a
// word about what is missing between them.
func middle(text string, keep int) string {
	n := utf8.RuneCountInString(text)
	if n <= keep {
		return text
	}
	head := offset(text, (keep+1)/2)
	tail := head + offset(text[head:], n-keep)
	return fmt.Sprintf("%s\n[… %d characters left out …]\n%s", text[:head], n-keep, text[tail:])
}

// offset is where the first n characters of text end, in bytes.
func offset(text string, n int) int {
	for i := range text {
		if n == 0 {
			return i
		}
		n--
	}
	return len(text)
}
