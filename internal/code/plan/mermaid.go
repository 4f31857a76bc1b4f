package plan

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Mermaid draws the plan as a Mermaid flowchart, for Markdown that is shown by
// something that knows Mermaid: agents in boxes by stage, an arrow for each token that
// one makes for another, and with dashes what is there already. In labels everything
// but letters, digits and spaces is written as a character reference, so that nothing
// in a name ends the label or is markup.
func (p *Plan) Mermaid() string {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	id := 0
	for n, stage := range p.Stages() {
		fmt.Fprintf(&b, "    subgraph stage%d[\"stage %d\"]\n", n+1, n+1)
		for _, s := range stage {
			fmt.Fprintf(&b, "        n%d[\"%s\"]\n", id, label(s.Agent.Name))
			id++
		}
		b.WriteString("    end\n")
	}
	outside := map[Token]string{}
	for to, s := range p.Steps() {
		for _, n := range s.Needs {
			if n.From != "" {
				fmt.Fprintf(&b, "    n%d -->|\"%s\"| n%d\n", p.at[n.From], label(n.Token.String()), to)
				continue
			}
			from, drawn := outside[n.Token]
			if !drawn {
				from = "o" + strconv.Itoa(len(outside))
				outside[n.Token] = from
				fmt.Fprintf(&b, "    %s([\"%s\"])\n", from, label(n.Token.String()))
			}
			fmt.Fprintf(&b, "    %s -.-> n%d\n", from, to)
		}
	}
	return b.String()
}

// label writes a text as the label of a flowchart.
func label(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r == ' ' || unicode.IsLetter(r) || unicode.IsDigit(r) {
			b.WriteRune(r)
		} else {
			b.WriteString("#" + strconv.Itoa(int(r)) + ";")
		}
	}
	return b.String()
}
