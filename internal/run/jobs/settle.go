package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kenlayer/ken/store"
)

// own reads a leased job again; errLost when it is no longer this worker's.
func own(r store.ShelfReader, j *Job) (*Job, error) {
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
		held, err := own(tx, j)
		if err != nil {
			return err
		}
		old := *held
		held.Lease = stamp(q.o.Now()).Add(q.o.Lease)
		held.Progress = p
		return save(tx, &old, held)
	})
}

// ending is how an attempt ended.
type ending int

const (
	succeeded ending = iota
	failed           // to be tried again
	buried           // given up on
	stopped          // put back: the worker was told to stop, or it is not the time for it
	lostLease        // nothing was recorded
)

// record writes down what came of a job. told says that the worker was told to
// stop while the handler ran.
func (q *Queue) record(ctx context.Context, j *Job, res result, told bool) (after Job, end ending, err error) {
	err = q.shelf.Update(ctx, func(tx store.ShelfTx) error {
		held, err := own(tx, j)
		if err != nil {
			return err
		}
		old := *held
		end = q.settle(held, res, told)
		after = *held
		return save(tx, &old, held)
	})
	if errors.Is(err, errLost) {
		q.o.Log.WarnContext(ctx, "a job's result comes too late", "job", j.ID, "kind", j.Kind)
		return *j, lostLease, nil
	}
	if err != nil {
		return *j, end, fmt.Errorf("record the result of job %s: %w", j.ID, err)
	}
	if res.stack != nil {
		q.o.Log.ErrorContext(ctx, "a job's handler panicked", "job", j.ID, "kind", j.Kind, "stack", string(res.stack))
	}
	q.tell(ctx, &after, end)
	return after, end, nil
}

// settle decides what a job is after an attempt.
func (q *Queue) settle(j *Job, res result, told bool) ending {
	now := stamp(q.o.Now())
	j.Lease, j.Process, j.Progress, j.Lost = time.Time{}, "", nil, 0
	if res.err == nil {
		j.State, j.Finished = Done, now
		j.Error, j.Try, j.Note = "", "", clean(res.note, maxText)
		return succeeded
	}
	dead := isPermanent(res.err)
	if later := isLater(res.err); !dead && !res.fault && (told || later) {
		j.State = Queued
		j.Attempts--
		pause := time.Duration(0)
		if later {
			pause = q.o.Backoff(1)
		}
		q.due(j, pause)
		return stopped
	}
	j.fail(res.err)
	if dead || j.Attempts >= q.o.Attempts {
		q.bury(j, now)
		return buried
	}
	j.State = Queued
	q.due(j, q.o.Backoff(j.Attempts))
	return failed
}

// bury makes a job dead.
func (q *Queue) bury(j *Job, now time.Time) {
	j.State, j.Finished = Dead, now
	j.Lease, j.Process, j.Progress = time.Time{}, "", nil
}

// tell logs how an attempt ended. A failure is nobody's return value, so this is
// where it is heard of beside the job itself.
func (q *Queue) tell(ctx context.Context, j *Job, end ending) {
	log := q.o.Log.With("job", j.ID, "kind", j.Kind, "key", j.Key, "attempt", j.Attempts)
	switch end {
	case succeeded:
		log.DebugContext(ctx, "a job is done", "note", j.Note)
	case failed:
		log.WarnContext(ctx, "a job failed and is tried again", "error", j.Error, "due", j.Due)
	case buried:
		log.ErrorContext(ctx, "a job is dead", "error", j.Error, "try", j.Try)
	case stopped:
		log.DebugContext(ctx, "a job was put back")
	}
}
