package repository

import (
	"slices"
	"strings"
)

// cutMarkdown cuts Markdown by heading. A section that fits is one chunk; a long
// one is cut between paragraphs, lists, tables and fences, each of which stays
// whole if a chunk can hold it. A fence or a table that is longer is repeated
// around each of its parts: its opening and closing line, or its head.
//
// status is what the document says about itself ("Superseded by …"), and empty
// when it says nothing or that it is in force.
func cutMarkdown(lines []line, lim limits) (_ []line, _ []piece, status string) {
	lines = fold(lines, lim.line())
	front, body := frontMatter(lines)
	atoms := scanMarkdown(lines, body)
	root := []string(nil)
	if t := front["title"]; t != "" && !startsWithTitle(atoms) {
		root = []string{clip(t, maxTitle)}
	}
	var out []piece
	path, levels := root, []int(nil)
	section := []atom{{span: span{0, body}, kind: atomText}}
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
	return lines, merge(lines, out, lim), documentStatus(lines, front["status"])
}

func startsWithTitle(atoms []atom) bool {
	return len(atoms) > 0 && atoms[0].kind == atomHeading && atoms[0].level == 1
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
		// What stands open, a heading mostly, goes with the first part.
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

// split cuts an atom that no chunk can hold; before is put in front of the first
// part and is short.
func (a atom) split(lines []line, before span, path []string, lim limits) []piece {
	lead, tail := a.frame(lines, lim)
	inner, first := a.span, lim.max-len(tail)-1
	if !before.empty() {
		first -= width(lines[before.from:a.from])
	}
	rest := min(lim.rest(), lim.max-width([]line{newLine(0, lead)})-len(tail)-2)
	spans := cut(lines, inner, first, rest)
	out := parts(spans, path)
	for i := range out {
		if i > 0 {
			out[i].lead = lead
		}
		if i < len(out)-1 {
			out[i].tail = tail
		}
	}
	if !before.empty() {
		out[0].from = before.from
	}
	return out
}

// frame is what each further part of an atom starts and ends with.
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
