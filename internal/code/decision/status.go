package decision

import (
	"strings"
	"unicode"
)

// Status is what a record says of its decision.
type Status string

// The statuses. Records have many words for them; StatusText keeps theirs.
const (
	Unknown    Status = "" // not said, or in words that are not known
	Proposed   Status = "proposed"
	Accepted   Status = "accepted"
	Rejected   Status = "rejected"
	Deprecated Status = "deprecated" // it does not hold any more, and nothing took its place
	Superseded Status = "superseded"
)

// Statuses lists the statuses, without Unknown.
func Statuses() []Status { return []Status{Proposed, Accepted, Rejected, Deprecated, Superseded} }

// statusWords are what teams write, by the first words of it.
var statusWords = map[string]Status{
	"proposed": Proposed, "proposal": Proposed, "draft": Proposed, "drafted": Proposed, "wip": Proposed, "rfc": Proposed, "pending": Proposed,
	"open": Proposed, "in review": Proposed, "under review": Proposed, "in discussion": Proposed, "under discussion": Proposed, "in progress": Proposed,
	"work in progress": Proposed, "deferred": Proposed, "on hold": Proposed, "postponed": Proposed, "new": Proposed, "proposing": Proposed,
	"accepted": Accepted, "approved": Accepted, "adopted": Accepted, "agreed": Accepted, "decided": Accepted, "done": Accepted, "final": Accepted,
	"implemented": Accepted, "active": Accepted, "in force": Accepted, "ratified": Accepted, "shipped": Accepted, "amended": Accepted, "current": Accepted,
	"partially superseded": Accepted, "superseded in part": Accepted, "partly superseded": Accepted, "valid": Accepted, "resolved": Accepted,
	"partially accepted": Accepted, "partially implemented": Accepted,
	"rejected": Rejected, "declined": Rejected, "withdrawn": Rejected, "abandoned": Rejected, "not accepted": Rejected, "denied": Rejected, "cancelled": Rejected, "canceled": Rejected,
	"deprecated": Deprecated, "obsolete": Deprecated, "retired": Deprecated, "expired": Deprecated, "outdated": Deprecated, "archived": Deprecated, "no longer valid": Deprecated,
	"superseded": Superseded, "superceded": Superseded, "replaced": Superseded, "supplanted": Superseded, "overruled": Superseded,
}

// maxStatusWords is the number of words of the longest phrase in statusWords.
const maxStatusWords = 3

// statusOf reads a status as it is written: its first words, without markup. A text
// that offers a choice is that of a template, and says nothing.
func statusOf(text string) Status {
	s, _, _ := statusPhrase(plain(text))
	return s
}

// statusPhrase finds the words of a status at the start of a text, and where they
// stand.
func statusPhrase(text string) (s Status, from, to int) {
	if template(text) {
		return Unknown, 0, 0
	}
	from = strings.IndexFunc(text, unicode.IsLetter)
	if from < 0 || from > 16 { // an emoji, a bracket, a star
		return Unknown, 0, 0
	}
	at, words := from, 0
	var phrase strings.Builder
	for words < maxStatusWords {
		end := strings.IndexFunc(text[at:], func(r rune) bool { return !unicode.IsLetter(r) })
		if end < 0 {
			end = len(text) - at
		}
		if end == 0 {
			break
		}
		if phrase.Len() > 0 {
			phrase.WriteByte(' ')
		}
		phrase.WriteString(strings.ToLower(text[at : at+end]))
		words++
		if known, ok := statusWords[phrase.String()]; ok { // the longest one wins
			s, to = known, at+end
		}
		if at += end; at < len(text) && (text[at] == ' ' || text[at] == '-') {
			at++
			continue
		}
		break
	}
	if s == Unknown {
		return Unknown, 0, 0
	}
	return s, from, to
}

// template reports whether a status is a choice between several.
func template(text string) bool {
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		return true
	}
	parts := strings.FieldsFunc(text, func(r rune) bool { return r == '|' || r == '/' })
	known := 0
	for _, p := range parts {
		word, _, _ := strings.Cut(strings.TrimSpace(p), " ")
		if statusWords[strings.ToLower(strings.Trim(word, "[]{}<>*_`"))] != Unknown {
			known++
		}
	}
	return known > 1
}
