package model

import (
	"fmt"
	"strings"
)

// part is as much of a transcript as one request carries.
type part struct {
	messages []message // a piece of the transcript's own slice
	text     string    // rendered, without its frame
}

// budget is how many tokens of transcript one request can carry.
//
// A request holds the rules, the summary so far, the transcript and, when it is
// the repair of an answer, that answer; the model's new answer needs room too.
func (c *Client) budget(t task) (transcript, answer int) {
	w := c.opts.Window
	answer = min((c.opts.MaxFacts*(c.opts.FactChars+200)+c.opts.SummaryChars)/3, w/5)
	const frame = 150 // the frame's lines and the tokens that a chat format adds
	transcript = w - c.opts.Count(t.system(true)) - frame - w/16 - 2*answer
	return max(transcript, w/4), answer
}

// cut splits a transcript at the borders of messages into parts of at most room
// tokens. A message that is longer than a part is shortened in its middle.
func (c *Client) cut(all []message, room int) []part {
	var parts []part
	var b strings.Builder
	first, used, day := 0, 0, ""
	flush := func(next int) {
		if next > first {
			parts = append(parts, part{all[first:next:next], b.String()})
		}
		b.Reset()
		first, used, day = next, 0, ""
	}
	for i := range all {
		m := &all[i]
		head := c.opts.Count(m.header(""))
		body, n := c.body(m, max(room-head, 1))
		if used > 0 && used+head+n > room {
			flush(i)
		}
		b.WriteString(m.header(day))
		b.WriteString(body)
		used, day = used+head+n, m.day
	}
	flush(len(all))
	return parts
}

// request is the user message of a part. before is the summaries of the parts
// before it.
func (p *part) request(i, n int, before string) string {
	var b strings.Builder
	if n > 1 {
		fmt.Fprintf(&b, "This is part %d of %d of the session.\n", i+1, n)
	}
	if before != "" {
		b.WriteString("What the parts before it came to, to understand this one and not to report again:\n")
		b.WriteString(quoted(before))
	}
	b.WriteString(transcriptOpen + "\n" + p.text + transcriptClose + "\n")
	fmt.Fprintf(&b, "Report on messages %d to %d as one JSON object.", p.messages[0].seq, p.messages[len(p.messages)-1].seq)
	return b.String()
}

// mergeRequest is the user message that asks for one summary of several.
func mergeRequest(summaries []string) string {
	var b strings.Builder
	b.WriteString(partsOpen + "\n")
	for i, s := range summaries {
		fmt.Fprintf(&b, "=== part %d ===\n%s", i+1, quoted(s))
	}
	b.WriteString(partsClose + "\nReport one JSON object with the summary of the whole.")
	return b.String()
}
