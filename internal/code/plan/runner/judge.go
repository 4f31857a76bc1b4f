package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/code/plan"
)

// judge says what became of an agent that has ended.
func (r *run) judge(ctx context.Context, e ended) {
	a := r.steps[e.step].Agent
	err := e.err
	if err == nil {
		err = r.missing(a)
	}
	switch {
	case err == nil:
		r.finish(e.step, Succeeded, "")
		for _, k := range r.after[e.step] {
			if n := &r.nodes[k]; n.wanted {
				if n.waits--; n.waits == 0 {
					at, _ := slices.BinarySearch(r.ready, k)
					r.ready = slices.Insert(r.ready, at, k)
				}
			}
		}
	case e.err != nil && ctx.Err() != nil && (errors.Is(err, context.Cause(ctx)) || errors.Is(err, ctx.Err())):
		reason := "the run was stopped while it worked"
		if r.over != "" {
			reason = r.over
		}
		r.finish(e.step, Stopped, reason)
	default:
		clean, _ := guardrail.Redact(err.Error())
		r.finish(e.step, Failed, clean)
		r.skip(e.step)
		if r.o.FailFast && r.over == "" {
			r.over = "stopped because " + a.Name + " failed"
			r.stop(errStopped)
		}
	}
}

// errStopped is the cause of a context that ended because an agent failed.
var errStopped = errors.New("stopped")

// skip ends all who need the work of a step.
func (r *run) skip(step int) {
	for _, k := range r.after[step] {
		if n := &r.nodes[k]; n.wanted && n.State == "" {
			n := &r.nodes[step]
			var token plan.Token
			for _, need := range r.steps[k].Needs {
				if need.From == n.Agent {
					token = need.Token
					break
				}
			}
			became := "failed"
			if n.State == Skipped {
				became = "was skipped"
			}
			r.finish(k, Skipped, fmt.Sprintf("needs %s of %s, which %s", token, n.Agent, became))
			r.skip(k)
		}
	}
}

// missing says which file of an agent is not there.
func (r *run) missing(a plan.Agent) error {
	var errs []error
	for _, t := range a.Produces {
		if t.Kind != plan.File {
			continue
		}
		switch _, err := r.files.Stat(t.Name); {
		case errors.Is(err, fs.ErrNotExist):
			errs = append(errs, fmt.Errorf("it ended well, but %s is not there", t))
		case err != nil:
			errs = append(errs, fmt.Errorf("it ended well, but %s can't be used: %w", t, err))
		}
	}
	return errors.Join(errs...)
}

// finish notes the end of an agent.
func (r *run) finish(step int, s State, reason string) {
	n := &r.nodes[step]
	ran := n.State == Running
	n.State, n.Reason = s, reason
	if ran {
		n.Ended, n.Log = r.o.Now(), r.keep.log(n.Agent)
	}
	r.done++
	if s != Kept {
		r.keep.remember(r.steps[step].Agent, &n.Outcome)
	}
	r.tell(n)
}

func (r *run) tell(n *node) {
	e := Event{Time: r.o.Now(), Agent: n.Agent, Stage: n.Stage, State: n.State, Reason: n.Reason, Log: n.Log, Done: r.done, Total: r.total}
	if !n.Ended.IsZero() {
		e.Took = n.Ended.Sub(n.Started)
	}
	r.o.Progress(e)
}
