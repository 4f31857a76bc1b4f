package draw

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
)

// DOT writes a graph in the language of Graphviz. Nodes have numbers for ids, and
// names are quoted strings with quotes, backslashes and ampersands escaped: those of
// escape sequences and character references. change sets Words. Errors are w's.
func DOT(w io.Writer, g entity.Graph, change ...func(*Words)) error {
	p := see(g, change...)
	var b bytes.Buffer
	b.WriteString("digraph ken {\n\trankdir=LR;\n\tnode [shape=box, style=rounded, fontname=\"Helvetica\"];\n\tedge [fontname=\"Helvetica\", fontsize=11];\n")
	if rest := p.rest(); rest != "" {
		fmt.Fprintf(&b, "\tlabel=\"%s\";\n", quoted(rest))
	}
	for i := range p.nodes {
		n := &p.nodes[i]
		label := quoted(named(n)) + `\n` + quoted(p.typed(n))
		if n.Constraints > 0 {
			label += `\n` + quoted(many(n.Constraints, p.words.Constraint))
		}
		more := ""
		if i == 0 {
			more = ", penwidth=2.5"
		}
		fmt.Fprintf(&b, "\tn%d [label=\"%s\"%s];\n", i, label, more)
	}
	for i := range p.lines {
		l := &p.lines[i]
		more := ""
		if l.about {
			more = ", style=dashed"
		}
		fmt.Fprintf(&b, "\tn%d -> n%d [label=\"%s\", penwidth=%s%s];\n", l.from, l.to, quoted(l.label), tenths(l.stroke()), more)
	}
	b.WriteString("}\n")
	_, err := w.Write(b.Bytes())
	return err
}

var dotEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `&`, `&amp;`)

// quoted writes a text as the inside of a quoted string.
func quoted(s string) string { return dotEscapes.Replace(s) }
