package draw

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
)

// DOT writes a graph in the language of Graphviz. Node ids are numbers. Names are quoted
// strings, in which quotes, backslashes and ampersands are escaped: they begin escape
// sequences and character references. change sets Words. Errors are those of w.
func DOT(w io.Writer, g entity.Graph, change ...func(*Words)) error {
	p := newPicture(g, change...)
	var b bytes.Buffer
	b.WriteString("digraph ken {\n\trankdir=LR;\n\tnode [shape=box, style=rounded, fontname=\"Helvetica\"];\n\tedge [fontname=\"Helvetica\", fontsize=11];\n")
	if rest := p.leftOutText(); rest != "" {
		fmt.Fprintf(&b, "\tlabel=\"%s\";\n", dotEscapes.Replace(rest))
	}
	for i := range p.nodes {
		n := &p.nodes[i]
		more := ""
		if i == 0 {
			more = ", penwidth=2.5"
		}
		fmt.Fprintf(&b, "\tn%d [label=\"%s\"%s];\n", i, p.label(n, `\n`, dotEscapes.Replace), more)
	}
	for i := range p.lines {
		l := &p.lines[i]
		more := ""
		if l.about {
			more = ", style=dashed"
		}
		fmt.Fprintf(&b, "\tn%d -> n%d [label=\"%s\", penwidth=%s%s];\n", l.from, l.to, dotEscapes.Replace(l.label), tenths(l.stroke()), more)
	}
	b.WriteString("}\n")
	_, err := w.Write(b.Bytes())
	return err
}

// dotEscapes escapes a text for a quoted string.
var dotEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `&`, `&amp;`)

// label returns the lines of a node's label, each escaped.
func (p *picture) label(n *entity.Node, newline string, escape func(string) string) string {
	label := escape(named(n)) + newline + escape(p.typed(n))
	if n.Constraints > 0 {
		label += newline + escape(plural(n.Constraints, p.words.Constraint))
	}
	return label
}

// Mermaid writes a graph as a Mermaid flowchart, for Markdown viewers that support
// Mermaid. Node ids are numbers. In labels everything except letters, digits and spaces
// is written as a character reference, so that a name can't end the label, start a
// directive or contain markup. change sets Words. Errors are those of w.
func Mermaid(w io.Writer, g entity.Graph, change ...func(*Words)) error {
	p := newPicture(g, change...)
	var b bytes.Buffer
	b.WriteString("flowchart LR\n")
	for i := range p.nodes {
		n := &p.nodes[i]
		open, shut := "[", "]"
		if i == 0 {
			open, shut = "([", "])"
		}
		fmt.Fprintf(&b, "    n%d%s\"%s\"%s\n", i, open, p.label(n, "<br/>", plain), shut)
	}
	for i := range p.lines {
		l := &p.lines[i]
		arrow := "-->"
		if l.about {
			arrow = "-.->"
		}
		fmt.Fprintf(&b, "    n%d %s|\"%s\"| n%d\n", l.from, arrow, plain(l.label), l.to)
	}
	for i := range p.lines {
		fmt.Fprintf(&b, "    linkStyle %d stroke-width:%spx\n", i, tenths(p.lines[i].stroke()))
	}
	if rest := p.leftOutText(); rest != "" {
		fmt.Fprintf(&b, "    rest[\"%s\"]\n    style rest stroke-dasharray:4 4\n", plain(rest))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// plain escapes a text for the label of a flowchart.
func plain(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r == ' ' || r > 0x7f || unicode.IsLetter(r) || unicode.IsDigit(r) {
			b.WriteRune(r)
		} else {
			b.WriteString("#" + strconv.Itoa(int(r)) + ";")
		}
	}
	return b.String()
}

// SVG writes a graph as a self-contained picture: it uses no script, font, address or
// style of the page that contains it. It follows the reader's choice of light or dark,
// and has a text description. Names are written as XML text. change sets Words. Errors
// are those of w.
func SVG(w io.Writer, g entity.Graph, change ...func(*Words)) error {
	p := newPicture(g, change...)
	l := layOut(p)
	var b bytes.Buffer
	// The ids share a name space with those of the page.
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
	for i := range p.lines { // labels are drawn over all lines and boxes
		c := l.curves[i].label
		fmt.Fprintf(&b, `<text class="small verb" x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", c.x, c.y+smallSize/3, escaped(p.lines[i].label))
	}
	if rest := p.leftOutText(); rest != "" {
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
	tip := clipColumns(cmp.Or(clean(n.Display), clean(n.Name)), 200) + ", " + p.typed(n)
	if n.Constraints > 0 {
		tip += ", " + plural(n.Constraints, p.words.Constraint)
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

// kind returns the CSS class for a type; an unknown type has that of entity.Unknown.
func kind(typ string) string {
	if entity.IsType(typ) {
		return typ
	}
	return entity.Unknown
}

func escaped(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a strings.Builder never returns an error
	return b.String()
}
