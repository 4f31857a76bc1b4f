package plan

import (
	"slices"
	"strconv"
	"time"

	"github.com/kenlayer/ken"
)

// Agent is one who does a part of the work.
type Agent struct {
	Name     string // unique among the agents, whatever the case of its letters
	Produces []Token
	Requires []Token
	Command  []string      // program and arguments; empty if something else starts it
	Timeout  time.Duration // of the command; 0 is none
}

// Step is an agent in its place.
type Step struct {
	Agent Agent
	Index int    // among the agents that were given
	Stage int    // from 1: what it needs of others is made in stages before
	Needs []Need // one for each of Agent.Requires, in their order
}

// Need is where a required token comes from.
type Need struct {
	Token Token
	From  string // the agent that produces it; "" if it is there already
}

// Plan is the agents in order. It is not changed after New, and safe for concurrent
// use; a nil one is empty.
type Plan struct {
	steps []Step         // by stage, within one as they were given
	at    map[string]int // names in steps
}

// New makes a plan. It calls exists, once for each token of a kind other than
// Artifact that nobody produces, to ask if it is there already; nil stands for "no".
// Without an agent that produces or requires anything there is no plan: New returns
// nil and no error. Otherwise the error is all faults, joined, in the order of the
// agents, each a ken.Error that is ken.ErrInvalid with a Field such as
// agents[2].requires[0].
func New(agents []Agent, exists func(Token) bool) (*Plan, error) {
	if !slices.ContainsFunc(agents, func(a Agent) bool { return len(a.Produces)+len(a.Requires) > 0 }) {
		return nil, nil
	}
	d := newDraft(agents, exists)
	d.checkNames()
	d.checkTokens()
	d.findProducers()
	d.meetNeeds()
	d.findCycles()
	if err := d.err(); err != nil {
		return nil, err
	}
	return d.plan(), nil
}

// Check finds the faults that can be seen without a look at the project: those of
// New, where every required file and symbol is there.
func Check(agents []Agent) error {
	_, err := New(agents, func(Token) bool { return true })
	return err
}

// Steps returns all steps, by stage, and within a stage as the agents were given. The
// caller doesn't change them.
func (p *Plan) Steps() []Step {
	if p == nil {
		return nil
	}
	return p.steps
}

// Stages returns the steps of each stage. Those of one need nothing of each other.
// The caller doesn't change them.
func (p *Plan) Stages() [][]Step {
	return slices.Collect(func(yield func([]Step) bool) {
		for rest := p.Steps(); len(rest) > 0; {
			n := slices.IndexFunc(rest, func(s Step) bool { return s.Stage != rest[0].Stage })
			if n < 0 {
				n = len(rest)
			}
			if !yield(rest[:n:n]) {
				return
			}
			rest = rest[n:]
		}
	})
}

// With returns the names of these agents and of all whose work they need, in the order
// of Steps; without names, of all. It is ken.ErrNotFound for an agent that the plan
// doesn't have.
func (p *Plan) With(names ...string) ([]string, error) {
	steps := p.Steps()
	in := make([]bool, len(steps))
	for _, name := range names {
		i, ok := p.find(name)
		if !ok {
			return nil, p.unknown(name)
		}
		in[i] = true
	}
	for i, s := range slices.Backward(steps) { // who is needed stands before
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

func (p *Plan) find(name string) (int, bool) {
	if p == nil {
		return 0, false
	}
	i, ok := p.at[name]
	return i, ok
}

func (p *Plan) unknown(name string) error {
	e := &ken.Error{Code: ken.CodeNotFound, Msg: "there is no agent " + strconv.Quote(name) + " in the plan", Try: "See ken plan for their names."}
	var names []string
	for _, s := range p.Steps() {
		names = append(names, s.Agent.Name)
	}
	if near := nearest(name, names); near != "" {
		e.Try = "Did you mean " + near + "?"
	}
	return e
}
