package runner

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/plan"
	"github.com/kenlayer/ken/internal/projectfile"
)

// Run runs a plan and returns when all agents have ended. A failed agent is in the report and is not an error. Errors:
// that of ctx, with a report, if ctx ended first; ken.ErrInvalid for invalid options and for an agent without a
// command; ken.ErrNotFound for an agent that is not in the plan; ken.ErrHeld while another Run uses the same State;
// ken.ErrCorrupt for a plan.json that can't be read, which is not changed. Without a report, nothing was started.
func Run(ctx context.Context, p *plan.Plan, o Options) (*Report, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	r, err := newRun(p, o)
	if err != nil {
		return nil, err
	}
	if r.files, err = projectfile.Open(o.Root); err != nil {
		return nil, err
	}
	defer r.files.Close()
	if r.store, err = openState(&r.o); err != nil {
		return nil, err
	}
	r.choose()
	if err := r.startable(); err != nil {
		return nil, errors.Join(err, r.store.close())
	}
	report := &Report{ID: o.ID, Started: r.o.Now()}
	r.errs = append(r.errs, r.store.begin(report.Started))
	inner, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	r.stop = stop
	r.loop(inner)
	report.Ended = r.o.Now()
	report.Outcomes = r.outcomes()
	r.errs = append(r.errs, r.store.end(report.Ended), r.store.close(), ctx.Err())
	return report, errors.Join(r.errs...)
}

// run is the state of a run. One goroutine uses it; agents report to ended.
type run struct {
	o     Options
	steps []plan.Step
	after [][]int // by step: the steps that need its work
	files *projectfile.Folder
	store *stateStore
	stop  context.CancelCauseFunc
	out   output

	nodes      []node // by step
	ready      []int  // steps that can start, in the order of the plan
	busy       int
	done       int
	total      int
	stopReason string // reason why no more agents are started; "" while the run continues
	ended      chan finishedStep
	errs       []error
}

type node struct {
	Outcome
	selected   bool
	waitingFor int  // number of steps that it waits for
	discarded  bool // its saved state was removed
}

type finishedStep struct {
	step int
	err  error
}

func newRun(p *plan.Plan, o Options) (*run, error) {
	names, err := p.With(o.Agents...)
	if err != nil {
		return nil, err
	}
	steps := p.Steps()
	r := &run{o: o, steps: steps, after: make([][]int, len(steps)), nodes: make([]node, len(steps)), total: len(names), ended: make(chan finishedStep)}
	r.out.emit = o.Output
	at := make(map[string]int, len(steps))
	for i, s := range steps {
		n := &r.nodes[i]
		n.Agent, n.Stage = s.Agent.Name, s.Stage
		at[s.Agent.Name] = i
		for _, need := range s.Needs {
			if need.From == "" {
				continue
			}
			from := at[need.From]
			if k := r.after[from]; len(k) == 0 || k[len(k)-1] != i { // once, however many tokens it is
				n.waitingFor++
				r.after[from] = append(k, i)
			}
		}
	}
	for _, name := range names {
		r.nodes[at[name]].selected = true
	}
	return r, nil
}

// choose decides which agents need not run again. It removes the saved state of the agents that start, and of all that
// need their work.
func (r *run) choose() {
	for i := range r.nodes { // needed agents come first, so the state of an agent is removed before its turn if one that it needs starts
		n := &r.nodes[i]
		switch {
		case !n.selected:
		case r.o.Resume && r.store.succeeded(r.steps[i].Agent) && r.missing(r.steps[i].Agent) == nil:
			n.State = Kept
			n.Log = r.store.log(n.Agent)
			for _, k := range r.after[i] {
				r.nodes[k].waitingFor--
			}
		default:
			r.discard(i)
			if n.waitingFor == 0 {
				r.ready = append(r.ready, i)
			}
		}
	}
}

func (r *run) discard(step int) {
	n := &r.nodes[step]
	if n.discarded {
		return
	}
	n.discarded = true
	r.store.forget(n.Agent)
	for _, k := range r.after[step] {
		r.discard(k)
	}
}

// startable returns an error for agents without a command if there is no Start.
func (r *run) startable() error {
	var errs []error
	for i, s := range r.steps {
		if n := &r.nodes[i]; r.o.Start == nil && n.selected && n.State != Kept && len(s.Agent.Command) == 0 {
			errs = append(errs, &ken.Error{Code: ken.CodeInvalid, Field: fmt.Sprintf("agents[%d].command", s.Index), Msg: "missing: " + s.Agent.Name + " can't be run",
				Try: "Give it a command, or name the agents to run."})
		}
	}
	return errors.Join(errs...)
}

// loop starts and ends agents until all are done.
func (r *run) loop(ctx context.Context) {
	for i := range r.nodes {
		if r.nodes[i].State == Kept {
			r.finish(i, Kept, "")
		}
	}
	cancelled := ctx.Done()
	for {
		if ctx.Err() != nil && r.stopReason == "" {
			r.stopReason = "the run was stopped"
		}
		for r.stopReason == "" && r.busy < r.o.Workers && len(r.ready) > 0 {
			r.begin(ctx, r.ready[0])
			r.ready = r.ready[1:]
		}
		if r.busy == 0 {
			break
		}
		select {
		case e := <-r.ended:
			r.busy--
			r.outcomeOf(ctx, e)
			r.errs = append(r.errs, r.store.save())
		case <-cancelled:
			cancelled = nil
		}
	}
	for i := range r.nodes {
		if n := &r.nodes[i]; n.selected && n.State == "" {
			r.finish(i, Stopped, r.stopReason)
		}
	}
}

func (r *run) begin(ctx context.Context, step int) {
	n := &r.nodes[step]
	n.State, n.Started = Running, r.o.Now()
	r.busy++
	r.notify(n)
	go func() { r.ended <- finishedStep{step, r.work(ctx, r.steps[step].Agent)} }()
}

// errTimeout is the cause of a context whose agent exceeded its timeout.
var errTimeout = errors.New("took too long")

// work runs one agent.
func (r *run) work(ctx context.Context, a plan.Agent) (err error) {
	if a.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, a.Timeout, errTimeout)
		defer cancel()
	}
	log, err := r.store.create(a.Name)
	if err != nil {
		return fmt.Errorf("store its output: %w", err)
	}
	out := &lines{agent: a.Name, to: &r.out, log: log}
	start := r.o.Start
	if start == nil {
		start = r.command
	}
	err = start(ctx, a, out)
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, errTimeout) {
		err = fmt.Errorf("took longer than %s and was ended", a.Timeout)
	}
	if closed := out.close(); err == nil {
		err = closed
	}
	return err
}

func (r *run) outcomes() (all []Outcome) {
	for i := range r.nodes {
		if n := &r.nodes[i]; n.selected {
			all = append(all, n.Outcome)
		}
	}
	return all
}

// DefaultWorkers is the default number of agents that run at the same time. MaxWorkers is the maximum.
const (
	DefaultWorkers = 4
	MaxWorkers     = 256
)

// DefaultGrace is the time that a command has to end after it was asked to.
const DefaultGrace = 5 * time.Second

// Options configures Run. Root is required.
type Options struct {
	Root  string // the project's folder
	State string // folder of the stored state; "" stores nothing and takes no lock
	ID    string // of the run, for KEN_PLAN

	Agents   []string // these and the agents whose work they need; empty means all
	Workers  int      // agents at the same time, 1 to MaxWorkers; 0 means DefaultWorkers
	Resume   bool     // do not start agents that are done
	FailFast bool     // stop everything when an agent fails
	Grace    time.Duration

	// Start runs an agent until ctx ends, and returns nil on success. It writes the agent's output to out, from one
	// goroutine at a time. If Start is nil, the agent's command is run.
	Start func(ctx context.Context, a plan.Agent, out io.Writer) error

	Progress func(Event)              // called from one goroutine at a time; may be nil
	Output   func(agent, line string) // called with each line without its end, from one goroutine at a time; may be nil
	Now      func() time.Time         // nil means time.Now
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

// State is the state of an agent.
type State string

// States of an agent.
const (
	Running   State = "running"
	Succeeded State = "succeeded"
	Failed    State = "failed"
	Skipped   State = "skipped" // an agent whose work it needs failed
	Stopped   State = "stopped" // the run ended before the agent did
	Kept      State = "kept"    // it succeeded in an earlier run
)

// Event reports that an agent has reached a state.
type Event struct {
	Time   time.Time
	Agent  string
	Stage  int
	State  State
	Reason string        // why it failed, was skipped or stopped; otherwise ""
	Took   time.Duration // running time, for agents that ran
	Log    string        // path of the file with its output; "" if none is stored
	Done   int           // agents of the run that have ended
	Total  int           // agents of the run
}

// Outcome is the final state of an agent.
type Outcome struct {
	Agent   string
	Stage   int
	State   State // not Running
	Reason  string
	Started time.Time // zero if it did not run
	Ended   time.Time // zero if it did not run
	Log     string
}

// Report is the result of a run, with its agents in the order of the plan.
type Report struct {
	ID       string
	Started  time.Time
	Ended    time.Time
	Outcomes []Outcome
}

// Count returns the number of agents with a state.
func (r *Report) Count(s State) (n int) {
	for _, o := range r.Outcomes {
		if o.State == s {
			n++
		}
	}
	return n
}

// OK reports whether all agents have succeeded, now or in an earlier run.
func (r *Report) OK() bool { return r.Count(Succeeded)+r.Count(Kept) == len(r.Outcomes) }

// output serializes the lines of all agents.
type output struct {
	mu   sync.Mutex // guards calls of tell
	emit func(agent, line string)
}

// maxLine is the maximum length of a line in bytes. Longer lines are split.
const maxLine = 64 << 10

// lines splits an agent's output into lines.
type lines struct {
	agent   string
	to      *output
	log     *logFile
	partial []byte // the beginning of an unfinished line
	err     error  // error of the log
}

// Write implements io.Writer. It never fails, because a command must not fail when its log can't be written.
func (l *lines) Write(p []byte) (int, error) {
	if l.err == nil {
		l.err = l.log.write(p)
	}
	if l.to.emit == nil {
		return len(p), nil
	}
	for rest := p; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte{'\n'})
		if room := maxLine - len(l.partial); len(line) > room {
			line, after, ended = rest[:room], rest[room:], true
		}
		l.partial = append(l.partial, line...)
		if rest = after; ended {
			l.flush()
		}
	}
	return len(p), nil
}

func (l *lines) flush() {
	l.to.mu.Lock()
	defer l.to.mu.Unlock()
	l.to.emit(l.agent, string(bytes.TrimSuffix(l.partial, []byte{'\r'})))
	l.partial = l.partial[:0]
}

// close passes on the last line and returns the errors of the log.
func (l *lines) close() error {
	if len(l.partial) > 0 {
		l.flush()
	}
	return errors.Join(l.err, l.log.close())
}
