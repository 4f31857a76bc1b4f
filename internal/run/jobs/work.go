package jobs

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// Report counts the results of a Drain.
type Report struct {
	Done     int // finished
	Retried  int // failed, and tried again later
	Dead     int // failed for good
	Returned int // put back: ctx ended, or the handler returned a Later error
	Lost     int // leased by another worker meanwhile, or about to be

	Jobs []Job // after the run, in the order in which they ran
}

func (r *Report) add(j Job, end attemptEnd) {
	r.Jobs = append(r.Jobs, j)
	*map[attemptEnd]*int{succeeded: &r.Done, failed: &r.Retried, gaveUp: &r.Dead, returned: &r.Returned, lostLease: &r.Lost}[end]++
}

// Drain runs every job that is due, one after another, prunes, and returns. It also
// runs jobs that handlers add meanwhile. It runs no job twice, so a job that fails
// waits for another call. handlers is keyed by job kind; jobs of other kinds are left
// alone. The error comes from ctx or the shelf, never from a handler; the report
// counts what was done before it.
func (q *Queue) Drain(ctx context.Context, handlers map[string]Handler) (Report, error) {
	var rep Report
	tried := map[string]bool{}
	for {
		j, _, err := q.next(ctx, handlers, tried)
		if err != nil {
			return rep, err
		}
		if j == nil {
			_, err := q.Prune(ctx)
			return rep, err
		}
		tried[j.ID] = true
		if j.State == Dead {
			q.logAttempt(ctx, j, gaveUp)
			rep.add(*j, gaveUp)
			continue
		}
		after, end, err := q.run(ctx, j, handlers[j.Kind])
		if err != nil {
			return rep, err
		}
		rep.add(after, end)
	}
}

const (
	pruneEvery  = time.Hour
	shelfPause  = time.Second // after the shelf failed; doubles each time
	shelfPauses = time.Minute // the longest pause
)

// Work runs jobs as they become due until ctx ends, one at a time. Call it several
// times to run several jobs at once. When ctx ends, it waits for the running handler
// and returns nil. If the shelf fails, it logs the error and tries again.
func (q *Queue) Work(ctx context.Context, handlers map[string]Handler) error {
	var pruned time.Time
	pause := shelfPause
	for ctx.Err() == nil {
		woken := q.woken() // before looking, so that no wake is missed
		wait, err := q.step(ctx, handlers)
		if err == nil && time.Since(pruned) >= pruneEvery {
			pruned = time.Now()
			_, err = q.Prune(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // the end of ctx is the normal way to stop
		case err != nil:
			q.o.Log.WarnContext(ctx, "the job queue fails and is tried again", "error", err, "in", pause)
			sleep(ctx, nil, pause)
			pause = min(2*pause, shelfPauses)
		default:
			pause = shelfPause
			sleep(ctx, woken, wait)
		}
	}
	return nil
}

// step runs one job, or returns how long to wait for one.
func (q *Queue) step(ctx context.Context, handlers map[string]Handler) (wait time.Duration, err error) {
	j, wait, err := q.next(ctx, handlers, nil)
	switch {
	case err != nil || j == nil:
		return max(wait, time.Millisecond), err
	case j.State == Dead:
		q.logAttempt(ctx, j, gaveUp)
		return 0, nil
	}
	_, _, err = q.run(ctx, j, handlers[j.Kind])
	return 0, err
}

// sleep returns after d, when woken is closed, or when ctx ends.
func sleep(ctx context.Context, woken <-chan struct{}, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-woken:
	case <-ctx.Done():
	}
}

// Handler runs a job and returns a short note about the result. It must be idempotent,
// because it may run again after it succeeded. It must return soon after ctx ends,
// which happens when the worker is stopped or loses its lease. It may call progress at
// any rate, from any goroutine, until it returns; progress is stored at most once a
// second.
//
// An error makes the job run again later, unless it is Permanent. An attempt does not
// count if the error is Later, or if ctx ended because the worker was stopped. A panic
// counts as an error.
type Handler func(ctx context.Context, j Job, progress func(stage string, done, total int)) (note string, err error)

// result is the result of a handler.
type result struct {
	note  string
	err   error
	fault bool // the handler panicked or ended its goroutine
	stack []byte
}

// runHandler runs a handler in a goroutine of its own, so that a panic or
// runtime.Goexit does not end the worker.
func runHandler(ctx context.Context, h Handler, j Job, progress func(string, int, int)) <-chan result {
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

// report holds the latest progress of a handler.
type report struct {
	mu    sync.Mutex // guards last
	last  *Progress
	fresh chan struct{} // capacity 1: last changed since it was stored
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
	p.Stage = cleaned(p.Stage, maxStage)
	return &p
}

// Lease renewal: a lease is renewed after 1/renewals of its length. If that fails, it
// is tried again after 1/triesAgain of its length. After givesUpAfter of its length
// the handler is stopped, so that it ends before another worker may begin.
const (
	renewals     = 3
	triesAgain   = 12
	givesUpAfter = 5.0 / 6
	keepEvery    = time.Second // how often progress is stored
)

// errLost is the cause with which a handler's context ends when the lease is lost.
var errLost = &ken.Error{Code: ken.CodeRefused, Msg: "the lease is lost: another worker may run the job now"}

// run runs a leased job and records what came of it.
func (q *Queue) run(ctx context.Context, j *Job, h Handler) (after Job, end attemptEnd, err error) {
	defer q.leave(j.ID)
	lost := false
	// The result is recorded even if the worker was stopped.
	keep := context.WithoutCancel(ctx)
	hctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	prog := &report{fresh: make(chan struct{}, 1)}
	done := runHandler(hctx, h, *j, prog.set)

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

// reread reads a leased job again. It returns errLost if this worker no longer holds
// the lease.
func reread(r store.ShelfReader, j *Job) (*Job, error) {
	now, err := load(r, j.ID)
	if err != nil {
		return nil, err
	}
	if now == nil || now.State != Running || now.Run != j.Run {
		return nil, errLost
	}
	return now, nil
}

func (q *Queue) renew(ctx context.Context, j *Job, p *Progress) error {
	return q.shelf.Update(ctx, func(tx store.ShelfTx) error {
		held, err := reread(tx, j)
		if err != nil {
			return err
		}
		old := *held
		held.Lease = storedTime(q.o.Now()).Add(q.o.Lease)
		held.Progress = p
		return save(tx, &old, held)
	})
}

// attemptEnd says how an attempt ended.
type attemptEnd int

const (
	succeeded attemptEnd = iota
	failed               // tried again later
	gaveUp               // the job is dead
	returned             // put back: the worker was stopped, or the error was Later
	lostLease            // nothing was recorded
)

// record stores the result of a job. stopped says that the worker was stopped while
// the handler ran.
func (q *Queue) record(ctx context.Context, j *Job, res result, stopped bool) (after Job, end attemptEnd, err error) {
	err = q.shelf.Update(ctx, func(tx store.ShelfTx) error {
		held, err := reread(tx, j)
		if err != nil {
			return err
		}
		old := *held
		end = q.settle(held, res, stopped)
		after = *held
		return save(tx, &old, held)
	})
	if errors.Is(err, errLost) {
		q.o.Log.WarnContext(ctx, "a job's result arrived after its lease was lost", "job", j.ID, "kind", j.Kind)
		return *j, lostLease, nil
	}
	if err != nil {
		return *j, end, fmt.Errorf("record the result of job %s: %w", j.ID, err)
	}
	if res.stack != nil {
		q.o.Log.ErrorContext(ctx, "a job's handler panicked", "job", j.ID, "kind", j.Kind, "stack", string(res.stack))
	}
	q.logAttempt(ctx, &after, end)
	return after, end, nil
}

// settle updates a job after an attempt and returns how the attempt ended.
func (q *Queue) settle(j *Job, res result, stopped bool) attemptEnd {
	now := storedTime(q.o.Now())
	j.Lease, j.Process, j.Progress, j.Lost = time.Time{}, "", nil, 0
	if res.err == nil {
		j.State, j.Finished = Done, now
		j.Error, j.Try, j.Note = "", "", cleaned(res.note, maxText)
		return succeeded
	}
	dead := errors.Is(res.err, errPermanent)
	if later := errors.Is(res.err, errLater); !dead && !res.fault && (stopped || later) {
		j.State = Queued
		j.Attempts--
		pause := time.Duration(0)
		if later {
			pause = q.o.Backoff(1)
		}
		q.due(j, pause)
		return returned
	}
	j.fail(res.err)
	if dead || j.Attempts >= q.o.Attempts {
		q.markDead(j, now)
		return gaveUp
	}
	j.State = Queued
	q.due(j, q.o.Backoff(j.Attempts))
	return failed
}

func (q *Queue) markDead(j *Job, now time.Time) {
	j.State, j.Finished = Dead, now
	j.Lease, j.Process, j.Progress = time.Time{}, "", nil
}

// logAttempt logs how an attempt ended. No caller returns a handler's error, so the
// log and the job are the only places that show it.
func (q *Queue) logAttempt(ctx context.Context, j *Job, end attemptEnd) {
	log := q.o.Log.With("job", j.ID, "kind", j.Kind, "key", j.Key, "attempt", j.Attempts)
	switch end {
	case succeeded:
		log.DebugContext(ctx, "a job is done", "note", j.Note)
	case failed:
		log.WarnContext(ctx, "a job failed and is tried again", "error", j.Error, "due", j.Due)
	case gaveUp:
		log.ErrorContext(ctx, "a job is dead", "error", j.Error, "try", j.Try)
	case returned:
		log.DebugContext(ctx, "a job was put back")
	}
}
