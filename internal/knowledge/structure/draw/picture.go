package draw

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
)

// line is what one node has to do with another, in one direction: all edges of it.
type line struct {
	from, to int    // places in picture.nodes
	label    string // its verbs
	said     []string
	strength int // of the strongest, percent
	about    bool
}

// picture is a graph as it is drawn: every name once, no edge without both ends.
type picture struct {
	nodes []entity.Node // the root first
	lines []line        // by from, then to
	left  int
	words Words
}

func see(g entity.Graph, change ...func(*Words)) *picture {
	p := &picture{left: max(g.Left, 0), words: wordsFor(change)}
	at := map[string]int{}
	for _, n := range g.Nodes {
		if _, twice := at[n.Name]; twice {
			continue
		}
		at[n.Name] = len(p.nodes)
		p.nodes = append(p.nodes, n)
	}
	if i := at[g.Root]; i > 0 && p.nodes[i].Name == g.Root {
		p.nodes[0], p.nodes[i] = p.nodes[i], p.nodes[0]
		at[p.nodes[0].Name], at[p.nodes[i].Name] = 0, i
	}
	index := map[[2]int]int{}
	for _, e := range sortedEdges(g.Edges) {
		from, ok := at[e.Source]
		to, too := at[e.Target]
		if !ok || !too || from == to {
			continue
		}
		ends := [2]int{from, to}
		i, have := index[ends]
		if !have {
			i = len(p.lines)
			index[ends] = i
			p.lines = append(p.lines, line{from: from, to: to, about: true})
		}
		l := &p.lines[i]
		v, s := verb(e.Type), percent(e.Strength)
		if s > l.strength {
			l.strength = s
		}
		l.about = l.about && e.Type == entity.About
		l.said = append(l.said, named(&p.nodes[from])+" "+v+" "+named(&p.nodes[to])+" ("+hundredths(s)+")")
		if l.label == "" {
			l.label = v
		} else if more := l.label + ", " + v; columns(more) <= maxLabel {
			l.label = more
		} else if !strings.HasSuffix(l.label, "…") {
			l.label += " …"
		}
	}
	slices.SortStableFunc(p.lines, func(a, b line) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	return p
}

// sortedEdges are the edges by what they say, whatever order they came in.
func sortedEdges(edges []entity.Edge) []entity.Edge {
	edges = slices.Clone(edges)
	slices.SortFunc(edges, func(a, b entity.Edge) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Target, b.Target), cmp.Compare(percent(b.Strength), percent(a.Strength)),
			cmp.Compare(a.Type, b.Type))
	})
	return edges
}

// percent is a strength of 0..1 in whole percents, and what is no such number at one
// of the ends.
func percent(strength float64) int {
	switch {
	case !(strength > 0): // NaN too
		return 0
	case strength >= 1:
		return 100
	}
	return int(strength*100 + 0.5)
}

// hundredths is a percentage as a strength is written.
func hundredths(percent int) string {
	s := strconv.Itoa(percent)
	for len(s) < 3 {
		s = "0" + s
	}
	return s[:len(s)-2] + "." + s[len(s)-2:]
}

// tenths is a width as an attribute has it.
func tenths(n int) string { return strconv.Itoa(n/10) + "." + strconv.Itoa(n%10) }

// stroke is how thick a line of this strength is, in tenths of a pixel.
func (l *line) stroke() int { return 10 + l.strength*3/10 }

func number(n int) string { return strconv.Itoa(n) }

// subject is what the picture is of.
func (p *picture) subject() string {
	if len(p.nodes) == 0 {
		return "An empty graph"
	}
	return named(&p.nodes[0]) + " and what is around it"
}

// text is the picture in words, for who can't see it.
func (p *picture) text() string {
	var b strings.Builder
	for i := range p.nodes {
		n := &p.nodes[i]
		b.WriteString(named(n) + ": " + p.typed(n))
		if n.Constraints > 0 {
			b.WriteString(", " + many(n.Constraints, p.words.Constraint))
		}
		b.WriteString(". ")
	}
	for i := range p.lines {
		b.WriteString(strings.Join(p.lines[i].said, ". ") + ". ")
	}
	b.WriteString(p.rest())
	return strings.TrimSpace(b.String())
}

// rest says what is not in the picture; nothing when all is.
func (p *picture) rest() string {
	switch p.left {
	case 0:
		return ""
	case 1:
		return "1 more is left out."
	}
	return number(p.left) + " more are left out."
}
