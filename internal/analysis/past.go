package analysis

import (
	"regexp"
	"strings"
	"sync"
)

// pastNote matches a note in parentheses that says what has changed since a claim was made. Behind
// an old value it gives the new one: "on Monday (until 20 March 2026, now Wednesday)". Behind a new
// statement it quotes the old one: "it's 300 a day (until 12 February 2026: the mail quota's 500 a
// day)". If both begin alike, it gives only the old value: "is Thursday now (was Tuesday until 12
// March 2026)". Within one day it has no date: "(no longer, now 300)", "(previously: …)".
var pastNote = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(` \((?:(?:perhaps )?(?:until \d{1,2} \pL+ \d{4}|no longer), now [^()]*|(?:until \d{1,2} \pL+ \d{4}|previously): [^()]*|(?:was [^()]* until \d{1,2} \pL+ \d{4}|previously [^()]*))\)`)
})

// WithoutPastNotes returns a claim's text without notes on what was true before.
func WithoutPastNotes(text string) string {
	if !strings.Contains(text, " (") {
		return text
	}
	return pastNote().ReplaceAllString(text, "")
}

// PastNotes returns the start and the end of each of these notes.
func PastNotes(text string) [][]int {
	if !strings.Contains(text, " (") {
		return nil
	}
	return pastNote().FindAllStringIndex(text, -1)
}
