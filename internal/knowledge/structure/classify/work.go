package classify

import (
	"context"
	"errors"
	"sync"

	"github.com/kenlayer/ken/internal/run/jobs"
)

// Handlers is who runs which job, for a queue over the store's shelf.
func (c *Classifier) Handlers() map[string]jobs.Handler {
	return map[string]jobs.Handler{JobClassify: c.aspectsOf, JobDependency: c.dependenciesOf}
}

// Work runs the jobs of both passes as they come until ctx ends, each pass by itself:
// one that fails or is slow does not keep the other. It does nothing without a model.
func (c *Classifier) Work(ctx context.Context, q *jobs.Queue) {
	if c.o.Ask == nil {
		return
	}
	var passes sync.WaitGroup
	for kind, h := range c.Handlers() {
		passes.Go(func() { _ = q.Work(ctx, map[string]jobs.Handler{kind: h}) }) // nil when ctx ends
	}
	passes.Wait()
}

// errModelFails ends a Drain.
var errModelFails = errors.New("the model does not answer")

// Drain runs the jobs of both passes that are due, and returns. A pass whose model
// does not answer is left at the first job, and the others wait as they are.
func (c *Classifier) Drain(ctx context.Context, q *jobs.Queue) (jobs.Report, error) {
	var all jobs.Report
	if c.o.Ask == nil {
		return all, nil
	}
	for _, kind := range []string{JobClassify, JobDependency} {
		pass, stop := context.WithCancelCause(ctx)
		h, failed := c.Handlers()[kind], false
		r, err := q.Drain(pass, map[string]jobs.Handler{kind: func(ctx context.Context, j jobs.Job, progress func(string, int, int)) (string, error) {
			if failed {
				stop(errModelFails)
				return "", errModelFails // it was told to stop, so that is no attempt
			}
			note, err := h(ctx, j, progress)
			failed = err != nil
			return note, err
		}})
		if errors.Is(context.Cause(pass), errModelFails) && ctx.Err() == nil {
			err = nil
		}
		stop(nil)
		all.Done, all.Retried, all.Dead = all.Done+r.Done, all.Retried+r.Retried, all.Dead+r.Dead
		all.Returned, all.Lost, all.Jobs = all.Returned+r.Returned, all.Lost+r.Lost, append(all.Jobs, r.Jobs...)
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// settle keeps the counts of a job that has ended, and says what to do about its
// error.
func (c *Classifier) settle(ctx context.Context, err error) error {
	if kept := c.flush(context.WithoutCancel(ctx), nil, nil); kept != nil && err == nil {
		c.o.Log.DebugContext(ctx, "counts are not kept", "cause", kept)
	}
	return err
}
