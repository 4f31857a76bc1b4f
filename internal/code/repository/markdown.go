package repository

import (
	"slices"
	"strings"
	"unicode"

	"github.com/kenlayer/ken/internal/lazyregexp"
)

// cutMarkdown cuts Markdown by heading. A section that fits is one chunk. A longer one is cut between paragraphs,
// lists, tables and fences; each of these stays whole if it fits into a chunk. The parts of a longer fence or table
// each repeat its opening and closing line, or its head.
//
// status is the status in the document ("Superseded by …"). It is empty if there is none or if the document is in
// force.
func cutMarkdown(lines []line, lim limits) (_ []line, _ []piece, status string) {
	lines = wrapLines(lines, lim.line())
	front, body := frontMatter(lines)
	atoms := scanMarkdown(lines, body)
	root := []string(nil)
	titled := len(atoms) > 0 && atoms[0].kind == atomHeading && atoms[0].level == 1
	if t := front["title"]; t != "" && !titled {
		root = []string{clip(t, maxTitle)}
	}
	section := []atom{{span: span{0, body}, kind: atomText}}
	return lines, sections(lines, append(section, atoms...), root, lim), documentStatus(lines, front["status"])
}

// sections cuts a document by its headings, under root.
func sections(lines []line, atoms []atom, root []string, lim limits) []piece {
	var out []piece
	var section []atom
	path, levels := root, []int(nil)
	flush := func() {
		out = append(out, pack(lines, section, path, lim)...)
		section = section[:0]
	}
	for _, a := range atoms {
		if a.kind == atomHeading {
			flush()
			for len(levels) > 0 && levels[len(levels)-1] >= a.level {
				levels = levels[:len(levels)-1]
			}
			path = append(slices.Clone(path[:len(root)+len(levels)]), a.title)
			levels = append(levels, a.level)
		}
		section = append(section, a)
	}
	flush()
	return merge(lines, out, lim)
}

// cutReStructured cuts reStructuredText by heading. A heading is a line above a line of punctuation of at least the
// same length. Its level depends on the order in which the marks are first used, as the format requires:
// https://docutils.sourceforge.io/docs/ref/rst/restructuredtext.html#sections.
func cutReStructured(lines []line, lim limits) ([]line, []piece) {
	lines = wrapLines(lines, lim.line())
	var atoms []atom
	var marks []string // in the order of first use, as "=", or "==" with a line above
	for i := 0; i < len(lines); {
		if lines[i].blank() {
			i++
			continue
		}
		over, at := "", i
		if m := titleMark(lines[i]); m != "" && i+2 < len(lines) && titleMark(lines[i+2]) == m && !lines[i+1].blank() {
			over, at = m, i+1
		}
		if m := underline(lines, at); m != "" {
			level := slices.Index(marks, over+m)
			if level < 0 {
				level, marks = len(marks), append(marks, over+m)
			}
			atoms = append(atoms, atom{span: span{i, at + 2}, kind: atomHeading, level: level + 1, title: plainTitle(lines[at].trimmed())})
			i = at + 2
			continue
		}
		from := i // a paragraph, with the indented lines below it
		for i++; i < len(lines) && underline(lines, i) == "" && (!lines[i].blank() || i+1 < len(lines) && lines[i+1].indent > lines[from].indent); i++ {
		}
		atoms = append(atoms, atom{span: span{from, i}, kind: atomText})
	}
	return lines, sections(lines, atoms, nil, lim)
}

// underline returns the mark of the heading on line i; "" if the line is not a heading.
func underline(lines []line, i int) string {
	if i+1 >= len(lines) || lines[i].blank() || lines[i].indent > 0 && titleMark(lines[i]) != "" || lines[i+1].chars < len(strings.TrimRight(lines[i].text, " ")) {
		return ""
	}
	return titleMark(lines[i+1])
}

// titleMark returns the character of which a line consists if it can mark a heading; "" otherwise.
func titleMark(l line) string {
	t := strings.TrimRight(l.text, " \t")
	if len(t) < 3 || strings.Trim(t, t[:1]) != "" || !strings.ContainsAny(t[:1], "=-`:.'\"~^_*+#<>") {
		return ""
	}
	return t[:1]
}

// pack fills chunks with the atoms of one section.
func pack(lines []line, section []atom, path []string, lim limits) []piece {
	var out []piece
	var open span
	flush := func() {
		if open = open.trim(lines); !open.empty() {
			out = append(out, piece{span: open, path: path})
		}
		open = span{}
	}
	for _, a := range section {
		if a.span.trim(lines).empty() {
			continue
		}
		if !open.empty() && width(lines[open.from:a.to])-1 <= lim.max {
			open.to = a.to
			continue
		}
		if width(lines[a.from:a.to])-1 <= lim.max {
			flush()
			open = a.span
			continue
		}
		// The collected text, usually a heading, goes with the first part.
		if !open.empty() && width(lines[open.from:a.from]) > lim.lead() {
			flush()
		}
		before := open
		open = span{}
		out = append(out, a.split(lines, before, path, lim)...)
	}
	flush()
	return out
}

// split cuts an atom that does not fit into a chunk. before, which is short, is put in front of the first part.
func (a atom) split(lines []line, before span, path []string, lim limits) []piece {
	lead, tail := a.frame(lines, lim)
	first := lim.max - len(tail) - 1
	if !before.empty() {
		first -= width(lines[before.from:a.from])
	}
	rest := min(lim.rest(), lim.max-width([]line{newLine(0, lead)})-len(tail)-2)
	var out []piece
	for _, s := range cut(lines, a.span, first, rest) {
		out = append(out, piece{span: s, path: path, lead: lead, tail: tail})
	}
	out[0].lead, out[len(out)-1].tail = "", ""
	if !before.empty() {
		out[0].from = before.from
	}
	return out
}

// frame returns the text with which each further part of an atom begins and ends.
func (a atom) frame(lines []line, lim limits) (lead, tail string) {
	switch a.kind {
	case atomFence:
		lead = lines[a.from].text
		if trimmed := strings.TrimLeft(lead, " \t"); len(trimmed) > 0 {
			tail = lead[:len(lead)-len(trimmed)] + fenceMarker(trimmed)
		}
	case atomTable:
		if a.from+1 < a.to && tableRule(lines[a.from+1].trimmed()) {
			lead = lines[a.from].text + "\n" + lines[a.from+1].text
		}
	}
	if len(lead)+len(tail) > lim.lead() || len(tail) > maxTail {
		return "", ""
	}
	return lead, tail
}

// maxFrontMatter is the number of lines after which an opening rule without a closing one counts as a thematic break.
const maxFrontMatter = 200

// frontMatter reads the block of settings at the beginning of a document. It returns its top-level values and the index
// of the line after it. The block remains part of the document's text; only title and status are used.
func frontMatter(lines []line) (map[string]string, int) {
	if len(lines) == 0 {
		return nil, 0
	}
	rule := strings.TrimRight(lines[0].text, " \t")
	if rule != "---" && rule != "+++" {
		return nil, 0
	}
	fields := map[string]string{}
	for i := 1; i < min(len(lines), maxFrontMatter); i++ {
		text := strings.TrimRight(lines[i].text, " \t")
		if text == rule || rule == "---" && text == "..." {
			return fields, i + 1
		}
		key, value, ok := strings.Cut(text, map[string]string{"---": ":", "+++": "="}[rule])
		if ok && lines[i].indent == 0 {
			fields[strings.ToLower(strings.TrimSpace(key))] = strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return nil, 0
}

// statusWords maps the statuses of decision records to whether they are marked. A record in force needs no mark.
// The others are marked, so that nobody takes them for decisions in force.
var statusWords = map[string]bool{
	"proposed": true, "draft": true, "rejected": true, "withdrawn": true, "deprecated": true,
	"superseded": true, "obsolete": true, "archived": true, "abandoned": true, "replaced": true, "deferred": true,
	"accepted": false, "done": false, "active": false, "final": false, "approved": false, "implemented": false,
}

var (
	statusLine    = lazyregexp.New(`(?i)^[\s>*+-]*\**status\**\s*:\s*\**\s*(.+)$`)
	statusHeading = lazyregexp.New(`(?i)^#{1,6}\s+status\s*#*$`)
)

// statusLines is the number of lines at the top that are searched for a status.
const statusLines = 40

// documentStatus returns the status of a document if it is one on which nobody should rely. It is taken from the front
// matter, from the first line like "Status: …", or from the section with that name.
func documentStatus(lines []line, front string) string {
	if front != "" {
		return notInForce(front)
	}
	heading := false
	for i, l := range lines[:min(len(lines), statusLines)] {
		t := l.trimmed()
		switch {
		case heading && t != "" && !setextRule.MatchString(l.text):
			return notInForce(t)
		case statusHeading.MatchString(t), i+1 < len(lines) && strings.EqualFold(t, "status") && setextRule.MatchString(lines[i+1].text):
			heading = true
		default:
			if m := statusLine.FindStringSubmatch(t); m != nil {
				return notInForce(m[1])
			}
		}
	}
	return ""
}

// notInForce returns the first clause of a status, without markup, if its first word is a state that is not in force.
func notInForce(s string) string {
	s = strings.Trim(plainTitle(strings.ReplaceAll(s, "*", "")), " _")
	word, _, _ := strings.Cut(s, " ")
	word = strings.ToLower(strings.TrimRightFunc(word, func(r rune) bool { return !unicode.IsLetter(r) }))
	if !statusWords[word] {
		return ""
	}
	for _, end := range []string{". ", " — ", "; ", " (", ", "} {
		s, _, _ = strings.Cut(s, end)
	}
	return clip(strings.TrimRight(s, ".,;:"), maxStatus)
}

type atomKind int

const (
	atomText atomKind = iota
	atomHeading
	atomFence
	atomTable
	atomList
)

// atom is a part of a Markdown document that is kept together if possible.
type atom struct {
	span
	kind  atomKind
	level int    // of a heading, 1 to 6
	title string // of a heading, without markup
}

var (
	atxHeading = lazyregexp.New(`^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$`)
	setextRule = lazyregexp.New(`^ {0,3}(=+|-+)[ \t]*$`)
	listItem   = lazyregexp.New(`^[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)`)
	mdLink     = lazyregexp.New(`!?\[([^\]]*)\]\([^)]*\)`)
)

// scanMarkdown finds the atoms of lines[from:]. There are only blank lines between them.
func scanMarkdown(lines []line, from int) []atom {
	var out []atom
	for i := from; i < len(lines); {
		a := nextAtom(lines, i, len(out) > 0 && out[len(out)-1].kind == atomList)
		if !lines[i].blank() {
			out = append(out, a)
		}
		i = a.to
	}
	return out
}

// nextAtom reads the atom that begins at line i. After a list, a fence may have any indentation, because it can belong
// to a list item.
func nextAtom(lines []line, i int, afterList bool) atom {
	l := lines[i]
	a := atom{span: span{i, i + 1}}
	switch {
	case l.blank():
	case opensFence(l, afterList):
		a.kind, a.to = atomFence, endOfFence(lines, i)
	case strings.HasPrefix(l.trimmed(), "<!--"):
		for a.to = i; a.to < len(lines); {
			a.to++
			if strings.Contains(lines[a.to-1].text, "-->") {
				break
			}
		}
	case headingLevel(l) > 0:
		m := atxHeading.FindStringSubmatch(l.text)
		a.kind, a.level, a.title = atomHeading, len(m[1]), plainTitle(m[2])
		for a.to < len(lines) && lines[a.to].no == l.no { // a wrapped line
			a.to++
		}
	case listItem.MatchString(l.text) && !thematicBreak(l.trimmed()):
		a.kind, a.to = atomList, endOfList(lines, i)
	case strings.HasPrefix(l.trimmed(), "|"), i+1 < len(lines) && strings.Contains(l.text, "|") && tableRule(lines[i+1].trimmed()):
		a.kind = atomTable
		for a.to < len(lines) && strings.Contains(lines[a.to].text, "|") && headingLevel(lines[a.to]) == 0 {
			a.to++
		}
	default:
		return paragraph(lines, i)
	}
	return a
}

// paragraph reads lines up to a blank one or the start of another kind of atom. An underline turns the lines into a
// heading.
func paragraph(lines []line, i int) atom {
	a := atom{span: span{i, i + 1}}
	quote := lines[i].indent > 3 || strings.HasPrefix(lines[i].trimmed(), ">") || thematicBreak(lines[i].trimmed())
	for ; a.to < len(lines); a.to++ {
		l := lines[a.to]
		if m := setextRule.FindStringSubmatch(l.text); m != nil && !quote {
			a.kind, a.level, a.title = atomHeading, 1, plainTitle(render(lines[i:a.to]))
			if m[1][0] == '-' {
				a.level = 2
			}
			a.to++
			return a
		}
		if l.blank() || opensFence(l, false) || headingLevel(l) > 0 || listItem.MatchString(l.text) && l.no != lines[i].no {
			break
		}
	}
	return a
}

// endOfList returns the line after a list: its items, indented lines, and lazy continuation lines. A blank line ends
// the list unless an item or an indented line follows.
func endOfList(lines []line, i int) int {
	to := i + 1
	for ; to < len(lines); to++ {
		l := lines[to]
		switch {
		case opensFence(l, true):
			if l.indent < 2 && l.indent <= lines[i].indent {
				return to
			}
			to = endOfFence(lines, to) - 1
		case headingLevel(l) > 0:
			return to
		case l.blank():
			next := to
			for next < len(lines) && lines[next].blank() {
				next++
			}
			if next == len(lines) || lines[next].indent <= lines[i].indent && !listItem.MatchString(lines[next].text) {
				return to
			}
			to = next - 1
		}
	}
	return to
}

func headingLevel(l line) int {
	if l.indent > 3 || !strings.HasPrefix(l.trimmed(), "#") {
		return 0
	}
	if m := atxHeading.FindStringSubmatch(l.text); m != nil {
		return len(m[1])
	}
	return 0
}

func opensFence(l line, anyIndent bool) bool {
	if l.indent > 3 && !anyIndent {
		return false
	}
	s := l.trimmed()
	m := fenceMarker(s)
	return m != "" && (m[0] == '~' || !strings.Contains(s[len(m):], "`"))
}

// fenceMarker returns the run of three or more backticks or tildes at the beginning of s; "" for none.
func fenceMarker(s string) string {
	if s == "" || s[0] != '`' && s[0] != '~' {
		return ""
	}
	n := len(s) - len(strings.TrimLeft(s, s[:1]))
	if n < 3 {
		return ""
	}
	return s[:n]
}

func endOfFence(lines []line, i int) int {
	open := fenceMarker(lines[i].trimmed())
	for k := i + 1; k < len(lines); k++ {
		s := lines[k].trimmed()
		if m := fenceMarker(s); m == s && len(m) >= len(open) && m[0] == open[0] {
			return k + 1
		}
	}
	return len(lines)
}

func tableRule(s string) bool {
	return strings.Contains(s, "-") && strings.Contains(s, "|") && strings.Trim(s, "|-: \t") == ""
}

func thematicBreak(s string) bool {
	bare := strings.Join(strings.Fields(s), "")
	return len(bare) >= 3 && strings.ContainsRune("-*_", rune(bare[0])) && strings.Trim(bare, bare[:1]) == ""
}

// plainTitle removes links, emphasis and code marks from a heading.
func plainTitle(s string) string {
	s = mdLink.ReplaceAllString(s, "$1")
	return clip(strings.NewReplacer("**", "", "__", "", "`", "").Replace(s), maxTitle)
}
