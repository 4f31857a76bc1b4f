package consolidate

import (
	"cmp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/lazyregexp"
)

// A note in brackets says within a claim's text what has changed since. Behind the old value it
// names the new one: "on Monday (until 20 March 2026, now Wednesday)". Behind a new statement it
// tells the old one: "it's 300 a day (until 12 February 2026: the mail quota's 500 a day)".
// Within one day, the dates say nothing: "(no longer, now 300)" and "(previously: …)".
var pastNote = lazyregexp.New(` \((?:(?:until \d{1,2} \pL+ \d{4}|no longer), now [^()]*|(?:until \d{1,2} \pL+ \d{4}|previously): [^()]*)\)`)

// Plain returns a claim's text without the notes on what has changed.
func Plain(text string) string {
	if !strings.Contains(text, " (") {
		return text
	}
	return pastNote.ReplaceAllString(text, "")
}

// NoLonger returns the parts of a claim's text that are no longer so: the clauses with a value
// that has changed.
func NoLonger(text string) (out []string) {
	for _, at := range pastNote.FindAllStringIndex(text, -1) {
		if !strings.Contains(text[at[0]:at[1]], ", now ") {
			continue
		}
		before := text[:at[0]]
		c := clauseAt(before, at[0])
		out = append(out, Plain(before[c.from:c.to]))
	}
	return out
}

// changedTo is the note behind an old value.
func changedTo(is string, from, at time.Time) string {
	return " (" + cmp.Or(until(from, at), "no longer") + ", now " + inNote(is) + ")"
}

// changedFrom is the note behind a new statement.
func changedFrom(was string, from, at time.Time) string {
	return " (" + cmp.Or(until(from, at), "previously") + ": " + inNote(was) + ")"
}

// until says how long an old value held; "" when it changed on the day on which it was told.
func until(from, at time.Time) string {
	if at.IsZero() || from.Truncate(24*time.Hour).Equal(at.Truncate(24*time.Hour)) {
		return ""
	}
	return "until " + at.UTC().Format("2 January 2006")
}

// inNote returns text that can stand within a note.
func inNote(text string) string {
	text = strings.NewReplacer(" (", ", ", "(", "", ")", "").Replace(Plain(text))
	return strings.TrimRight(strings.Join(strings.Fields(text), " "), ".。 ")
}

// span is a part of a text, in bytes.
type span struct{ from, to int }

// clausesOf returns the clauses of a text: what stands between commas and the ends of sentences.
// A question and its answer are one.
func clausesOf(text string) (out []span) {
	from := 0
	cut := func(to, next int) {
		if s := strings.TrimSpace(text[from:to]); s != "" {
			at := from + strings.Index(text[from:to], s)
			out = append(out, span{at, at + len(s)})
		}
		from = next
	}
	for i, r := range text {
		next := i + utf8.RuneLen(r)
		if next < i {
			next = i + 1
		}
		ends := next == len(text) || text[next] == ' ' || text[next] == '\n'
		switch {
		case strings.ContainsRune("，。！？；、\n", r), strings.ContainsRune(";!", r), r == '—' || r == '–',
			r == ',' && (ends || !isDigit(text[next])), r == '.' && ends,
			r == '?' && !strings.HasPrefix(text[next:], " Answer: ") && ends:
			cut(i, next)
		}
	}
	cut(len(text), len(text))
	return out
}

// clauseAt returns the clause that holds a place in text.
func clauseAt(text string, at int) span {
	for _, c := range clausesOf(text) {
		if c.from <= at && at <= c.to {
			return c
		}
	}
	return span{0, len(text)}
}
