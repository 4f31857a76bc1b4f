package jobs

import (
	"context"
	"time"
)

// Report is what came of a Drain.
type Report struct {
	Done     int // finished
	Retried  int // failed, and due again later
	Dead     int // given up on
	Returned int // put back, because ctx ended or it was not the time for it
	Lost     int // run by somebody else meanwhile, or about to be

	Jobs []Job // as they stand after it, in the order in which they ran
}

func (r *Report) add(j Job, end ending) {
	r.Jobs = append(r.Jobs, j)
	*map[ending]*int{succeeded: &r.Done, failed: &r.Retried, buried: &r.Dead, stopped: &r.Returned, lostLease: &r.Lost}[end]++
}

// Drain runs every job that is due, one after another, and returns. Jobs that
// handlers add meanwhile are run too, but none twice, so that one which fails
// waits for another call. Then it prunes. handlers is by kind; a job of another
// kind stays as it is. The error is ctx's or the shelf's, never a handler's, and
// the report counts what was done before it.
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
			q.tell(ctx, j, buried)
			rep.add(*j, buried)
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
	shelfPause  = time.Second // after the shelf failed; doubles
	shelfPauses = time.Minute // the longest
)

// Work runs jobs as they come due until ctx ends, one at a time: several calls
// run several jobs at once. It returns nil then, after the handler that was
// running has returned. A shelf that fails is logged and tried again.
func (q *Queue) Work(ctx context.Context, handlers map[string]Handler) error {
	var pruned time.Time
	pause := shelfPause
	for ctx.Err() == nil {
		woken := q.woken() // before looking, so that no job is added in between
		wait, err := q.step(ctx, handlers)
		if err == nil && time.Since(pruned) >= pruneEvery {
			pruned = time.Now()
			_, err = q.Prune(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // the end of ctx is how it is stopped
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

// step runs one job, or says how long to wait for one.
func (q *Queue) step(ctx context.Context, handlers map[string]Handler) (wait time.Duration, err error) {
	j, wait, err := q.next(ctx, handlers, nil)
	switch {
	case err != nil || j == nil:
		return max(wait, time.Millisecond), err
	case j.State == Dead:
		q.tell(ctx, j, buried)
		return 0, nil
	}
	_, _, err = q.run(ctx, j, handlers[j.Kind])
	return 0, err
}

// sleep returns after d, or when it is woken or ctx ends.
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
