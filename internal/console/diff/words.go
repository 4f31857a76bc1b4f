package diff

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Op says whether a piece of text is unchanged, removed or added.
type Op string

// The operations.
const (
	Same Op = "same"
	Gone Op = "gone" // only in the old text
	New  Op = "new"  // only in the new text
)

// Piece is a run of text with the same Op.
type Piece struct {
	Op   Op
	Text string
}

// Words compares two texts. Between two unchanged pieces there is at most one removed
// piece, followed by at most one added piece. It returns nil for two empty texts. Time
// and memory grow linearly with the texts and, up to some megabytes, with the square of
// the number of changes.
func Words(before, after string) []Piece {
	var w writer
	for _, p := range Lists(words(before), words(after)) {
		w.add(p.Op, p.Text)
	}
	w.flush()
	return w.out
}

// Lists compares two lists of words or lines, and returns a piece for each of them. Its
// costs are those of Words.
func Lists(a, b []string) (out []Piece) {
	add := func(op Op, list []string) {
		for _, s := range list {
			out = append(out, Piece{op, s})
		}
	}
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	add(Same, a[:head])
	midA, midB := a[head:len(a)-tail], b[head:len(b)-tail]
	if trace := search(midA, midB); trace != nil {
		out = append(out, backtrack(trace, midA, midB)...)
	} else {
		add(Gone, midA)
		add(New, midB)
	}
	add(Same, a[len(a)-tail:])
	return out
}

// words splits a text into words, runs of white space, and single other characters. An
// invalid byte is a single character.
func words(s string) (out []string) {
	for from := 0; from < len(s); {
		r, size := utf8.DecodeRuneInString(s[from:])
		to, of := from+size, class(r)
		for of != other && to < len(s) {
			r, size := utf8.DecodeRuneInString(s[to:])
			if class(r) != of {
				break
			}
			to += size
		}
		out = append(out, s[from:to])
		from = to
	}
	return out
}

const (
	other = iota
	word
	space
)

func class(r rune) int {
	switch {
	case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r), r == '_':
		return word
	case unicode.IsSpace(r):
		return space
	}
	return other
}

// writer joins pieces so that they are easy to read.
type writer struct {
	out       []Piece
	gone, new strings.Builder // text of the current change
	blank     string          // unchanged white space after a change, which may become part of it
}

func (w *writer) add(op Op, s string) {
	switch changing := w.gone.Len()+w.new.Len() > 0; {
	case op == Same && changing && w.blank == "" && strings.TrimSpace(s) == "":
		w.blank = s
	case op == Same:
		w.flush()
		w.same(s)
	default:
		w.gone.WriteString(w.blank)
		w.new.WriteString(w.blank)
		w.blank = ""
		if op == Gone {
			w.gone.WriteString(s)
		} else {
			w.new.WriteString(s)
		}
	}
}

// flush ends the current change.
func (w *writer) flush() {
	if w.gone.Len() > 0 {
		w.out = append(w.out, Piece{Gone, w.gone.String()})
	}
	if w.new.Len() > 0 {
		w.out = append(w.out, Piece{New, w.new.String()})
	}
	w.gone.Reset()
	w.new.Reset()
	if w.blank != "" {
		w.same(w.blank)
		w.blank = ""
	}
}

func (w *writer) same(s string) {
	if last := len(w.out) - 1; last >= 0 && w.out[last].Op == Same {
		w.out[last].Text += s
		return
	}
	w.out = append(w.out, Piece{Same, s})
}

// maxEdits is the largest number of removed and added words or lines. With more of them, two
// texts have too little in common for a comparison to be useful. The search keeps a row
// for each edit, so this also limits its memory, to eight megabytes.
const maxEdits = 1000

// search finds the fewest edits that turn a into b: Myers, "An O(ND) Difference Algorithm
// and Its Variations" (1986). For each number of edits it returns how far along a one can
// get on each diagonal; the last row reaches both ends. It returns nil if that takes more
// than maxEdits.
func search(a, b []string) (trace [][]int) {
	n, m := len(a), len(b)
	row := []int{0, 0, 0} // diagonals -1, 0 and 1
	for d := 0; d <= min(n+m, maxEdits); d++ {
		next := make([]int, 2*d+3) // diagonals -d-1 .. d+1
		for k := -d; k <= d; k += 2 {
			x := 0
			switch {
			case d == 0:
			case k == -d || k != d && at(row, k-1) < at(row, k+1):
				x = at(row, k+1)
			default:
				x = at(row, k-1) + 1
			}
			for y := x - k; x < n && y < m && a[x] == b[y]; y++ {
				x++
			}
			next[k+d+1] = x
			if k == n-m && x >= n {
				return append(trace, next)
			}
		}
		trace = append(trace, next)
		row = next
	}
	return nil
}

// at returns the value of a row on diagonal k.
func at(row []int, k int) int { return row[k+len(row)/2] }

// backtrack follows the trace back from both ends to the beginning, and returns the pieces
// in forward order.
func backtrack(trace [][]int, a, b []string) (out []Piece) {
	x, y := len(a), len(b)
	alike := func(toX int) {
		for ; x > toX; x, y = x-1, y-1 {
			out = append(out, Piece{Same, a[x-1]})
		}
	}
	for d := len(trace) - 1; d > 0; d-- {
		k, row := x-y, trace[d-1]
		if k == -d || k != d && at(row, k-1) < at(row, k+1) {
			alike(at(row, k+1))
			y--
			out = append(out, Piece{New, b[y]})
		} else {
			alike(at(row, k-1) + 1)
			x--
			out = append(out, Piece{Gone, a[x]})
		}
	}
	alike(0)
	slices.Reverse(out)
	return out
}
