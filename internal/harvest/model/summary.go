package model

import (
	"strings"
	"unicode"
)

// tidySummary cleans a summary of what must not be stored: secrets, and sentences
// that think aloud or give orders to whoever will read it.
func tidySummary(text string) string {
	var b strings.Builder
	for s := range sentences(clean(text)) {
		if !thinks(s) && !orders(s) {
			b.WriteString(s)
		}
	}
	return strings.TrimSpace(b.String())
}

// shortSummary cuts a summary to so many characters, where a sentence ends or at
// least a word.
func shortSummary(text string, most int) string {
	if s := upToSentence(text, most); s != "" {
		return s
	}
	text = text[:offset(text, max(most-2, 0))]
	if i := strings.LastIndexFunc(text, unicode.IsSpace); i > len(text)/2 {
		text = text[:i]
	}
	return strings.TrimSpace(text) + " …"
}

// before is as much of the latest summaries as fits into so many tokens.
func (c *Client) before(summaries []string, room int) string {
	from := len(summaries)
	for from > 0 {
		if room -= c.opts.Count(summaries[from-1]) + 1; room < 0 {
			break
		}
		from--
	}
	return strings.Join(summaries[from:], "\n")
}

// joined makes one summary of several without a model: the start of each.
func (c *Client) joinedSummary(summaries []string) string {
	short := make([]string, len(summaries))
	for i, s := range summaries {
		short[i] = shortSummary(s, max(c.opts.SummaryChars/len(summaries)-1, 1))
	}
	return shortSummary(strings.Join(short, " "), c.opts.SummaryChars)
}
