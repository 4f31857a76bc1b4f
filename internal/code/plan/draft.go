package plan

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/spelling"
)

// draft is the state of New.
type draft struct {
	agents []Agent
	exists func(Token) bool
	faults []fault

	existing  map[Token]bool  // results of exists
	producer  map[Token]int   // index of the first producer
	products  []string        // tokens of all agents, for suggestions; nil until needed
	consumers [][]edge        // by producer: the agents that need its products, each once
	producers []map[Token]int // by agent: the producer of each required token
}

// fault is an error in an agent's declaration.
type fault struct {
	agent int
	err   error
}

// edge leads from the producer of a token to an agent that requires it, or back.
type edge struct {
	to     int
	token  Token
	number int // index in the list of required tokens
}

func newDraft(agents []Agent, exists func(Token) bool) *draft {
	if exists == nil {
		exists = func(Token) bool { return false }
	}
	n := len(agents)
	return &draft{agents: agents, exists: exists, existing: map[Token]bool{}, producer: map[Token]int{},
		consumers: make([][]edge, n), producers: make([]map[Token]int, n)}
}

// addFault records an error in a field of an agent.
func (d *draft) addFault(agent int, field, msg, try string) {
	d.faults = append(d.faults, fault{agent, &ken.Error{Code: ken.CodeInvalid, Field: fmt.Sprintf("agents[%d].%s", agent, field), Msg: msg, Try: try}})
}

// err joins all faults, ordered by agent.
func (d *draft) err() error {
	slices.SortStableFunc(d.faults, func(a, b fault) int { return a.agent - b.agent })
	all := make([]error, len(d.faults))
	for i, f := range d.faults {
		all[i] = f.err
	}
	return errors.Join(all...)
}

// checkNames requires names that differ by more than case, because they are also names of files.
func (d *draft) checkNames() {
	seen := map[string]int{}
	for i, a := range d.agents {
		folded := strings.ToLower(a.Name)
		first, again := seen[folded]
		switch {
		case a.Name == "":
			d.addFault(i, "name", "is empty", "Give the agent a name.")
		case again && d.agents[first].Name == a.Name:
			d.addFault(i, "name", fmt.Sprintf("a second agent called %s, after agents[%d]", a.Name, first), "Give each agent a name of its own.")
		case again:
			d.addFault(i, "name", fmt.Sprintf("%s and %s of agents[%d] differ by case alone", a.Name, d.agents[first].Name, first), "Give each agent a name of its own.")
		default:
			seen[folded] = i
		}
	}
}

func (d *draft) checkTokens() {
	for i, a := range d.agents {
		d.checkList(i, "produces", a.Produces)
		d.checkList(i, "requires", a.Requires)
	}
}

func (d *draft) checkList(agent int, field string, tokens []Token) {
	seen := make(map[Token]bool, len(tokens))
	for j, t := range tokens {
		at := fmt.Sprintf("%s[%d]", field, j)
		if err := t.check(); err != nil {
			d.addFault(agent, at, err.Error(), ken.Hint(err))
		} else if seen[t] {
			d.addFault(agent, at, t.String()+" is listed twice", "Keep one of the two.")
		}
		seen[t] = true
	}
}

func (d *draft) findProducers() {
	for i, a := range d.agents {
		for j, t := range a.Produces {
			first, taken := d.producer[t]
			switch {
			case !taken:
				d.producer[t] = i
			case first != i:
				d.addFault(i, fmt.Sprintf("produces[%d]", j), fmt.Sprintf("%s is produced by %s already", t, d.agents[first].Name),
					"Let one agent produce it; who needs the work of both requires a token of each.")
			}
		}
	}
}

// resolveNeeds finds the producer of each required token.
func (d *draft) resolveNeeds() {
	for i, a := range d.agents {
		d.producers[i] = map[Token]int{}
		drawn := map[int]bool{}
		for j, t := range a.Requires {
			if _, again := d.producers[i][t]; again {
				continue // reported already
			}
			by, made := d.producer[t]
			switch {
			case made && by == i:
				d.addFault(i, fmt.Sprintf("requires[%d]", j), fmt.Sprintf("a cycle: %s → %s (it requires %s, which it produces itself)", a.Name, a.Name, t),
					"Take the token out of one of the two lists.")
			case made:
				d.producers[i][t] = by
				if !drawn[by] {
					drawn[by] = true
					d.consumers[by] = append(d.consumers[by], edge{i, t, j})
				}
			case t.check() == nil && !d.isPresent(t):
				d.reportUnmet(i, j, t)
			}
		}
	}
}

func (d *draft) isPresent(t Token) bool {
	if t.Kind == Artifact {
		return false
	}
	is, asked := d.existing[t]
	if !asked {
		is = d.exists(t)
		d.existing[t] = is
	}
	return is
}

// suggestions is the maximum number of unmet tokens for which a similar product is suggested.
const suggestions = 20

func (d *draft) reportUnmet(agent, number int, t Token) {
	msg, try := "no agent produces it", "Let an agent produce it."
	switch t.Kind {
	case File:
		msg, try = "it is not there, and "+msg, "Let an agent produce it, or create the file."
	case Symbol:
		msg, try = "the code has no such symbol, and "+msg, "Let an agent produce it, or see that the symbol is there."
	}
	if len(d.faults) < suggestions {
		if near := d.closestToken(t); near != "" {
			try = "Did you mean " + near + "?"
		}
	}
	d.addFault(agent, fmt.Sprintf("requires[%d]", number), t.String()+": "+msg, try)
}

func (d *draft) closestToken(t Token) string {
	if d.products == nil {
		for t := range d.producer {
			d.products = append(d.products, t.String())
		}
		slices.Sort(d.products)
	}
	return spelling.Nearest(t.String(), d.products)
}

// Mermaid returns the plan as a Mermaid flowchart, for Markdown viewers that support it. Agents are boxes, grouped by
// stage. An arrow stands for each token that one agent makes for another; it is dashed for tokens that exist already.
// In labels, everything other than letters, digits and spaces is a character reference, so a name can't end the label
// or add markup.
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

// label returns a text as the label of a flowchart.
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
