package plan

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/components"
	"github.com/kenlayer/ken/internal/spelling"
)

// Agent is one participant in a plan.
type Agent struct {
	Name     string // unique among the agents, ignoring case
	Produces []Token
	Requires []Token
	Command  []string      // program and arguments; empty if something else starts the agent
	Timeout  time.Duration // of the command; 0 means none
}

// Step is an agent with its position in a plan.
type Step struct {
	Agent Agent
	Index int    // index in the list of agents given to New
	Stage int    // from 1; what the agent needs is made in earlier stages
	Needs []Need // one for each of Agent.Requires, in the same order
}

// Need says where a required token comes from.
type Need struct {
	Token Token
	From  string // the agent that produces it; "" if it exists already
}

// Plan lists agents in the order in which they can run. It is immutable and safe for concurrent use. A nil Plan is
// empty.
type Plan struct {
	steps []Step         // by stage; within a stage in the order given
	at    map[string]int // indices in steps, by name
}

// New makes a plan. It calls exists once for each required token that no agent produces and whose kind is not Artifact;
// a nil exists means that none exist. If no agent produces or requires anything, New returns nil and no error.
// Otherwise the error joins all faults in the order of the agents. Each is a ken.Error that is ken.ErrInvalid with a
// Field such as agents[2].requires[0].
func New(agents []Agent, exists func(Token) bool) (*Plan, error) {
	if !slices.ContainsFunc(agents, func(a Agent) bool { return len(a.Produces)+len(a.Requires) > 0 }) {
		return nil, nil
	}
	d := newDraft(agents, exists)
	d.checkNames()
	d.checkTokens()
	d.findProducers()
	d.resolveNeeds()
	d.findCycles()
	if err := d.err(); err != nil {
		return nil, err
	}
	return d.plan(), nil
}

// Check returns the faults that can be found without the project: it assumes that every required file and symbol
// exists.
func Check(agents []Agent) error {
	_, err := New(agents, func(Token) bool { return true })
	return err
}

// Steps returns all steps by stage, and within a stage in the order given to New. The caller must not change them.
func (p *Plan) Steps() []Step {
	if p == nil {
		return nil
	}
	return p.steps
}

// Stages returns the steps of each stage. Steps of one stage do not depend on each other. The caller must not change
// them.
func (p *Plan) Stages() (all [][]Step) {
	for rest := p.Steps(); len(rest) > 0; {
		n := slices.IndexFunc(rest, func(s Step) bool { return s.Stage != rest[0].Stage })
		if n < 0 {
			n = len(rest)
		}
		all, rest = append(all, rest[:n:n]), rest[n:]
	}
	return all
}

// With returns the names of the given agents and of all agents whose work they need, in the order of Steps. Without
// names, it returns all. The error is ken.ErrNotFound for an agent that is not in the plan.
func (p *Plan) With(names ...string) ([]string, error) {
	steps := p.Steps()
	in := make([]bool, len(steps))
	for _, name := range names {
		i := slices.IndexFunc(steps, func(s Step) bool { return s.Agent.Name == name })
		if i < 0 {
			return nil, p.unknown(name)
		}
		in[i] = true
	}
	for i, s := range slices.Backward(steps) { // needed agents come first in steps
		in[i] = in[i] || len(names) == 0
		if !in[i] {
			continue
		}
		for _, n := range s.Needs {
			if n.From != "" {
				in[p.at[n.From]] = true
			}
		}
	}
	var out []string
	for i, s := range steps {
		if in[i] {
			out = append(out, s.Agent.Name)
		}
	}
	return out, nil
}

func (p *Plan) unknown(name string) error {
	e := &ken.Error{Code: ken.CodeNotFound, Msg: "there is no agent " + strconv.Quote(name) + " in the plan", Try: "See ken plan for their names."}
	var names []string
	for _, s := range p.Steps() {
		names = append(names, s.Agent.Name)
	}
	if near := spelling.Nearest(name, names); near != "" {
		e.Try = "Did you mean " + near + "?"
	}
	return e
}

// findCycles reports one cycle for each group of agents that wait for each other: the shortest one through the group's
// first agent. Agents that wait for themselves are reported elsewhere.
func (d *draft) findCycles() {
	for _, group := range d.groups() {
		d.reportCycle(d.shortestCycle(group))
	}
}

// reportCycle reports which agent makes what for which other one. Each edge leads to the next agent, and the last one
// leads back to the start of the first.
func (d *draft) reportCycle(cycle []edge) {
	last := cycle[len(cycle)-1]
	from := last.to
	names, how := d.agents[from].Name, make([]string, len(cycle))
	for i, e := range cycle {
		names += " → " + d.agents[e.to].Name
		how[i] = fmt.Sprintf("%s makes %s for %s", d.agents[from].Name, e.token, d.agents[e.to].Name)
		from = e.to
	}
	d.addFault(last.to, fmt.Sprintf("requires[%d]", last.number), "a cycle: "+names+" ("+strings.Join(how, ", ")+")",
		"Take one of these tokens out of what its agent requires.")
}

// shortestCycle returns a shortest cycle through the first agent of a group.
func (d *draft) shortestCycle(group []int) []edge {
	in := make(map[int]bool, len(group))
	for _, i := range group {
		in[i] = true
	}
	start := group[0]
	came := map[int]searchStep{} // how each agent was reached
	for queue := []int{start}; ; queue = queue[1:] {
		at := queue[0]
		for _, e := range d.consumers[at] {
			if e.to == start {
				cycle := []edge{e}
				for at != start {
					cycle = append(cycle, came[at].by)
					at = came[at].from
				}
				slices.Reverse(cycle)
				return cycle
			}
			if _, seen := came[e.to]; !seen && in[e.to] {
				came[e.to] = searchStep{at, e}
				queue = append(queue, e.to)
			}
		}
	}
}

type searchStep struct {
	from int
	by   edge
}

// groups returns the groups of two or more agents in which each waits for all others, ordered by their first agent.
func (d *draft) groups() [][]int {
	all := components.Of(len(d.agents), func(i int) (to []int) {
		for _, e := range d.consumers[i] {
			to = append(to, e.to)
		}
		return to
	})
	all = slices.DeleteFunc(all, func(group []int) bool { return len(group) < 2 })
	slices.SortFunc(all, func(a, b []int) int { return a[0] - b[0] })
	return all
}

// plan assigns agents without faults to stages: each to the first stage after everything that it needs is made.
func (d *draft) plan() *Plan {
	stage := d.layers()
	p := &Plan{at: make(map[string]int, len(d.agents))}
	for i, a := range d.agents {
		s := Step{Agent: a, Index: i, Stage: stage[i]}
		for _, t := range a.Requires {
			n := Need{Token: t}
			if by, ok := d.producers[i][t]; ok {
				n.From = d.agents[by].Name
			}
			s.Needs = append(s.Needs, n)
		}
		p.steps = append(p.steps, s)
	}
	slices.SortStableFunc(p.steps, func(a, b Step) int { return a.Stage - b.Stage })
	for i, s := range p.steps {
		p.at[s.Agent.Name] = i
	}
	return p
}

// layers returns the stage of each agent. There must be no cycle.
func (d *draft) layers() []int {
	stage := make([]int, len(d.agents))
	waits := make([]int, len(d.agents))
	for _, next := range d.consumers {
		for _, e := range next {
			waits[e.to]++
		}
	}
	var now, after []int
	for i, n := range waits {
		if n == 0 {
			now = append(now, i)
		}
	}
	for at := 1; len(now) > 0; at++ {
		after = after[:0]
		for _, i := range now {
			stage[i] = at
			for _, e := range d.consumers[i] {
				if waits[e.to]--; waits[e.to] == 0 {
					after = append(after, e.to)
				}
			}
		}
		now, after = after, now
	}
	return stage
}

// Kind is the kind of a token.
type Kind string

// Kinds of tokens.
const (
	Artifact Kind = "artifact" // something known by its name alone
	File     Kind = "file"     // a file or folder, by its path below the project's root
	Symbol   Kind = "symbol"   // a symbol of the code, by its name
)

// Token is something that an agent produces or requires. Equal tokens stand for the same thing.
type Token struct {
	Kind Kind
	Name string // as returned by ParseToken
}

// maxName is the maximum length of a token's name, in bytes.
const maxName = 1000

// ParseToken parses a token such as file:docs/graph.md. It cleans paths, so ./a and a are the same. Errors are
// ken.ErrInvalid, without Field.
func ParseToken(s string) (Token, error) {
	kind, name, ok := strings.Cut(s, ":")
	t := Token{Kind(kind), name}
	switch {
	case !ok || t.Kind != Artifact && t.Kind != File && t.Kind != Symbol:
		return Token{}, invalidToken(s, "is not artifact:NAME, file:PATH or symbol:NAME", "Write it as in artifact:report, file:docs/report.md or symbol:store.Engine.")
	case name == "":
		return Token{}, invalidToken(s, "has no name", "Write a name after the colon, without a space.")
	case len(name) > maxName:
		return Token{}, invalidToken(s, fmt.Sprintf("has a name of %d bytes; %d are allowed", len(name), maxName), "Choose a shorter name.")
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return Token{}, invalidToken(s, "has invisible characters in its name", "Write letters, digits and punctuation.")
	case strings.TrimSpace(name) != name:
		return Token{}, invalidToken(s, "begins or ends with a space", "Write the name without spaces around it.")
	case t.Kind == Artifact && strings.ContainsAny(name, " ,"):
		return Token{}, invalidToken(s, "has a space or comma in its name", "Join the words with hyphens, as in artifact:repository-graph.")
	case t.Kind == File:
		return parseFile(s, name)
	}
	return t, nil
}

func parseFile(s, name string) (Token, error) {
	clean := path.Clean(name)
	switch {
	case strings.Contains(name, `\`):
		return Token{}, invalidToken(s, "has a backslash in its path", "Separate folders with /, on every system.")
	case strings.TrimSpace(clean) != clean: // "./ a"
		return Token{}, invalidToken(s, "begins or ends with a space", "Write the path without spaces around it.")
	case clean == "." || !fs.ValidPath(clean):
		return Token{}, invalidToken(s, "is not a path below the project's root", "Write it from the root on, as in file:docs/report.md.")
	}
	return Token{File, clean}, nil
}

// String returns the token in the form that ParseToken reads.
func (t Token) String() string { return string(t.Kind) + ":" + t.Name }

// MarshalText returns String; it implements encoding.TextMarshaler.
func (t Token) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText calls ParseToken; it implements encoding.TextUnmarshaler.
func (t *Token) UnmarshalText(b []byte) (err error) {
	*t, err = ParseToken(string(b))
	return err
}

// check returns an error for a token that ParseToken would not return.
func (t Token) check() error {
	got, err := ParseToken(t.String())
	if err == nil && got != t {
		err = invalidToken(t.String(), "is not in its normal form, "+got.String(), "Write "+got.String()+".")
	}
	return err
}

func invalidToken(s, msg, try string) error {
	return &ken.Error{Code: ken.CodeInvalid, Msg: fmt.Sprintf("%q %s", analysis.Clip(s, 60), msg), Try: try}
}
