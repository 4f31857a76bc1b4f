package decision

import (
	"strings"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/lazyregexp"
)

// maxOptions and maxTitle bound what is read of options: more is a text of another kind.
const (
	maxOptions = 100
	maxTitle   = 160 // characters
)

// boldLead is a name in bold type at the start of a line.
var boldLead = lazyregexp.New(`^(?:\*\*|__)(.+?)(?:\*\*|__)\s*[.:–—-]*\s*`)

// chosenSuffix marks the chosen option where this package writes the list.
const chosenSuffix = " (chosen)"

// optionReader reads options from the lines of a section.
type optionReader struct {
	out    []Option
	open   bool // the last one goes on
	headed bool // the options have headings
	byHead bool // it has a heading of its own: bullets below it belong to it
	indent int  // of the bullet that it is
	side   side // of the arguments below a label
	last   side // of the argument that may go on in the next line
}

func (r *optionReader) start(title string, no int, text string) {
	title = shorten(strings.TrimSpace(strings.TrimRight(plain(title), " .:–—-")), maxTitle)
	title, marked := strings.CutSuffix(title, chosenSuffix)
	if title == "" || len(r.out) >= maxOptions {
		r.open = false
		return
	}
	r.out = append(r.out, Option{Title: Value{title, no}, Text: strings.TrimSpace(text), Chosen: marked})
	r.open, r.byHead, r.side, r.last = true, false, noSide, noSide
}

func (r *optionReader) more(text string) {
	if !r.open || text == "" {
		return
	}
	o := &r.out[len(r.out)-1]
	if list := o.arguments(r.last); list != nil {
		(*list)[len(*list)-1].grow(" " + text)
		return
	}
	if len(o.Text)+len(text) <= maxGrown {
		o.Text = strings.TrimSpace(o.Text + "\n" + text)
	}
}

// arguments are those of a side; nil for none.
func (o *Option) arguments(s side) *[]Value {
	switch s {
	case pro:
		return &o.Pros
	case con:
		return &o.Cons
	case neither:
		return &o.Neutral
	}
	return nil
}

func (r *optionReader) argue(s side, text string, no int) {
	text, against, both := strings.Cut(text, " ➖ ") // "➕ fast. ➖ big."
	list := r.out[len(r.out)-1].arguments(s)
	*list = append(*list, Value{strings.TrimSpace(text), no})
	if r.last = s; both {
		r.argue(con, against, no)
	}
}

// read reads the lines from one index up to another, with the headings among them.
func (r *optionReader) read(lines []line, from, to int, heads map[int]heading) {
	var code fence
	blank := true
	for i := from; i < to; i++ {
		text := lines[i].text
		if h, ok := heads[i]; ok {
			if len(r.out) > 0 && !r.headed { // they were listed: this is about them
				r.open = false
				return
			}
			r.headed = true
			r.start(bare(h.title), i+1, "")
			r.byHead = r.open
			i, blank = h.next-1, true
			continue
		}
		if code.step(text) {
			r.more(text)
			continue
		}
		bareText := strings.TrimSpace(text)
		if bareText == "" || bareText == "---" || bareText == "***" {
			blank, r.last = true, noSide
			continue
		}
		if row, ok := cells(text); ok {
			i = r.table(lines, i, to, row) - 1
			continue
		}
		indent, at, isItem := bullet(text)
		switch {
		case isItem:
			r.item(strings.TrimSpace(text[at:]), indent, i+1)
		case r.label(bareText):
		case r.byHead, r.open && !blank, r.open && lines[i].indent() > r.indent:
			r.more(bareText)
		default:
			if m := boldLead.FindStringSubmatch(bareText); m != nil {
				r.start(m[1], i+1, bareText[len(m[0]):])
				r.indent = 0
			} else {
				r.open = false // prose between options
			}
		}
		blank = false
	}
}

func (r *optionReader) label(text string) bool {
	if !r.open {
		return false
	}
	s, ok := label(text)
	if ok {
		r.side = s
	}
	return ok
}

// item is a bullet: an option, or an argument for the one above it.
func (r *optionReader) item(text string, indent, no int) {
	r.last = noSide
	if r.open && (r.byHead || indent > r.indent) {
		if s, rest := argument(text); s != noSide {
			r.argue(s, rest, no)
			return
		}
		if r.label(text) {
			return
		}
		if r.side != noSide {
			r.argue(r.side, text, no)
			return
		}
		r.more("- " + text)
		return
	}
	title, rest := lead(text)
	r.start(title, no, rest)
	r.indent = indent
}

// lead parts the name of an option from what is said of it.
func lead(text string) (title, rest string) {
	if m := boldLead.FindStringSubmatch(text); m != nil {
		return m[1], text[len(m[0]):]
	}
	for _, end := range []string{" — ", " – ", " - ", ": "} {
		if before, after, ok := strings.Cut(text, end); ok && utf8.RuneCountInString(before) <= maxTitle {
			return before, after
		}
	}
	if before, after, ok := strings.Cut(text, ". "); ok {
		return before, after
	}
	return text, ""
}

// table reads one option a row, and returns the index of the line behind the table.
func (r *optionReader) table(lines []line, i, to int, first []cell) (next int) {
	rows := [][]cell{first}
	at := []int{i}
	for next = i + 1; next < to; next++ {
		row, ok := cells(lines[next].text)
		if !ok {
			break
		}
		rows, at = append(rows, row), append(at, next)
	}
	if len(rows) < 3 || !rule(rows[1]) || r.byHead {
		return next
	}
	for k, row := range rows[2:] {
		var rest []string
		no := at[k+2] + 1
		r.start(row[0].text, no, "")
		if !r.open {
			continue
		}
		for c := 1; c < len(row); c++ {
			if row[c].text == "" {
				continue
			}
			if c < len(first) {
				if s, ok := label(first[c].text); ok {
					r.argue(s, row[c].text, no)
					continue
				}
			}
			rest = append(rest, row[c].text)
		}
		r.more(strings.Join(rest, " | "))
	}
	r.open = false
	return next
}

// join adds what a section on the options says to those that were named before.
func join(named, said []Option) []Option {
	for _, o := range said {
		at := -1
		for i := range named {
			if alike(named[i].Title.Text, o.Title.Text) {
				at = i
				break
			}
		}
		if at < 0 {
			if len(named) < maxOptions {
				named = append(named, o)
			}
			continue
		}
		n := &named[at]
		n.Chosen = n.Chosen || o.Chosen
		n.Text = strings.TrimSpace(n.Text + "\n" + o.Text)
		n.Pros, n.Cons, n.Neutral = append(n.Pros, o.Pros...), append(n.Cons, o.Cons...), append(n.Neutral, o.Neutral...)
	}
	return named
}

// alike reports whether two titles name one option: the same words, or one the
// beginning of the other.
func alike(a, b string) bool { return alikeKeys(foldKey(a), foldKey(b)) }

// alikeKeys is alike for titles that are folded already.
func alikeKeys(x, y string) bool {
	if len(x) > len(y) {
		x, y = y, x
	}
	return x != "" && (x == y || len(x) >= 8 && strings.HasPrefix(y, x))
}

func shorten(s string, most int) string {
	if len(s) <= most || utf8.RuneCountInString(s) <= most {
		return s
	}
	return strings.TrimSpace(string([]rune(s)[:most-1])) + "…"
}
