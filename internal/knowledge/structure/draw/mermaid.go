package draw

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
)

// Mermaid writes a graph as a Mermaid flowchart, for Markdown that is shown by
// something that knows Mermaid. Nodes have numbers for ids. In labels everything but
// letters, digits and spaces is written as a character reference, so that nothing in
// a name ends the label, starts a directive, or is markup. change sets Words. Errors are
// w's.
func Mermaid(w io.Writer, g entity.Graph, change ...func(*Words)) error {
	p := see(g, change...)
	var b bytes.Buffer
	b.WriteString("flowchart LR\n")
	for i := range p.nodes {
		n := &p.nodes[i]
		open, shut := "[", "]"
		if i == 0 {
			open, shut = "([", "])"
		}
		label := plain(named(n)) + "<br/>" + plain(p.typed(n))
		if n.Constraints > 0 {
			label += "<br/>" + plain(many(n.Constraints, p.words.Constraint))
		}
		fmt.Fprintf(&b, "    n%d%s\"%s\"%s\n", i, open, label, shut)
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
	if rest := p.rest(); rest != "" {
		fmt.Fprintf(&b, "    rest[\"%s\"]\n    style rest stroke-dasharray:4 4\n", plain(rest))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// plain writes a text as the label of a flowchart.
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
