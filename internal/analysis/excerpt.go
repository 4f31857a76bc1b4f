package analysis

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// Parameters of Excerpt.
const (
	excerptReach  = 5   // lines on each side whose terms count for a line
	excerptBefore = 3   // lines shown before a chosen one
	excerptAfter  = 5   // lines shown after a chosen one
	excerptLeads  = 12  // maximum number of lines of a leading comment
	excerptHeader = 6   // lines of a signature with the beginning of its docstring
	excerptDoc    = 0.2 // share of a term's score in documentation: the code is what is asked for
	excerptGap    = "…"
)

// Excerpt returns text if it has at most most characters. Otherwise it returns the lines that
// are most relevant for terms, which are as returned by Terms: the first lines, which name
// the text, and lines with the rarest terms, each with a few lines around it. A line with an
// ellipsis replaces lines that are left out.
func Excerpt(text string, terms []string, most int) string {
	if len(text) <= most || utf8.RuneCountInString(text) <= most {
		return text
	}
	e := newExcerpt(text, terms, most)
	if e == nil {
		return text
	}
	e.head()
	for i := e.best(); i >= 0; i = e.best() {
		e.worth[i] = 0
		e.window(i)
	}
	for i := range e.lines { // the remaining room extends what is shown
		if i > 0 && e.shown[i-1] && !e.show(i) {
			break
		}
	}
	return e.String()
}

type excerpt struct {
	lines []string
	chars []int
	worth []float64 // by line: score of its terms; 0 once it was tried
	doc   []bool    // by line: it is within a block comment or a docstring
	shown []bool
	room  int
}

// newExcerpt returns nil for a text without lines to choose from.
func newExcerpt(text string, terms []string, most int) *excerpt {
	e := &excerpt{lines: strings.Split(text, "\n"), room: most}
	if len(e.lines) < 3 {
		return nil
	}
	n := len(e.lines)
	e.chars, e.worth, e.shown = make([]int, n), make([]float64, n), make([]bool, n)
	asked := make(map[string]int, len(terms)) // number of lines with the term
	for _, t := range terms {
		asked[t] = 0
	}
	has := make([][]string, n)
	for i, l := range e.lines {
		e.chars[i] = utf8.RuneCountInString(l) + 1
		for _, t := range Terms(l) {
			if _, ok := asked[t]; ok && !slices.Contains(has[i], t) {
				has[i] = append(has[i], t)
				asked[t]++
			}
		}
	}
	e.doc = documentation(e.lines)
	for i := range has {
		for _, t := range has[i] {
			e.worth[i] += 1 / math.Sqrt(float64(asked[t]))
		}
		if e.doc[i] {
			e.worth[i] *= excerptDoc
		}
	}
	return e
}

// documentation reports for each line whether it is within a block comment or a docstring.
func documentation(lines []string) []bool {
	out := make([]bool, len(lines))
	end := ""    // of the comment or string that is open
	doc := false // it is no string in an expression
	for i, l := range lines {
		t := strings.TrimSpace(l)
		if end == "" {
			for _, mark := range []string{"/*", `"""`, "'''"} {
				before, rest, ok := strings.Cut(t, mark)
				if prefix := strings.Trim(before, "rRuU") == ""; ok && (prefix || mark != "/*") {
					t, end, doc = rest, mark, prefix
					break
				}
			}
			if end == "" {
				continue
			}
			if end == "/*" {
				end = "*/"
			}
		}
		out[i] = doc
		if strings.Contains(t, end) {
			end = ""
		}
	}
	return out
}

// head shows the leading comment, the first line after it, and the signature up to the first line of a docstring.
func (e *excerpt) head() {
	first := 0
	for first < len(e.lines)-1 && isLeadingComment(e.lines[first], first > 0 && strings.HasPrefix(strings.TrimSpace(e.lines[0]), "/*")) {
		first++
	}
	e.show(first)
	for i := range min(first, excerptLeads) {
		if e.room < sum(e.chars)/4 && i > 2 || !e.show(i) {
			break
		}
	}
	for i := first + 1; i < min(first+excerptHeader, len(e.lines)); i++ {
		if e.doc[i] {
			for k := first + 1; k <= i && e.show(k); k++ {
			}
			break
		}
	}
}

// isLeadingComment reports whether a line is part of the comment above a declaration.
func isLeadingComment(line string, block bool) bool {
	t := strings.TrimSpace(line)
	starts := func(p string) bool { return strings.HasPrefix(t, p) }
	return t == "" || slices.ContainsFunc([]string{"//", "#", "/*", "@", "--"}, starts) || block && starts("*")
}

func sum(n []int) (s int) {
	for _, x := range n {
		s += x
	}
	return s
}

// best returns the line with the highest score of lines around it that are not shown; -1 if
// there is none. The score of a line decreases with its distance.
func (e *excerpt) best() int {
	at, most := -1, 0.0
	for i, w := range e.worth {
		if w == 0 {
			continue
		}
		for d := 1; d <= excerptReach; d++ {
			share := 1 - float64(d)/(excerptReach+1)
			if i >= d {
				w += share * e.worth[i-d]
			}
			if i+d < len(e.worth) {
				w += share * e.worth[i+d]
			}
		}
		if w > most {
			at, most = i, w
		}
	}
	return at
}

// window shows a line, and then the lines around it.
func (e *excerpt) window(i int) {
	if !e.shown[i] && !e.show(i) {
		return
	}
	for k := i - 1; k >= max(0, i-excerptBefore) && e.show(k); k-- {
		e.worth[k] = 0
	}
	for k := i - 1; k >= max(1, i-2*excerptReach); k-- { // the statement around the line
		if t := strings.TrimSpace(e.lines[k]); t != "" && indent(e.lines[k]) < indent(e.lines[i]) {
			e.show(k)
			break
		}
	}
	for k := i + 1; k <= min(len(e.lines)-1, i+excerptAfter) && e.show(k); k++ {
		e.worth[k] = 0
	}
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// show marks a line as shown, and reports whether there was room for it. It may also need
// room for a line with an ellipsis before it.
func (e *excerpt) show(i int) bool {
	if e.shown[i] {
		return true
	}
	need := e.chars[i]
	if i > 0 && !e.shown[i-1] {
		need += utf8.RuneCountInString(excerptGap) + 1
	}
	if need > e.room {
		return false
	}
	e.room -= need
	e.shown[i] = true
	return true
}

func (e *excerpt) String() string {
	var b strings.Builder
	gap := false
	for i, l := range e.lines {
		if !e.shown[i] {
			gap = true
			continue
		}
		if gap {
			b.WriteString(excerptGap + "\n")
		}
		gap = false
		b.WriteString(l + "\n")
	}
	if gap && e.room >= 1 {
		b.WriteString(excerptGap)
	}
	return strings.TrimRight(b.String(), "\n")
}

// Clip returns s if it has at most most characters. Otherwise it returns the beginning, in which an
// ellipsis is the last of them.
func Clip(s string, most int) string {
	end, n := 0, 0
	for i := range s {
		if n == most-1 {
			end = i
		}
		if n++; n > most {
			return strings.TrimRight(s[:end], " ") + "…"
		}
	}
	return s
}
