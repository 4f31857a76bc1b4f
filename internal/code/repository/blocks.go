package repository

import (
	"path"
	"slices"
	"strings"
	"unicode"
)

// cutBlocks cuts any text into blocks: what stands between blank lines, with
// everything that is indented under it. Small neighbours share a chunk up to
// half the limit; a block that is too long is cut where its indentation is
// least, and each further part starts with the lines that it stands under.
//
// In prose, long lines are folded. Elsewhere a line that no chunk could hold is
// data, and is left out.
func cutBlocks(lines []line, prose bool, lim limits) ([]line, []piece) {
	var out []piece
	if prose {
		lines = fold(lines, lim.line())
	}
	for _, run := range runs(lines, prose, lim.line()) {
		out = append(out, blocksOf(lines, run, prose, lim)...)
	}
	return lines, merge(lines, out, lim)
}

// runs is the spans between lines that are too long.
func runs(lines []line, prose bool, limit int) []span {
	var out []span
	from := 0
	for i, l := range lines {
		if !prose && l.chars > limit {
			out = append(out, span{from, i})
			from = i + 1
		}
	}
	return append(out, span{from, len(lines)})
}

func blocksOf(lines []line, run span, prose bool, lim limits) []piece {
	var out []piece
	var open span // small blocks gathered so far
	flush := func() {
		if open = open.trim(lines); !open.empty() {
			out = append(out, piece{span: open, path: blockTitle(lines, open, prose)})
		}
		open = span{}
	}
	for _, u := range units(lines, run) {
		if !open.empty() && width(lines[open.from:u.to])-1 <= lim.max/2 {
			open.to = u.to
			continue
		}
		flush()
		if width(lines[u.from:u.to])-1 <= lim.max {
			open = u
			continue
		}
		for i, s := range cut(lines, u, lim.max, lim.rest()) {
			p := piece{span: s, path: blockTitle(lines, s, prose)}
			if i > 0 && !prose {
				if lead, path := enclosing(lines, u, s.from, lim.lead()); lead != "" {
					p.lead, p.path = lead, path
				}
			}
			out = append(out, p)
		}
	}
	flush()
	return out
}

// units divides a run at blank lines, except where what follows is indented
// under, or closes, the block above.
func units(lines []line, run span) []span {
	var out []span
	run = run.trim(lines)
	base := -1
	for i, from := run.from, run.from; i < run.to; i++ {
		l := lines[i]
		if l.blank() {
			continue
		}
		if base < 0 || l.indent < base {
			base = l.indent
		}
		next := i + 1
		for next < run.to && lines[next].blank() {
			next++
		}
		if next == run.to || next > i+1 && lines[next].indent <= base && !closes(lines[next].trimmed()) {
			out = append(out, span{from, i + 1})
			from, base = next, -1
		}
	}
	return out
}

// enclosing returns the lines of the unit that line at stands under, outermost
// first, as far as they fit into limit characters, and as a path.
func enclosing(lines []line, unit span, at, limit int) (lead string, path []string) {
	var above []line
	indent := lines[at].indent
	for i := at - 1; i >= unit.from && indent > 0; i-- {
		if l := lines[i]; !l.blank() && l.indent < indent {
			if indent = l.indent; named(l.text) && !comment(l.trimmed()) && !closes(l.trimmed()) {
				above = append(above, l)
			}
		}
	}
	slices.Reverse(above)
	for i, l := range above {
		if limit -= l.chars; limit < 0 || i == maxEnclosing {
			break
		}
		lead += strings.TrimRight(l.text, " \t") + "\n"
		path = append(path, clip(l.text, maxTitle))
	}
	return strings.TrimSuffix(lead, "\n"), path
}

// maxEnclosing is how many lines a further part of a block may start with.
const maxEnclosing = 3

func named(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}

// blockTitle is the first line of a block that says something, and nothing in
// prose, where it would only repeat the text.
func blockTitle(lines []line, s span, prose bool) []string {
	if prose {
		return nil
	}
	for _, l := range lines[s.from:s.to] {
		if t := l.trimmed(); named(t) && !comment(t) {
			return []string{clip(t, maxTitle)}
		}
	}
	return nil
}

func markdownFile(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown", ".mdx":
		return true
	}
	return false
}

// proseFile reports whether a file holds sentences rather than code or settings.
func proseFile(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".txt", ".rst", ".adoc", ".asciidoc", ".org", ".tex", ".textile":
		return true
	case "":
		switch strings.ToUpper(path.Base(name)) {
		case "README", "LICENSE", "LICENCE", "COPYING", "NOTICE", "AUTHORS", "CONTRIBUTORS", "CHANGELOG", "CHANGES", "NEWS", "TODO", "INSTALL":
			return true
		}
	}
	return false
}
