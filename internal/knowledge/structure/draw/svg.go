package draw

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
)

// SVG writes a graph as a picture that needs nothing else: no script, no font, no
// address, no style of the page that it is put into. It follows the reader's choice of
// light or dark, and says in words what it shows. Names are XML text in it. change
// sets Words. Errors are w's.
func SVG(w io.Writer, g entity.Graph, change ...func(*Words)) error {
	p := see(g, change...)
	l := lay(p)
	var b bytes.Buffer
	// The ids are in one name space with those of the page.
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" class="ken" viewBox="%d %d %d %d" width="%d" height="%d" role="img" aria-labelledby="ken-title ken-text">`+"\n",
		l.x, l.y, l.w, l.h, l.w, l.h)
	fmt.Fprintf(&b, "<title id=\"ken-title\">%s</title>\n<desc id=\"ken-text\">%s</desc>\n<style>%s</style>\n", escaped(p.subject()), escaped(p.text()), style)
	b.WriteString(`<defs><marker id="ken-head" viewBox="0 0 8 8" refX="7.5" refY="4" markerUnits="userSpaceOnUse" markerWidth="9" markerHeight="9" orient="auto">` +
		`<path class="head" d="M0 0.5 8 4 0 7.5z"/></marker></defs>` + "\n")
	fmt.Fprintf(&b, `<rect class="ground" x="%d" y="%d" width="%d" height="%d"/>`+"\n", l.x, l.y, l.w, l.h)
	for i := range p.lines {
		drawLine(&b, &p.lines[i], &l.curves[i])
	}
	for i := range p.nodes {
		p.drawBox(&b, i, &l.boxes[i])
	}
	for i := range p.lines { // over all lines and boxes
		c := l.curves[i].label
		fmt.Fprintf(&b, `<text class="small verb" x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", c.x, c.y+smallSize/3, escaped(p.lines[i].label))
	}
	if rest := p.rest(); rest != "" {
		fmt.Fprintf(&b, `<text class="small soft" x="%d" y="%d">%s</text>`+"\n", l.x+margin, l.y+l.h-margin, escaped(rest))
	}
	b.WriteString("</svg>\n")
	_, err := w.Write(b.Bytes())
	return err
}

func drawLine(b *bytes.Buffer, l *line, c *curve) {
	class := "line"
	if l.about {
		class += " about"
	}
	fmt.Fprintf(b, `<path class="%s" stroke-width="%s" marker-end="url(#ken-head)" d="M%d %d`, class, tenths(l.stroke()), c.points[0].x, c.points[0].y)
	for i := 1; i+2 < len(c.points); i += 3 {
		fmt.Fprintf(b, " C%d %d %d %d %d %d", c.points[i].x, c.points[i].y, c.points[i+1].x, c.points[i+1].y, c.points[i+2].x, c.points[i+2].y)
	}
	fmt.Fprintf(b, "\"><title>%s</title></path>\n", escaped(strings.Join(l.said, "; ")))
}

func (p *picture) drawBox(b *bytes.Buffer, i int, at *box) {
	n, class := &p.nodes[i], "node"
	if i == 0 {
		class += " root"
	}
	full := clean(n.Display)
	if full == "" {
		full = clean(n.Name)
	}
	tip := fit(full, 200) + ", " + p.typed(n)
	if n.Constraints > 0 {
		tip += ", " + many(n.Constraints, p.words.Constraint)
	}
	fmt.Fprintf(b, "<g class=\"%s\"><title>%s</title>", class, escaped(tip))
	fmt.Fprintf(b, `<rect class="box %s" x="%d" y="%d" width="%d" height="%d" rx="6"/>`, kind(n.Type), at.x, at.y, at.w, at.h)
	fmt.Fprintf(b, `<text class="name" x="%d" y="%d">%s</text>`, at.x+boxPad, at.y+19, escaped(named(n)))
	fmt.Fprintf(b, `<text class="small soft" x="%d" y="%d">%s</text>`, at.x+boxPad, at.y+35, escaped(p.typed(n)))
	if n.Constraints > 0 {
		w := p.badgeWidth(n.Constraints)
		x := at.right() - boxPad/2 - w
		fmt.Fprintf(b, `<rect class="badge" x="%d" y="%d" width="%d" height="16" rx="8"/>`, x, at.y+6, w)
		fmt.Fprintf(b, `<text class="small rules" x="%d" y="%d" text-anchor="middle">%s</text>`, x+w/2, at.y+18, escaped(p.badge(n.Constraints)))
	}
	b.WriteString("</g>\n")
}

// kind is the class of a type: a type of somebody's own looks like none.
func kind(typ string) string {
	if entity.IsType(typ) {
		return typ
	}
	return entity.Unknown
}

func escaped(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a strings.Builder takes everything
	return b.String()
}
