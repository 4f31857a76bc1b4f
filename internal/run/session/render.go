package session

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/analysis"
)

// Text renders the checkpoint for a model, in at most max characters (Unicode code
// points). When they are few, the structure comes before what was said: the entities
// in focus, their aspects and the constraints, then the goal, open questions, files,
// what else was named, and the last step; what does not fit is skipped, and
// the next is tried. The goal and the last step are shortened rather than skipped.
// "" means that not even a line fits, or that there is nothing to say. The text is
// data from a conversation: it has to pass guardrail.Neutralize before it stands in
// a block.
func (c Checkpoint) Text(max int) string {
	w := &writer{room: max}
	w.row("Focus: ", c.Focal)
	w.row("Aspects: ", c.Aspects)
	w.list("Constraints:", c.Constraints)
	w.line("Goal: ", c.Goal)
	w.list("Open questions:", c.Open)
	w.row("Files: ", c.Files)
	w.row("Named: ", others(c.Entities, c.Focal))
	w.line("Last step: ", c.LastStep)
	return strings.TrimSuffix(w.b.String(), "\n")
}

// others are the names that are not among those in focus.
func others(names, focal []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(s string) bool { return slices.Contains(focal, analysis.Entity(s)) })
}

// writer writes lines while there is room, in characters. The last line's break
// does not count, so there is always room for one more.
type writer struct {
	b    strings.Builder
	room int
}

// add writes a line if it fits.
func (w *writer) add(s string) bool {
	n := utf8.RuneCountInString(s)
	if n > w.room {
		return false
	}
	w.b.WriteString(s)
	w.b.WriteByte('\n')
	w.room -= n + 1
	return true
}

// leastPoint is how many characters of a string are worth having.
const leastPoint = 20

// line writes a string, shortened to the room that there is.
func (w *writer) line(label, s string) {
	if s == "" {
		return
	}
	room := w.room - len(label)
	if n := utf8.RuneCountInString(s); n > room {
		if room < leastPoint {
			return
		}
		s = clip(s, room)
	}
	w.add(label + s)
}

// list writes each string on a line of its own, under a label.
func (w *writer) list(label string, items []string) {
	for _, s := range items {
		if s = "- " + s; label != "" {
			s = label + "\n" + s
		}
		if w.add(s) {
			label = ""
		}
	}
}

// row writes strings on one line, as many as fit.
func (w *writer) row(label string, items []string) {
	line, n := "", 0
	for _, s := range items {
		more := label + s
		if line != "" {
			more = ", " + s
		}
		if k := utf8.RuneCountInString(more); n+k <= w.room {
			line += more
			n += k
		}
	}
	if line != "" {
		w.add(line)
	}
}
