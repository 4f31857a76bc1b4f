package repository

import (
	"strings"

	"github.com/kenlayer/ken/internal/lazyregexp"
)

type atomKind int

const (
	atomText atomKind = iota
	atomHeading
	atomFence
	atomTable
	atomList
)

// atom is a part of a Markdown document that is better not cut.
type atom struct {
	span
	kind  atomKind
	level int    // of a heading, 1..6
	title string // of a heading, without markup
}

var (
	atxHeading = lazyregexp.New(`^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$`)
	setextRule = lazyregexp.New(`^ {0,3}(=+|-+)[ \t]*$`)
	listItem   = lazyregexp.New(`^[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)`)
	mdLink     = lazyregexp.New(`!?\[([^\]]*)\]\([^)]*\)`)
)

// scanMarkdown finds the atoms of lines[from:], which are contiguous but for
// blank lines between them.
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

// nextAtom reads the atom that starts at line i. A fence may be indented by any
// amount after a list, whose item it then belongs to.
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
		for a.to < len(lines) && lines[a.to].no == l.no { // a folded line
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

// paragraph reads lines up to a blank one or the start of something else, or up
// to the rule that makes them a heading.
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

// endOfList reads items, what is indented under them, and their lazy lines; a
// blank line ends the list unless an item or an indented line follows.
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

// fenceMarker returns the run of three or more backticks or tildes that s starts
// with.
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

// plainTitle drops links, emphasis and code marks from a heading.
func plainTitle(s string) string {
	s = mdLink.ReplaceAllString(s, "$1")
	return clip(strings.NewReplacer("**", "", "__", "", "`", "").Replace(s), maxTitle)
}
