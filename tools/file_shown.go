package tools

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/guardrail"
)

// fromFile makes words of a file fit to be shown, with their lines, and says whether they
// were cut.
func fromFile(s string, most int) (shown string, cut bool) {
	s, _ = guardrail.Redact(guardrail.StripReasoning(guardrail.Sanitize(s)))
	s = strings.TrimSpace(guardrail.Neutralize(s))
	return bounded(s, most), utf8.RuneCountInString(s) > most
}

// lineOf is fromFile for what stands on one line.
func lineOf(s string, most int) string {
	s, _ = fromFile(strings.Join(strings.Fields(s), " "), most)
	return s
}

func linesOf(list []string, most int) (out []string) {
	for _, s := range list {
		if s = lineOf(s, most); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// showFile notes that an answer shows what a file says, so that it is not learned from
// it in this session.
func (c *Call) showFile(id string, kind ken.Kind, text string) {
	id += "/" + strconv.Itoa(len(c.shows)) // of each id, one text is remembered
	c.shows = append(c.shows, Claim{ID: id, Kind: string(kind), Text: text})
}
