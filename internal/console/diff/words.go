package diff

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Op is what became of a piece of text.
type Op string

// What may become of a piece.
const (
	Same Op = "same"
	Gone Op = "gone" // it is in the old text alone
	New  Op = "new"  // it is in the new text alone
)

// Piece is a run of a text with the same fate.
type Piece struct {
	Op   Op
	Text string
}

// Words compares two texts. Between two pieces that are the same there is at most one
// that is gone and, behind it, at most one that is new. It is nil for two empty texts.
// It takes time and memory in proportion to the texts and, up to some megabytes, to the
// square of the number of changes.
func Words(before, after string) []Piece {
	a, b := words(before), words(after)
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var w writer
	for _, s := range a[:head] {
		w.add(Same, s)
	}
	w.between(a[head:len(a)-tail], b[head:len(b)-tail])
	for _, s := range a[len(a)-tail:] {
		w.add(Same, s)
	}
	return w.end()
}

// words cuts a text into words, runs of white space, and single characters of any
// other kind. A byte that is no text is one of those.
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

// writer puts pieces together as they are read best.
type writer struct {
	out       []Piece
	gone, new strings.Builder // of the change at which it is
	blank     string          // white space that is the same, behind a change: it may lie within it
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

// flush ends a change.
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

func (w *writer) end() []Piece {
	w.flush()
	return w.out
}
