package jobs

import (
	"context"
	"time"

	"github.com/kenlayer/ken/store"
)

// slack is by how much the wall clock may fall behind the monotonic one before it
// was set back: more than what keeping it exact takes.
const slack = time.Second

// now reads the wall clock. back says that it was set back since it was last
// read, or that nothing is known of that.
func (q *Queue) now() (now time.Time, back bool) {
	now, mono := stamp(q.o.Now()), time.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	c := &q.clock
	back = c.mono.IsZero() || now.Sub(c.wall) < mono.Sub(c.mono)-slack
	c.wall, c.mono = now, mono
	return now, back
}

// behind reports whether the wall clock stands before the time of a job that was
// written: it was set forward, a job was written, and it was set back, all between
// two looks of this queue.
func (q *Queue) behind(ctx context.Context, now time.Time) (is bool, err error) {
	err = q.shelf.View(ctx, func(r store.ShelfReader) error {
		is = latest(r).After(now.Add(slack))
		return nil
	})
	return is, err
}

// due makes a job due after a pause from now.
func (q *Queue) due(j *Job, pause time.Duration) {
	j.Since = stamp(q.o.Now())
	j.Due = stamp(j.Since.Add(max(pause, 0)))
}

// rewind puts right what was written under a clock that was ahead of now: a pause
// starts again, and a lease is as long as one that was just renewed. Whoever holds
// such a lease renews it all the same.
func (q *Queue) rewind(ctx context.Context, now time.Time) error {
	ahead := func(j *Job) bool {
		return j.State == Queued && j.Since.After(now) || j.State == Running && j.Lease.After(now.Add(q.o.Lease))
	}
	var ids []string
	var noted bool // that the clock was ahead
	err := q.shelf.View(ctx, func(r store.ShelfReader) error {
		ids, noted = nil, latest(r).After(now)
		for _, s := range []State{Queued, Running} {
			for e := range index(r, s) {
				// What can't be read is skipped here as everywhere: List tells of it.
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

// sighting is a lease as it was first seen.
type sighting struct {
	run   uint64
	lease time.Time
	at    time.Time // by the monotonic clock
}

// watch notes the leases that are held by the living, so that one that stands still
// can be told from one that is renewed.
func (q *Queue) watch(running []Job) {
	seen := make(map[string]sighting, len(running))
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range running {
		j := &running[i]
		if j.Process != q.o.Process && q.o.Alive == nil {
			continue
		}
		s, ok := q.seen[j.ID]
		if !ok || s.run != j.Run || !s.lease.Equal(j.Lease) {
			s = sighting{j.Run, j.Lease, time.Now()}
		}
		seen[j.ID] = s
	}
	q.seen = seen
}

// expires says in how long a running job may be taken over, unless its lease is
// renewed; 0 or less is now. Whoever lives may be at it although the wall clock,
// having been set forward, says that the lease is over.
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
	s, ok := q.seen[j.ID]
	if !ok || s.run != j.Run || !s.lease.Equal(j.Lease) {
		return max(d, q.o.Lease)
	}
	return max(d, q.o.Lease-time.Since(s.at))
}

func (q *Queue) stale(j *Job, now time.Time) bool { return q.expires(j, now) <= 0 }
