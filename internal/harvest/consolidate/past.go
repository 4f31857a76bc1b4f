package consolidate

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

// NoLonger returns the clauses of a claim's text whose value has changed.
func NoLonger(text string) (out []string) {
	for _, at := range analysis.PastNotes(text) {
		if note := text[at[0]:at[1]]; !strings.Contains(note, ", now ") || strings.HasPrefix(note, " ("+perhapsNote) {
			continue
		}
		before := text[:at[0]]
		c := clauseAt(before, at[0])
		out = append(out, analysis.WithoutPastNotes(before[c.from:c.to]))
	}
	return out
}

// TellsChange reports whether a statement says that something has another value than before.
func TellsChange(text string) bool {
	text = analysis.WithoutPastNotes(text)
	s := valuesOf(text)
	return len(s.values) > 0 && s.tellsChange(0, len(text), true) || len(leavers(text)) > 0
}

// Corrects reports whether after, said shortly after before, corrects a value of it.
func Corrects(before, after string) bool {
	_, ok := correctedValue(before, after)
	return ok
}

// Correct returns before with a note behind the value that after, said shortly after, corrects. It returns ""
// if there is none, or if before says nothing else.
func Correct(before, after string) string {
	c, ok := correctedValue(before, after)
	if !ok || c.onlyContent || strings.Contains(before, " Answer: ") {
		return ""
	}
	return c.amend(before, time.Time{}, time.Time{})
}

// Restated returns before with a new value where before says several things and after, said shortly after,
// only corrects the value of one of them: "I was wrong, the metrics port is 9100." It returns "" otherwise.
func Restated(before, after string) string {
	c, ok := correctedValue(before, after)
	if !ok || strings.Contains(before, " Answer: ") {
		return ""
	}
	said := strings.ToLower(after)
	for at := denial.FindStringIndex(said); at != nil; at = denial.FindStringIndex(said) {
		said = said[at[1]:]
	}
	said = correctionCue.ReplaceAllString(" "+said+" ", " ")
	part, ok := partAbout(before, analysis.Terms(said))
	if !ok || part.to-part.from == len(before) || c.was.from < part.from || c.was.to > part.to {
		return ""
	}
	known := append(analysis.Terms(before[part.from:part.to]), analysis.Terms(c.is)...)
	if slices.ContainsFunc(analysis.Terms(said), func(t string) bool { return t != "not" && !slices.Contains(known, t) }) {
		return ""
	}
	return before[:c.was.from] + c.is + before[c.was.to:]
}

// MayCorrect reports whether a statement has words of a correction. Corrects is false without them.
func MayCorrect(text string) bool {
	low := " " + strings.ToLower(analysis.WithoutPastNotes(text)) + " "
	return correctionCue.MatchString(low) || anotherCue.MatchString(low)
}

// Previously returns text with a note that quotes was, the statement of the same day that text
// corrects. It returns text unchanged if was is too long for a note.
func Previously(text, was string) string {
	if was = inNote(was); len(was) > mostNote {
		return text
	}
	return text + changedFrom(was, "", text, time.Time{}, time.Time{})
}

// AmendAccount returns the text of an account made at the time told, with a note behind each value
// that a later statement replaces. It returns false if the statement replaces none.
func AmendAccount(text string, told time.Time, later string, at time.Time) (string, bool) {
	later = analysis.WithoutPastNotes(later)
	var b strings.Builder
	amended := false
	for line := range strings.Lines(text) {
		for range mostInLine {
			c, ok := replacedValue(line, later)
			if !ok {
				break
			}
			line, amended = c.amend(line, told, at), true
		}
		b.WriteString(line)
	}
	return b.String(), amended
}

// AmendClause returns text with a note behind the old value in each occurrence of c.Clause. If there is
// none, the note comes behind the part of a sentence that says it in other words, as the summary of a
// model does. It returns false if there is none either.
func (c *ValueChange) AmendClause(text string, at time.Time) (string, bool) {
	clause, was := spoken(c.Clause), spoken(c.Was)
	value := strings.Index(clause, was)
	if value < 0 {
		return text, false
	}
	value += len(was)
	note := changedTo(c.Is, c.From, at, c.Perhaps)
	var b strings.Builder
	for {
		i := indexFold(text, clause)
		if i < 0 {
			break
		}
		b.WriteString(text[:i+value])
		if text = text[i+value:]; !strings.HasPrefix(text, note) {
			b.WriteString(note)
		}
	}
	if b.Len() == 0 {
		return amendReworded(text, clause, note)
	}
	return b.String() + text, true
}

// reworded is the minimum share of a clause's terms in a part of a sentence that says the same.
const reworded = 0.6

// partEnd matches the end of a part of a sentence. A mark within a number or a name ends none.
var partEnd = lazyregexp.New(`[,;.!?](?:\s|$)|[。，、；！？]`)

// amendReworded returns text with a note behind the part of a sentence that has most terms of a
// clause. It returns false if none has enough of them, or if text has the note.
func amendReworded(text, clause, note string) (string, bool) {
	want := analysis.Terms(clause)
	if len(want) < 2 || strings.Contains(text, note) {
		return text, false
	}
	notes := analysis.PastNotes(text)
	most, end, from := 0, 0, 0
	for _, mark := range append(partEnd.FindAllStringIndex(text, -1), []int{len(text), len(text)}) {
		part := text[from:mark[0]]
		from = mark[1]
		if slices.ContainsFunc(notes, func(n []int) bool { return n[0] < mark[0] && mark[0] < n[1] }) {
			continue // it ends within a note
		}
		has, n := analysis.Terms(part), 0
		for _, w := range want {
			if slices.Contains(has, w) {
				n++
			}
		}
		if n > most {
			most, end = n, mark[0]
		}
	}
	if float64(most) < reworded*float64(len(want)) || most < 2 {
		return text, false
	}
	return text[:end] + note + text[end:], true
}

// indexFold is like strings.Index, but ignores the case of part's first letter.
func indexFold(text, part string) int {
	if i := strings.Index(text, part); i >= 0 || part == "" {
		return i
	}
	first, n := utf8.DecodeRuneInString(part)
	for _, f := range []rune{unicode.ToLower(first), unicode.ToUpper(first)} {
		if s := string(f); len(s) == n {
			if i := strings.Index(text, s+part[n:]); i >= 0 {
				return i
			}
		}
	}
	return -1
}

// mostInLine bounds how often a value is noted in one line of an account.
const mostInLine = 3

// changedTo returns the note behind an old value.
func changedTo(is string, from, at time.Time, perhaps bool) string {
	may := ""
	if perhaps {
		may = perhapsNote
	}
	return " (" + may + cmp.Or(until(from, at), "no longer") + ", now " + newValue(is) + ")"
}

// newValue returns a new value, or the statement with it, in the form that it has in a note, which says "now" itself.
func newValue(text string) string {
	text = inNote(text)
	if at := nowFirst.FindStringSubmatchIndex(text); at != nil && at[2] < 0 {
		text = text[at[1]:]
	}
	return nowLast.ReplaceAllString(text, "$1")
}

// nowFirst and nowLast match "now" at the start and at the end of a statement. The group of nowFirst is "that",
// with which another clause begins.
var (
	nowFirst = lazyregexp.New(`(?i)^(?:now|maintenant|ahora|agora),? +(that |qu)?`)
	nowLast  = lazyregexp.New(`(?i)([^ ,])[ ,]+(?:now|jetzt|maintenant|ahora|agora)$`)
)

// perhapsNote begins a note on an uncertain change.
const perhapsNote = "perhaps "

// changedFrom returns the note behind a new statement.
func changedFrom(was, value, is string, from, at time.Time) string {
	date := until(from, at)
	if end := differingEnd(was, is); end == "" || value == "" || !strings.HasPrefix(end, value) {
		value = end // only the value if it is known, else the rest from the first difference
	}
	switch {
	case value != "" && date != "":
		return " (was " + value + " " + date + ")"
	case value != "":
		return " (previously " + value + ")"
	}
	return " (" + cmp.Or(date, "previously") + ": " + was + ")"
}

// differingEnd returns the part of was after its common beginning with is: for "the port is 80" and
// "the port is 81 now" it is "80". It returns "" if there is no common beginning, or if the part is
// long.
func differingEnd(was, is string) string {
	a, b := strings.Fields(was), strings.Fields(strings.TrimPrefix(is, "User: "))
	b = slices.DeleteFunc(b, func(w string) bool { return lower(w) == "now" })
	n := 0
	for n < len(a) && n < len(b) && strings.EqualFold(a[n], b[n]) {
		n++
	}
	for len(b) > n && len(a) > n && strings.EqualFold(strings.Trim(a[len(a)-1], ".,"), strings.Trim(b[len(b)-1], ".,")) {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if n < 3 || len(a)-n > 4 {
		return ""
	}
	return strings.TrimRight(strings.Join(a[n:], " "), ",;:")
}

// until returns the end of an old value's validity as "until DATE"; "" if it changed on the day on
// which it was said.
func until(from, at time.Time) string {
	if at.IsZero() || from.Truncate(24*time.Hour).Equal(at.Truncate(24*time.Hour)) {
		return ""
	}
	return "until " + at.UTC().Format("2 January 2006")
}

// inNote returns text in a form that can be part of a note.
func inNote(text string) string {
	text = strings.NewReplacer(" (", ", ", "(", "", ")", "").Replace(strings.TrimPrefix(analysis.WithoutPastNotes(text), "User: "))
	text = strings.TrimRight(strings.Join(strings.Fields(text), " "), ".。 ")
	return conjunction.ReplaceAllString(text, "")
}

// conjunction joins a clause with the one before it.
var conjunction = lazyregexp.New(`^(?i:and|but|so|und|aber|et|mais|y|pero|e|mas) `)

// span is a range of bytes in a text.
type span struct{ from, to int }

// clausesOf returns the clauses of a text, which end at commas and sentence ends. A question and
// its answer are one clause.
func clausesOf(text string, values []mention) (out []span) {
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
		if slices.ContainsFunc(values, func(m mention) bool { return m.from <= i && i < m.to }) {
			continue // 13. März
		}
		ends := next == len(text) || text[next] == ' ' || text[next] == '\n'
		switch {
		case strings.ContainsRune("，。！？；、\n", r), strings.ContainsRune(";!", r), r == '—' || r == '–',
			r == ',' && (ends || !isDigit(text[next])), r == '.' && ends && !titles[lower(text[strings.LastIndexByte(text[:i], ' ')+1:i])],
			r == '?' && !strings.HasPrefix(text[next:], " Answer: ") && ends:
			cut(i, next)
		}
	}
	cut(len(text), len(text))
	return out
}

// titles are abbreviations before a person's name, whose full stop ends no clause.
var titles = analysis.Set("dr mr mrs ms prof hr fr sr sra")

// clauseAt returns the clause of text that contains byte at.
func clauseAt(text string, at int) span {
	for _, c := range clausesOf(text, mentions(text)) {
		if c.from <= at && at <= c.to {
			return c
		}
	}
	return span{0, len(text)}
}
