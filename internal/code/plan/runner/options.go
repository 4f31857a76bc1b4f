package runner

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/plan"
)

// DefaultWorkers is how many agents run at once unless somebody says otherwise, and
// MaxWorkers the most.
const (
	DefaultWorkers = 4
	MaxWorkers     = 256
)

// DefaultGrace is how long a command may take to end when it is asked to.
const DefaultGrace = 5 * time.Second

// Options say how a plan is carried out. Root must be given.
type Options struct {
	Root  string // the project's folder
	State string // the folder for what is kept; "" keeps nothing, and keeps nobody else out
	ID    string // of the run, for KEN_PLAN

	Agents   []string // these and those whose work they need; empty is all
	Workers  int      // agents at once, 1 to MaxWorkers; 0 is DefaultWorkers
	Resume   bool     // start nobody who is done
	FailFast bool     // stop everything when an agent fails
	Grace    time.Duration

	// Start does the work of an agent until ctx ends, and returns nil when it is done.
	// What it writes to out, from one goroutine at a time, is the agent's output. nil
	// runs the agent's command.
	Start func(ctx context.Context, a plan.Agent, out io.Writer) error

	Progress func(Event)              // called by one goroutine at a time; nil tells nobody
	Output   func(agent, line string) // each line without its end, by one goroutine at a time; may be nil
	Now      func() time.Time         // nil is time.Now
}

func (o *Options) complete() error {
	if o.Workers < 0 || o.Workers > MaxWorkers {
		return &ken.Error{Code: ken.CodeInvalid, Field: "workers", Msg: fmt.Sprintf("%d is not from 1 to %d", o.Workers, MaxWorkers),
			Try: "Give the number of agents that may run at once."}
	}
	o.Workers = cmp.Or(o.Workers, DefaultWorkers)
	o.Grace = cmp.Or(o.Grace, DefaultGrace)
	if o.Progress == nil {
		o.Progress = func(Event) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return nil
}

// State is where an agent stands.
type State string

// States of an agent.
const (
	Running   State = "running"
	Succeeded State = "succeeded"
	Failed    State = "failed"
	Skipped   State = "skipped" // somebody whose work it needs failed
	Stopped   State = "stopped" // the run ended before it did
	Kept      State = "kept"    // succeeded in an earlier run
)

// Event says that an agent has come to a state.
type Event struct {
	Time   time.Time
	Agent  string
	Stage  int
	State  State
	Reason string        // why it failed, was skipped or stopped; "" else
	Took   time.Duration // of those that ran
	Log    string        // the file with its output; "" if none is kept
	Done   int           // agents of the run that have come to their end
	Total  int           // agents of the run
}

// Outcome is what became of an agent.
type Outcome struct {
	Agent   string
	Stage   int
	State   State // not Running
	Reason  string
	Started time.Time // zero if it did not run
	Ended   time.Time // zero if it did not run
	Log     string
}

// Report is what became of a run: its agents in the order of the plan.
type Report struct {
	ID       string
	Started  time.Time
	Ended    time.Time
	Outcomes []Outcome
}

// Count returns how many agents came to a state.
func (r *Report) Count(s State) (n int) {
	for _, o := range r.Outcomes {
		if o.State == s {
			n++
		}
	}
	return n
}

// OK reports whether all agents are done.
func (r *Report) OK() bool { return r.Count(Succeeded)+r.Count(Kept) == len(r.Outcomes) }
