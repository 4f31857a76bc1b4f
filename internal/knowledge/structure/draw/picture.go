package draw

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/width"

	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
)

// line combines all edges between two nodes in one direction.
type line struct {
	from, to int    // indices in picture.nodes
	label    string // verbs of the edges
	said     []string
	strength int // of the strongest edge, in percent
	about    bool
}

// picture is a graph in the form in which it is drawn: every name once, and no edge without
// both ends.
type picture struct {
	nodes []entity.Node // the root first
	lines []line        // by from, then to
	left  int
	words Words
}

func newPicture(g entity.Graph, change ...func(*Words)) *picture {
	p := &picture{left: max(g.Left, 0), words: Words{Record: "record", Constraint: "constraint", Badge: "rule"}}
	for _, f := range change {
		f(&p.words)
	}
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
	edges := slices.SortedFunc(slices.Values(g.Edges), func(a, b entity.Edge) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Target, b.Target), cmp.Compare(percent(b.Strength), percent(a.Strength)),
			cmp.Compare(a.Type, b.Type))
	})
	for _, e := range edges {
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
		} else if more := l.label + ", " + v; Columns(more) <= maxLabel {
			l.label = more
		} else if !strings.HasSuffix(l.label, "…") {
			l.label += " …"
		}
	}
	slices.SortStableFunc(p.lines, func(a, b line) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	return p
}

// percent converts a strength of 0..1 to whole percents. Other values give 0 or 100.
func percent(strength float64) int {
	switch {
	case !(strength > 0): // NaN too
		return 0
	case strength >= 1:
		return 100
	}
	return int(strength*100 + 0.5)
}

// hundredths formats a percentage as a strength.
func hundredths(percent int) string { return fmt.Sprintf("%d.%02d", percent/100, percent%100) }

// tenths formats a width in tenths for an attribute.
func tenths(n int) string { return fmt.Sprintf("%d.%d", n/10, n%10) }

// stroke returns the width of a line of this strength, in tenths of a pixel.
func (l *line) stroke() int { return 10 + l.strength*3/10 }

// subject returns the title of the picture.
func (p *picture) subject() string {
	if len(p.nodes) == 0 {
		return "An empty graph"
	}
	return named(&p.nodes[0]) + " and what is around it"
}

// text describes the picture in words, for people who can't see it.
func (p *picture) text() string {
	var b strings.Builder
	for i := range p.nodes {
		n := &p.nodes[i]
		b.WriteString(named(n) + ": " + p.typed(n))
		if n.Constraints > 0 {
			b.WriteString(", " + plural(n.Constraints, p.words.Constraint))
		}
		b.WriteString(". ")
	}
	for i := range p.lines {
		b.WriteString(strings.Join(p.lines[i].said, ". ") + ". ")
	}
	b.WriteString(p.leftOutText())
	return strings.TrimSpace(b.String())
}

// leftOutText says how many nodes are not in the picture; "" if all are.
func (p *picture) leftOutText() string {
	switch p.left {
	case 0:
		return ""
	case 1:
		return "1 more is left out."
	}
	return strconv.Itoa(p.left) + " more are left out."
}

// Maximum lengths of names, in columns of a terminal.
const (
	maxName  = 40
	maxLabel = 24 // of an edge
)

// clean returns a text on one line, without invisible characters that change how the rest
// is shown.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), unicode.IsSpace(r):
			return ' '
		case r == '\u200c', r == '\u200d': // shape letters and emoji
			return r
		case unicode.Is(unicode.Cf, r), r >= 0xfdd0 && r <= 0xfdef, r&0xfffe == 0xfffe:
			return -1
		}
		return r
	}, guardrail.Sanitize(s))
	return strings.Join(strings.Fields(limitMarks(s)), " ")
}

// maxMarks is the maximum number of combining marks on a letter. It is more than any script
// uses, and too few to reach the lines above and below.
const maxMarks = 4

// limitMarks removes combining marks beyond maxMarks.
func limitMarks(s string) string {
	marks := 0
	return strings.Map(func(r rune) rune {
		if !unicode.In(r, unicode.Mn, unicode.Me) {
			marks = 0
			return r
		}
		if marks++; marks > maxMarks {
			return -1
		}
		return r
	}, s)
}

// clipColumns shortens a text to at most n columns. It never splits a user-perceived
// character.
func clipColumns(s string, n int) string {
	if Columns(s) <= n {
		return s
	}
	cut, used := 0, 1 // for the ellipsis
	joined := false
	for i, r := range s {
		if !joined && !extends(r) {
			cut = i
		}
		joined = r == '\u200d'
		if used += RuneColumns(r); used > n {
			break
		}
	}
	return strings.TrimRight(s[:cut], " ") + "…"
}

// extends reports whether r belongs to the character before it.
func extends(r rune) bool {
	return unicode.In(r, unicode.M, unicode.Cf) || r >= 0x1f3fb && r <= 0x1f3ff // tones of skin
}

// Columns returns how many columns of a terminal a text takes: two for wide East Asian
// characters and emoji, none for combining marks.
func Columns(s string) (n int) {
	for _, r := range s {
		n += RuneColumns(r)
	}
	return n
}

// RuneColumns is Columns for one character.
func RuneColumns(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// pixelWidth estimates the width of a text in pixels at a font size, by the widest of the
// usual sans serif fonts.
func pixelWidth(s string, size int) int {
	hundredths := 0
	for _, r := range s {
		hundredths += hundredthsOf(r)
	}
	return (hundredths*size + 99) / 100
}

func hundredthsOf(r rune) int {
	switch {
	case RuneColumns(r) == 0:
		return 0
	case RuneColumns(r) == 2:
		return 125
	case strings.ContainsRune("ijl.,:;!'|ı", r):
		return 36
	case strings.ContainsRune("frt ()[]-/", r):
		return 44
	case strings.ContainsRune("mwMW@%…<>&#+=~", r):
		return 102
	case unicode.IsUpper(r), r >= 0x2000:
		return 80
	}
	return 65
}

// named returns the name that is shown for a node.
func named(n *entity.Node) string {
	return clipColumns(cmp.Or(clean(n.Display), clean(n.Name), "?"), maxName)
}

// typed returns a node's type and its number of records.
func (p *picture) typed(n *entity.Node) string {
	return cmp.Or(clipColumns(clean(n.Type), maxLabel), entity.Unknown) + " · " + plural(n.Records, p.words.Record)
}

// verb returns an edge's type in words.
func verb(typ string) string {
	return cmp.Or(clipColumns(strings.ReplaceAll(clean(typ), "_", " "), maxLabel), "?")
}

func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}

// style is the CSS of an SVG, for light and dark. All rules are below the class ken, so
// that they don't affect a page that contains the picture.
const style = `
.ken{color:#1f2328;font-family:Helvetica,Arial,"DejaVu Sans",sans-serif}
.ken text{fill:currentColor;unicode-bidi:isolate}
.ken .ground{fill:#fff}
.ken .name{font-size:13px;font-weight:600}
.ken .small{font-size:11px}
.ken .soft{fill-opacity:.75}
.ken .box{fill:#f6f8fa;stroke:#8c959f;stroke-width:1.5}
.ken .root .box{stroke-width:3}
.ken .person{stroke:#8250df}
.ken .project{stroke:#1a7f37}
.ken .system{stroke:#0969da}
.ken .tool{stroke:#9a6700}
.ken .concept{stroke:#bf3989}
.ken .skill{stroke:#1b7c83}
.ken .task{stroke:#57606a;stroke-dasharray:5 3}
.ken .badge{fill:#cf222e}
.ken .rules{fill:#fff;font-weight:600}
.ken .line{fill:none;stroke:currentColor;stroke-opacity:.6}
.ken .about{stroke-dasharray:4 4}
.ken .head{fill:currentColor;fill-opacity:.8}
.ken .verb{paint-order:stroke;stroke:#fff;stroke-width:4px;stroke-linejoin:round}
@media (prefers-color-scheme:dark){
.ken{color:#e6edf3}
.ken .ground{fill:#0d1117}
.ken .box{fill:#161b22}
.ken .person{stroke:#bc8cff}
.ken .project{stroke:#3fb950}
.ken .system{stroke:#58a6ff}
.ken .tool{stroke:#d29922}
.ken .concept{stroke:#f778ba}
.ken .skill{stroke:#39c5cf}
.ken .task{stroke:#9198a1}
.ken .badge{fill:#da3633}
.ken .verb{stroke:#0d1117}
}
`

// Words are the singular words for what is counted at a node. The plural is formed with an
// s.
type Words struct {
	Record     string // entity.Node.Records
	Constraint string // entity.Node.Constraints
	Badge      string // a short word for the same
}
