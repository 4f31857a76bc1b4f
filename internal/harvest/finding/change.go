package finding

import (
	"slices"
	"strconv"
	"strings"

	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/harvest/finding/patch"
)

// edited is what a session did to one file.
type edited struct {
	calls   int
	symbols []string
	lines   []line // the last ones
	last    change
}

// line is a line that went and the one that came in its place.
type line struct{ gone, came string }

const (
	maxSymbols = 6
	maxLines   = 2
)

// add takes in one more change. before is the file as it was last seen, as far as
// that is known.
func (e *edited) add(c change, before string) {
	e.calls++
	e.last = c
	if c.full {
		e.symbols, e.lines = nil, nil
		return
	}
	e.differs(difference(c.old, c.new))
	if s := enclosing(before, c.old); s != "" {
		e.symbol(s)
	}
	old := analysis.Definitions(c.old)
	for _, s := range append(analysis.Definitions(c.new), old...) {
		e.symbol(s)
	}
	for _, at := range c.context {
		for _, s := range analysis.Definitions(at) {
			e.symbol(s)
		}
	}
}

// differs keeps a line, unless it takes back the one before.
func (e *edited) differs(l line) {
	if l == (line{}) {
		return
	}
	if n := len(e.lines); n > 0 && e.lines[n-1] == (line{l.came, l.gone}) {
		e.lines = e.lines[:n-1]
		return
	}
	if e.lines = append(e.lines, l); len(e.lines) > maxLines {
		e.lines = e.lines[1:]
	}
}

// enclosing returns what the passage of a file is part of: the last definition
// before it.
func enclosing(text, passage string) string {
	passage = strings.TrimRight(passage, "\n")
	i := strings.Index(text, passage)
	if passage == "" || i < 0 {
		return ""
	}
	for before := text[:i]; before != ""; {
		cut := strings.LastIndexByte(strings.TrimRight(before, "\n"), '\n')
		if defs := analysis.Definitions(before[cut+1:]); len(defs) > 0 {
			return defs[0]
		}
		before = before[:cut+1]
	}
	return ""
}

func (e *edited) symbol(s string) {
	if len(e.symbols) < maxSymbols && !slices.Contains(e.symbols, s) {
		e.symbols = append(e.symbols, s)
	}
}

// text says what was done to the file, "" when there is nothing to tell.
func (e *edited) text(name string) string {
	c := e.last
	switch {
	case c.op == patch.Delete:
		return name + " was deleted"
	case c.to != "" && c.old == "" && c.new == "":
		return name + " was moved to " + c.to
	case c.full:
		what := describe(name, c.new)
		if what == "" {
			n := strings.Count(strings.TrimSpace(c.new), "\n") + 1
			what = strconv.Itoa(n) + " lines"
		}
		return name + " was written: " + what
	}
	var parts []string
	if len(e.symbols) > 0 {
		parts = append(parts, "changed "+strings.Join(e.symbols, ", "))
	}
	for _, l := range e.lines {
		parts = append(parts, l.text())
	}
	if c.to != "" {
		parts = append(parts, "moved to "+c.to)
	}
	if len(parts) == 0 {
		return ""
	}
	times := ""
	if e.calls > 1 {
		times = " (" + strconv.Itoa(e.calls) + " edits)"
	}
	return name + times + ": " + strings.Join(parts, "; ")
}

// difference returns the first line that goes and the first that comes.
func difference(old, next string) line {
	a, b := lines(old), lines(next)
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	return line{telling(a, b), telling(b, a)}
}

func (l line) text() string {
	switch {
	case l.gone == "":
		return "added `" + l.came + "`"
	case l.came == "":
		return "removed `" + l.gone + "`"
	}
	return "`" + l.gone + "` became `" + l.came + "`"
}

func lines(s string) []string {
	var out []string
	for l := range strings.Lines(s) {
		if l = oneLine(l); l != "" {
			out = append(out, l)
		}
	}
	return out
}

// telling returns the first line of a that b lacks and that says something.
func telling(a, b []string) string {
	for _, l := range a {
		if len(strings.Trim(l, "{}()[];,<>/*#-= ")) >= 4 && !slices.Contains(b, l) {
			return strings.ReplaceAll(clip(l, 100), "`", "'")
		}
	}
	return ""
}
