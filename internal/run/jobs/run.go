package jobs

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/kenlayer/ken"
)

// Handler does what a job asks for and says in a few words what came of it. It
// must change nothing when it runs again after it has succeeded, and return soon
// after ctx ends, which it does when the worker is stopped or has lost its lease.
// progress may be called as often as wanted, from any goroutine, until the handler
// returns; it is kept at most once a second.
//
// An error is another attempt later, one that is Permanent is none. An error that is
// Later, and any when ctx ended because the worker was stopped, does not count as an
// attempt. A panic is an error.
type Handler func(ctx context.Context, j Job, progress func(stage string, done, total int)) (note string, err error)

// result is what came of a handler.
type result struct {
	note  string
	err   error
	fault bool // it panicked or ended its goroutine
	stack []byte
}

// call runs a handler in a goroutine of its own, so that neither a panic nor the
// end of that goroutine is the worker's.
func call(ctx context.Context, h Handler, j Job, progress func(string, int, int)) <-chan result {
	done := make(chan result, 1)
	go func() {
		res := result{err: errors.New("the handler ended its goroutine"), fault: true}
		defer func() {
			if r := recover(); r != nil {
				res = result{err: fmt.Errorf("the handler panicked: %v", r), fault: true, stack: debug.Stack()}
			}
			done <- res
		}()
		note, err := h(ctx, j, progress)
		res = result{note: note, err: err}
	}()
	return done
}

// report is the progress that a handler told last.
type report struct {
	mu    sync.Mutex // guards last
	last  *Progress
	fresh chan struct{} // of length 1: there is something to be kept
}

func (r *report) set(stage string, done, total int) {
	r.mu.Lock()
	r.last = &Progress{Stage: stage, Done: done, Total: total}
	r.mu.Unlock()
	select {
	case r.fresh <- struct{}{}:
	default:
	}
}

func (r *report) get() *Progress {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil {
		return nil
	}
	p := *r.last
	p.Stage = clean(p.Stage, maxStage)
	return &p
}

// How a lease is kept: it is renewed after a third of it; when that fails, soon
// again; and given up while there is still time for the handler to stop before
// somebody else may begin.
const (
	renewals     = 3
	triesAgain   = 12
	givesUpAfter = 5.0 / 6
	keepEvery    = time.Second // progress
)

// errLost is the cause of a handler's context that ended with its lease.
var errLost = &ken.Error{Code: ken.CodeRefused, Msg: "the lease is lost: somebody else may run the job now"}

// run runs a leased job and records what came of it.
func (q *Queue) run(ctx context.Context, j *Job, h Handler) (after Job, end ending, err error) {
	defer q.leave(j.ID)
	lost := false
	// What is recorded is recorded although the worker was told to stop.
	keep := context.WithoutCancel(ctx)
	hctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	prog := &report{fresh: make(chan struct{}, 1)}
	done := call(hctx, h, *j, prog.set)

	renewed, saved := time.Now(), time.Now()
	next := q.o.Lease / renewals
	timer := time.NewTimer(next)
	defer timer.Stop()
	at := renewed.Add(next)
	wake := func(d time.Duration) { at = time.Now().Add(d); timer.Reset(d) }
	for {
		select {
		case res := <-done:
			if lost {
				return *j, lostLease, nil
			}
			return q.record(keep, j, res, ctx.Err() != nil)
		case <-prog.fresh:
			if d := max(0, keepEvery-time.Since(saved)); !lost && time.Until(at) > d {
				wake(d)
			}
		case <-timer.C:
			if lost {
				continue
			}
			err := q.renew(keep, j, prog.get())
			switch {
			case err == nil:
				renewed, saved = time.Now(), time.Now()
				wake(q.o.Lease / renewals)
			case errors.Is(err, errLost), time.Since(renewed) >= time.Duration(givesUpAfter*float64(q.o.Lease)):
				lost = true
				cancel(errLost)
				q.o.Log.WarnContext(ctx, "a job's lease is lost", "job", j.ID, "kind", j.Kind, "error", err)
			default:
				q.o.Log.WarnContext(ctx, "a job's lease can't be renewed", "job", j.ID, "kind", j.Kind, "error", err)
				wake(q.o.Lease / triesAgain)
			}
		}
	}
}
