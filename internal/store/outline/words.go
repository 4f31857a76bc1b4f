package outline

import "strings"

// words numbers strings, and gives the number of one that nobody has any more to the
// next.
type words struct {
	number map[string]uint32
	text   []string // by number
	uses   []uint32 // by number
	free   []uint32
}

func newWords() words { return words{number: map[string]uint32{}} }

// take counts one more use of a string, and returns its number.
func (w *words) take(s string) uint32 {
	n, ok := w.number[s]
	if !ok {
		if last := len(w.free) - 1; last >= 0 {
			n, w.free = w.free[last], w.free[:last]
		} else {
			n = uint32(len(w.text))
			w.text, w.uses = append(w.text, ""), append(w.uses, 0)
		}
		s = strings.Clone(s) // it may be a part of something long
		w.text[n], w.number[s] = s, n
	}
	w.uses[n]++
	return n
}

// drop takes one use back, and the string with the last.
func (w *words) drop(n uint32) {
	if w.uses[n]--; w.uses[n] == 0 {
		delete(w.number, w.text[n])
		w.text[n] = ""
		w.free = append(w.free, n)
	}
}
