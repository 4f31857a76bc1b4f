package repository

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// piece is a chunk in the making: lines[span] of a source.
type piece struct {
	span
	path  []string // headings inside the file, outermost first
	lead  string   // context repeated from above, on lines of its own
	tail  string   // what closes the lead, such as the end of a fence
	names []string // declared names
}

func (p piece) text(lines []line) string {
	text := render(lines[p.from:p.to])
	if p.lead != "" {
		text = p.lead + "\n" + text
	}
	if p.tail != "" {
		text += "\n" + p.tail
	}
	return text
}

// parts wraps spans of one thing as pieces under one path.
func parts(spans []span, path []string) []piece {
	out := make([]piece, len(spans))
	for i, s := range spans {
		out[i] = piece{span: s, path: path}
	}
	return out
}

// merge joins a piece that is shorter than the minimum with the next piece, or
// else with the one before it, when both have the same parent or one is the
// other's, and the two fit into one chunk.
func merge(lines []line, pieces []piece, lim limits) []piece {
	out := make([]piece, 0, len(pieces))
	for i, p := range pieces {
		if short(lines, p, lim) {
			if i+1 < len(pieces) {
				if joined, ok := join(lines, p, pieces[i+1], lim); ok {
					pieces[i+1] = joined
					continue
				}
			}
			if n := len(out); n > 0 {
				if joined, ok := join(lines, out[n-1], p, lim); ok {
					out[n-1] = joined
					continue
				}
			}
		}
		out = append(out, p)
	}
	return out
}

func short(lines []line, p piece, lim limits) bool {
	return p.lead == "" && p.tail == "" && utf8.RuneCountInString(render(lines[p.from:p.to])) < lim.min
}

func join(lines []line, a, b piece, lim limits) (piece, bool) {
	both := span{a.from, b.to}
	if a.lead+a.tail+b.lead+b.tail != "" || width(lines[both.from:both.to])-1 > lim.max ||
		!(span{a.to, b.from}).trim(lines).empty() {
		return piece{}, false
	}
	path, ok := joinPaths(a.path, b.path)
	return piece{span: both, path: path, names: append(slices.Clip(a.names), b.names...)}, ok
}

// joinPaths names what two neighbours are together: the deeper of a parent and
// its child, or their parent with both titles.
func joinPaths(a, b []string) ([]string, bool) {
	switch {
	case len(b) >= len(a) && slices.Equal(a, b[:len(a)]):
		return b, true
	case len(a) > len(b) && slices.Equal(b, a[:len(b)]):
		return a, true
	case len(a) != len(b) || !slices.Equal(a[:len(a)-1], b[:len(b)-1]):
		return nil, false
	}
	title := a[len(a)-1]
	switch strings.Count(title, " · ") {
	case 0, 1:
		title += " · " + b[len(b)-1]
	case 2:
		title += " · …"
	}
	return append(slices.Clone(a[:len(a)-1]), title), true
}
