package intent

import (
	"cmp"
	"slices"
)

// maxSignal is the longest signal, in bytes: what is longer is a blob that no
// index has as a term.
const maxSignal = 400

// ranking collects candidates for one list of signals. It holds at most 64:
// what comes later in a text must have been seen before to count.
type ranking struct {
	items []candidate
}

type candidate struct {
	text  string
	score int
}

// add counts text with a score. Seen again, the better score stays, and each
// of the first few repeats is worth one.
func (r *ranking) add(text string, score int) {
	if text == "" || len(text) > maxSignal {
		return
	}
	for i := range r.items {
		if c := &r.items[i]; c.text == text {
			c.score = max(c.score+1, score)
			return
		}
	}
	if r.items == nil {
		r.items = make([]candidate, 0, 8)
	}
	if len(r.items) < 64 {
		r.items = append(r.items, candidate{text, score})
	}
}

// top returns the n best, equals in order of first appearance.
func (r *ranking) top(n int) []string {
	slices.SortStableFunc(r.items, func(a, b candidate) int { return cmp.Compare(b.score, a.score) })
	out := make([]string, 0, min(n, len(r.items)))
	for _, c := range r.items[:min(n, len(r.items))] {
		out = append(out, c.text)
	}
	return out
}
