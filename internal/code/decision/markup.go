package decision

import (
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/lazyregexp"
)

var (
	linkMarkup = lazyregexp.New(`!?\[([^\[\]]*)\]\(\s*<?([^()<>\s]*(?:\([^()\s]*\)[^()<>\s]*)*)>?[^()]*\)`)
	definition = lazyregexp.New(`^ {0,3}\[[^\[\]]+\]:\s+<?([^\s<>]+)>?`) // [name]: where/it/leads.md
)

var emphasis = strings.NewReplacer("*", "", "`", "", "___", "", "__", "", "~~", "")

// stripMarkup removes links, emphasis and code marks from a text.
func stripMarkup(s string) string {
	if strings.Contains(s, "](") {
		s = linkMarkup.ReplaceAllString(s, "$1")
	}
	if strings.ContainsAny(s, "*_~`") {
		s = emphasis.Replace(s)
	}
	return strings.Trim(strings.TrimSpace(s), "_")
}

// fence tracks whether a line is in a fenced code block.
type fence struct {
	mark byte
	run  int
}

// step processes a line and reports whether it is code or a fence.
func (f *fence) step(text string) bool {
	t := strings.TrimLeft(text, " \t>") // also within lists and quotes
	run := 0
	for run < len(t) && run < 1000 && (t[run] == '`' || t[run] == '~') && t[run] == t[0] {
		run++
	}
	switch {
	case f.run > 0:
		if run >= f.run && t[0] == f.mark && strings.TrimSpace(t[run:]) == "" {
			f.run = 0
		}
		return true
	case run >= 3 && (t[0] == '~' || !strings.Contains(t[run:], "`")):
		f.mark, f.run = t[0], run
		return true
	}
	return false
}

// withoutComments blanks HTML comments in place, outside of code. An unclosed comment hides nothing. Line numbers do
// not change.
func withoutComments(lines []line) []line {
	out := lines
	copied := false
	var code fence
	for i := 0; i < len(out); i++ {
		if code.step(out[i].text) {
			continue
		}
		from := 0
		var blanked []byte // the changed line; nil if unchanged
		for {
			at := strings.Index(out[i].text[from:], "<!--")
			if at < 0 {
				break
			}
			at += from
			j, end := closing(out, i, at+4)
			if j < 0 {
				if blanked != nil {
					out[i].text = string(blanked)
				}
				return out
			}
			if !copied {
				out, copied = append([]line(nil), out...), true
			}
			if j == i {
				if blanked == nil {
					blanked = []byte(out[i].text)
				}
				for k := at; k < end; k++ {
					blanked[k] = ' '
				}
				from = end
				continue
			}
			if blanked != nil {
				out[i].text, blanked = string(blanked), nil
			}
			out[i].text = out[i].text[:at]
			for k := i + 1; k < j; k++ {
				out[k].text = ""
			}
			out[j].text = strings.Repeat(" ", end) + out[j].text[end:]
			i, from = j, end
		}
		if blanked != nil {
			out[i].text = string(blanked)
		}
	}
	return out
}

// closing finds the end of a comment that begins at a position in a line.
func closing(lines []line, i, at int) (int, int) {
	for j := i; j < len(lines); j++ {
		if end := strings.Index(lines[j].text[at:], "-->"); end >= 0 {
			return j, at + end + 3
		}
		at = 0
	}
	return -1, 0
}

// bullet returns the indentation of the list item that begins on a line, and the index of its text.
func bullet(s string) (indent, at int, ok bool) {
	indent = line{text: s}.indent()
	i := len(s) - len(strings.TrimLeft(s, " \t"))
	j := i
	switch {
	case i == len(s):
		return 0, 0, false
	case strings.IndexByte("-*+", s[i]) >= 0:
		j = i + 1
	default:
		for j < len(s) && j-i < 9 && s[j] >= '0' && s[j] <= '9' {
			j++
		}
		if j == i || j == len(s) || s[j] != '.' && s[j] != ')' {
			return 0, 0, false
		}
		j++
	}
	if j == len(s) || s[j] != ' ' && s[j] != '\t' {
		return 0, 0, false
	}
	for j < len(s) && (s[j] == ' ' || s[j] == '\t') {
		j++
	}
	return indent, j, true
}

// cells returns the columns of a table row with their positions in the line.
func cells(s string) (out []cell, ok bool) {
	trimmed := strings.TrimSpace(s)
	if len(trimmed) < 2 || trimmed[0] != '|' {
		return nil, false
	}
	from := strings.IndexByte(s, '|') + 1
	for i := from; i <= len(s); i++ {
		if i < len(s) && (s[i] != '|' || s[i-1] == '\\') {
			continue
		}
		text := strings.TrimSpace(s[from:i])
		if i == len(s) && text == "" {
			break
		}
		at := from + len(s[from:i]) - len(strings.TrimLeft(s[from:i], " \t"))
		out = append(out, cell{text, at, at + len(text)})
		from = i + 1
	}
	return out, len(out) > 0
}

type cell struct {
	text     string
	from, to int // in the line
}

// isTableRule reports whether a row is the rule between head and body of a table.
func isTableRule(row []cell) bool {
	return len(row) > 0 && !slices.ContainsFunc(row, func(c cell) bool { return c.text == "" || strings.Trim(c.text, ":-") != "" })
}

// tableRows returns the rows of the table that begins on line i; none if there is no table.
func tableRows(lines []line, i, to int) (rows [][]cell) {
	for ; i < to; i++ {
		row, ok := cells(lines[i].text)
		if !ok {
			break
		}
		rows = append(rows, row)
	}
	return rows
}

// heading is a heading of the document. at is the index of its first line, next that of the first line below it.
type heading struct {
	title    string // as written, without marks
	level    int
	at, next int
	end      int // index of the first line after its section, including deeper headings
	kind     Kind
}

var atx = lazyregexp.New(`^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$`)

// headings finds the headings in lines[from:], outside of code.
func headings(lines []line, from int) (out []heading) {
	var code fence
	for i := from; i < len(lines); i++ {
		text := lines[i].text
		if code.step(text) || text == "" {
			continue
		}
		if strings.HasPrefix(strings.TrimLeft(text, " "), "#") {
			if m := atx.FindStringSubmatch(text); m != nil {
				out = append(out, heading{title: strings.TrimSpace(m[2]), level: len(m[1]), at: i, next: i + 1})
				continue
			}
		}
		if level := underline(lines, i, from); level > 0 {
			out = append(out, heading{title: strings.TrimSpace(lines[i-1].text), level: level, at: i - 1, next: i + 1})
		}
	}
	open := make([]int, 0, 6)
	for i := range out {
		for len(open) > 0 && out[open[len(open)-1]].level >= out[i].level {
			out[open[len(open)-1]].end = out[i].at
			open = open[:len(open)-1]
		}
		open = append(open, i)
	}
	for _, i := range open {
		out[i].end = len(lines)
	}
	return out
}

// underline returns the level of the heading that line i makes of the line above it; 0 for none. The line above must be
// alone: below a paragraph, a list or a quote, a line of hyphens is a rule.
func underline(lines []line, i, from int) int {
	t := strings.TrimRight(lines[i].text, " \t")
	if i <= from || t == "" || strings.Trim(t, "=") != "" && strings.Trim(t, "-") != "" {
		return 0
	}
	above := strings.TrimSpace(lines[i-1].text)
	if above == "" || i-2 >= from && !lines[i-2].blank() || lines[i-1].indent() > 3 || strings.ContainsAny(above[:1], "#>|-*+=`~<") {
		return 0
	}
	if _, _, ok := bullet(above); ok && t[0] == '-' { // "7. Use X" may only be underlined with "="
		return 0
	}
	if _, _, ok := field(above); ok && t[0] == '-' {
		return 0 // "Status: accepted" with a rule below it
	}
	if t[0] == '=' {
		return 1
	}
	return 2
}

// sectionNumber matches the number of a heading: "3.", "3a)", "2.1", "§4".
var sectionNumber = lazyregexp.New(`^§?\s*\d{1,3}[a-z]?(?:\.\d{1,3})*[.):]?\s+`)

// headingText returns the text of a heading without number and marks.
func headingText(title string) string {
	if strings.Contains(title, "{") {
		title = attributes.ReplaceAllString(title, "")
	}
	t := stripMarkup(title)
	if t != "" && (t[0] >= '0' && t[0] <= '9' || strings.HasPrefix(t, "§")) {
		t = sectionNumber.ReplaceAllString(t, "")
	}
	return strings.TrimSpace(t)
}

// Kind is the kind of content of a section.
type Kind string

// The kinds of sections.
const (
	KindTitle        Kind = "title"
	KindStatus       Kind = "status"
	KindDate         Kind = "date"
	KindDeciders     Kind = "deciders"
	KindTags         Kind = "tags"
	KindGoverns      Kind = "governs"
	KindContext      Kind = "context"
	KindDrivers      Kind = "drivers"
	KindOptions      Kind = "options"
	KindProsAndCons  Kind = "pros_and_cons"
	KindDecision     Kind = "decision"
	KindConsequences Kind = "consequences"
	KindConfirmation Kind = "confirmation"
	KindMore         Kind = "more_information"
)

var sectionKinds = map[string]Kind{
	"title": KindTitle, "status": KindStatus, "date": KindDate, "author": KindDeciders, "authors": KindDeciders, "deciders": KindDeciders, "decision makers": KindDeciders, "decision-makers": KindDeciders, "tags": KindTags,
	"governs": KindGoverns, "applies to": KindGoverns, "affects": KindGoverns, "scope of application": KindGoverns,
	"context": KindContext, "context and problem statement": KindContext, "context and problem": KindContext, "problem statement": KindContext,
	"problem": KindContext, "background": KindContext, "motivation": KindContext, "context and background": KindContext, "context and motivation": KindContext, "issue": KindContext, "why": KindContext,
	"decision drivers": KindDrivers, "drivers": KindDrivers, "forces": KindDrivers, "requirements": KindDrivers,
	"considered options": KindOptions, "options considered": KindOptions, "options": KindOptions, "alternatives": KindOptions, "alternatives considered": KindOptions,
	"considered alternatives": KindOptions, "rejected alternatives": KindOptions, "alternatives rejected": KindOptions, "rejected options": KindOptions,
	"rejected": KindOptions, "other options": KindOptions, "alternatives not chosen": KindOptions, "alternatives we considered": KindOptions, "positions": KindOptions,
	"pros and cons of the options": KindProsAndCons, "pros and cons": KindProsAndCons, "evaluation of options": KindProsAndCons,
	"decision": KindDecision, "decision outcome": KindDecision, "outcome": KindDecision, "solution": KindDecision, "our decision": KindDecision, "the decision": KindDecision, "decisions": KindDecision, "what": KindDecision, "how": KindDecision,
	"consequences": KindConsequences, "consequence": KindConsequences, "positive consequences": KindConsequences, "negative consequences": KindConsequences, "neutral consequences": KindConsequences,
	"implications": KindConsequences, "impact": KindConsequences, "cost": KindConsequences, "costs": KindConsequences, "trade-offs": KindConsequences, "tradeoffs": KindConsequences,
	"confirmation": KindConfirmation, "validation": KindConfirmation, "compliance": KindConfirmation,
	"more information": KindMore, "references": KindMore, "related": KindMore, "links": KindMore, "notes": KindMore, "see also": KindMore, "refs": KindMore,
	"related decisions": KindMore, "further reading": KindMore,
}

// kindOf returns the kind of a section by its title; "" if unknown. Text after a dash, a colon or a bracket is ignored:
// "Decision — Option B".
func kindOf(title string) Kind {
	t := strings.ToLower(headingText(title))
	t = strings.ReplaceAll(t, "&", "and")
	for _, end := range []string{" — ", " – ", " - ", ": ", " ("} {
		t, _, _ = strings.Cut(t, end)
	}
	return sectionKinds[strings.Join(strings.Fields(strings.TrimRight(t, ":.")), " ")]
}

// classify sets the kind of each heading. Within a section of a known kind, only some headings have a kind: the options
// of a decision are not sections of the record.
func classify(all []heading, top *heading) {
	var around []*heading // enclosing headings, outermost first
	for i := range all {
		h := &all[i]
		for len(around) > 0 && around[len(around)-1].level >= h.level {
			around = around[:len(around)-1]
		}
		if h != top { // the title keeps its kind
			h.kind = kindWithin(kindOf(h.title), h.level, around)
		}
		around = append(around, h)
	}
}

// kindWithin returns the kind of a heading within others: k or none.
func kindWithin(k Kind, level int, around []*heading) Kind {
	var parent Kind
	for _, h := range around { // at most five
		if h.kind != "" {
			parent = h.kind
		}
	}
	switch {
	case k == "" || parent == "":
		return k
	case level > 3:
		return ""
	case k == KindConsequences, k == KindConfirmation, k == KindProsAndCons && parent == KindOptions,
		k == KindOptions && parent == KindDecision, k == KindDrivers && parent == KindContext:
		return k
	}
	return ""
}
