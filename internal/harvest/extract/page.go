package extract

import "strings"

// page is a text that is written line by line within a limit.
type page struct {
	lines []string
	left  int // characters
}

func (p *page) text() string { return strings.Join(p.lines, "\n") }

func (p *page) empty() bool { return len(p.lines) <= 1 }

// line adds a line if it fits.
func (p *page) line(s string) {
	if n := characters(s) + 1; s != "" && n <= p.left {
		p.lines = append(p.lines, s)
		p.left -= n
	}
}

// section adds a line of items, as many as fit into room characters.
func (p *page) section(title, between string, items []string, room int) {
	room = min(room, p.left)
	var b strings.Builder
	n := characters(title) + 1
	for _, item := range items {
		more := characters(item)
		if b.Len() > 0 {
			more += characters(between)
		}
		if n+more > room {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(between)
		}
		b.WriteString(item)
		n += more
	}
	if b.Len() > 0 {
		p.line(title + b.String())
	}
}
