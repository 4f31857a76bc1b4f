package jobs

import (
	"context"
	"fmt"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// maxWait bounds how long a worker sleeps between two checks of the shelf. Timers
// stop while a machine sleeps, and another process may add a job without waking this
// queue.
const maxWait = time.Minute

// next leases the job that has been due the longest, among the kinds that have a
// handler and without the ids in skip. If there is none, j is nil and wait says how
// long to wait for the next. A job whose attempts are used up is returned as Dead.
func (q *Queue) next(ctx context.Context, handlers map[string]Handler, skip map[string]bool) (j *Job, wait time.Duration, err error) {
	for {
		now, back := q.now()
		if !back {
			var err error
			if back, err = q.clockBehind(ctx, now); err != nil {
				return nil, 0, err
			}
		}
		if back {
			if err := q.rewind(ctx, now); err != nil {
				q.mu.Lock()
				q.clock.mono = time.Time{} // rewind again next time
				q.mu.Unlock()
				return nil, 0, err
			}
		}
		id, wait, err := q.look(ctx, now, handlers, skip)
		if err != nil || id == "" {
			return nil, wait, err
		}
		if j, err := q.lease(ctx, id); err != nil || j != nil {
			return j, 0, err
		}
		// Another worker leased the job first.
	}
}

// look finds a job to lease in a read transaction, which does not block writers.
func (q *Queue) look(ctx context.Context, now time.Time, handlers map[string]Handler, skip map[string]bool) (id string, wait time.Duration, err error) {
	wanted := func(e entry) bool { return handlers[e.kind] != nil && !skip[e.id] && !q.isMine(e.id) }
	err = q.shelf.View(ctx, func(r store.ShelfReader) error {
		id, wait = "", maxWait
		var running []Job
		for e := range index(r, Running) {
			if j := q.read(ctx, r, e); j != nil {
				running = append(running, *j)
			}
		}
		q.watchLeases(running)
		for i := range running {
			j := &running[i]
			switch d := q.expires(j, now); {
			case !wanted(entry{id: j.ID, kind: j.Kind}):
			case d > 0:
				wait = min(wait, d)
			default:
				id = j.ID
				return nil
			}
		}
		for e := range index(r, Queued) {
			d := e.at.Sub(now)
			switch {
			case !wanted(e):
			case d > 0:
				wait = min(wait, d)
				return nil
			case q.read(ctx, r, e) != nil:
				id = e.id
				return nil
			}
		}
		return nil
	})
	return id, wait, err
}

// read returns the job of an index entry. It returns nil and logs once if the job
// can't be read, so that the other jobs still run.
func (q *Queue) read(ctx context.Context, r store.ShelfReader, e entry) *Job {
	j, err := load(r, e.id)
	if err == nil && (j == nil || j.indexKey() != e.key) {
		err = &ken.Error{Code: ken.CodeCorrupt, Msg: "the index has job " + e.id + " as " + e.key}
	}
	if err == nil {
		return j
	}
	q.mu.Lock()
	_, logged := q.unreadable[e.id]
	q.unreadable[e.id] = struct{}{}
	q.mu.Unlock()
	if !logged {
		q.o.Log.ErrorContext(ctx, "a job can't be read and is left alone", "job", e.id, "error", err)
	}
	return nil
}

// lease leases a job. It returns nil if the job can no longer be leased. The returned
// job is Running and listed in q.current, or it is Dead.
func (q *Queue) lease(ctx context.Context, id string) (*Job, error) {
	if !q.take(id) {
		return nil, nil
	}
	var out *Job
	err := q.shelf.Update(ctx, func(tx store.ShelfTx) error {
		out = nil
		now := storedTime(q.o.Now())
		j, err := load(tx, id)
		if err != nil || j == nil {
			return err
		}
		old := *j
		switch {
		case j.State == Queued && !j.Due.After(now):
		case j.State == Running && q.stale(j, now):
			j.fail(fmt.Errorf("attempt %d did not finish: its worker %s has ended", j.Attempts, j.Worker))
			if q.o.Alive != nil && j.Process != q.o.Process && !q.o.Alive(j.Process) {
				j.Lost++
			}
			q.o.Log.WarnContext(ctx, "a job's worker has ended", "job", j.ID, "kind", j.Kind, "key", j.Key, "attempt", j.Attempts, "lost", j.Lost, "worker", j.Worker)
			if j.Attempts >= q.o.Attempts || j.Lost >= q.o.Lost {
				j.Try = "Look for what ends the process, such as memory, then run it again with ken jobs retry " + shortID(j.ID) + "."
				q.markDead(j, now)
				out = j
				return save(tx, &old, j)
			}
		default:
			return nil
		}
		j.State, j.Worker, j.Process = Running, q.o.Worker, q.o.Process
		j.Lease = now.Add(q.o.Lease)
		j.Progress = nil
		j.Attempts++
		j.Run++
		out = j
		return save(tx, &old, j)
	})
	if err != nil || out == nil || out.State != Running {
		q.leave(id)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (q *Queue) isMine(id string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	_, ok := q.current[id]
	return ok
}

// take marks a job as run by this queue. It returns false if the queue runs it
// already.
func (q *Queue) take(id string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, ok := q.current[id]; ok {
		return false
	}
	q.current[id] = struct{}{}
	return true
}

func (q *Queue) leave(id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.current, id)
}

// slack is by how much the wall clock may lag behind the monotonic clock before it
// counts as set back. It is longer than the usual corrections by time
// synchronisation.
const slack = time.Second

// now reads the wall clock. back is true if the clock was set back since the last
// call, and on the first call.
func (q *Queue) now() (now time.Time, back bool) {
	now, mono := storedTime(q.o.Now()), time.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	c := &q.clock
	back = c.mono.IsZero() || now.Sub(c.wall) < mono.Sub(c.mono)-slack
	c.wall, c.mono = now, mono
	return now, back
}

// clockBehind reports whether the wall clock is before the latest time that a job was
// written at. That happens when the clock is set forward, a job is written, and the
// clock is set back, all between two calls of now.
func (q *Queue) clockBehind(ctx context.Context, now time.Time) (is bool, err error) {
	err = q.shelf.View(ctx, func(r store.ShelfReader) error {
		is = latest(r).After(now.Add(slack))
		return nil
	})
	return is, err
}

// due makes a job due when a pause from now has passed.
func (q *Queue) due(j *Job, pause time.Duration) {
	j.Since = storedTime(q.o.Now())
	j.Due = storedTime(j.Since.Add(max(pause, 0)))
}

// rewind corrects the times that were written while the clock was ahead of now: a
// pause starts again, and a lease is shortened to the length of a new one. A worker
// that holds such a lease still renews it.
func (q *Queue) rewind(ctx context.Context, now time.Time) error {
	ahead := func(j *Job) bool {
		return j.State == Queued && j.Since.After(now) || j.State == Running && j.Lease.After(now.Add(q.o.Lease))
	}
	var ids []string
	var noted bool // whether a job was written while the clock was ahead
	err := q.shelf.View(ctx, func(r store.ShelfReader) error {
		ids, noted = nil, latest(r).After(now)
		for _, s := range []State{Queued, Running} {
			for e := range index(r, s) {
				// An unreadable job is skipped; List reports it.
				if j, err := load(r, e.id); err == nil && j != nil && ahead(j) {
					ids = append(ids, e.id)
				}
			}
		}
		return nil
	})
	if err != nil || len(ids) == 0 && !noted {
		return err
	}
	return q.shelf.Update(ctx, func(tx store.ShelfTx) error {
		if latest(tx).After(now) {
			if err := setLatest(tx, now); err != nil {
				return err
			}
		}
		for _, id := range ids {
			j, err := load(tx, id)
			if err != nil || j == nil || !ahead(j) {
				continue
			}
			old := *j
			if j.State == Queued {
				j.Due = now.Add(j.Due.Sub(j.Since))
				j.Since = now
			} else {
				j.Lease = now.Add(q.o.Lease)
			}
			if err := save(tx, &old, j); err != nil {
				return err
			}
		}
		return nil
	})
}

// leaseSeen records when this queue first saw a lease.
type leaseSeen struct {
	run   uint64
	lease time.Time
	at    time.Time // has a monotonic reading
}

// is reports whether s is about the current lease of a job.
func (s leaseSeen) is(j *Job) bool { return !s.at.IsZero() && s.run == j.Run && s.lease.Equal(j.Lease) }

// watchLeases records the leases held by living processes, so that expires can tell a
// lease that is not renewed from one that is.
func (q *Queue) watchLeases(running []Job) {
	seen := make(map[string]leaseSeen, len(running))
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range running {
		j := &running[i]
		if j.Process != q.o.Process && q.o.Alive == nil {
			continue
		}
		s := q.seen[j.ID]
		if !s.is(j) {
			s = leaseSeen{j.Run, j.Lease, time.Now()}
		}
		seen[j.ID] = s
	}
	q.seen = seen
}

// expires returns how long until a running job may be taken over unless its lease is
// renewed; 0 or less means now. For a living process it measures by the monotonic
// clock, because a wall clock that was set forward may show the lease as expired.
func (q *Queue) expires(j *Job, now time.Time) time.Duration {
	d := j.Lease.Sub(now)
	if j.Process != q.o.Process {
		switch {
		case q.o.Alive == nil:
			return d
		case !q.o.Alive(j.Process):
			return 0
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.seen[j.ID]
	if !s.is(j) {
		return max(d, q.o.Lease)
	}
	return max(d, q.o.Lease-time.Since(s.at))
}

func (q *Queue) stale(j *Job, now time.Time) bool { return q.expires(j, now) <= 0 }
