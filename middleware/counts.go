package middleware

import (
	"sync/atomic"

	"github.com/kenlayer/ken/internal/run/jobs"
)

// Counts is what a layer did behind the turns' backs since it was opened.
type Counts struct {
	Written uint64 // records of turns and answers that were handed to the journals and the receipts
	Lost    uint64 // records that were left out, because they came too fast
	Waiting int    // records that are still to be written

	Harvested uint64 // jobs that were done
	Retried   uint64 // runs of jobs that failed and are due again
	Dead      uint64 // jobs that were given up on
}

// counts are those that have no place of their own.
type counts struct{ done, retried, dead atomic.Uint64 }

// harvested counts a run of the queue.
func (c *counts) harvested(r *jobs.Report) {
	c.done.Add(uint64(r.Done))
	c.retried.Add(uint64(r.Retried))
	c.dead.Add(uint64(r.Dead))
}

// Counts returns what was done so far.
func (l *Layer) Counts() Counts {
	c := Counts{Harvested: l.counts.done.Load(), Retried: l.counts.retried.Load(), Dead: l.counts.dead.Load()}
	r := l.recorder
	r.mu.Lock()
	defer r.mu.Unlock()
	c.Lost, c.Waiting = r.dropped, r.waiting
	c.Written = r.taken - uint64(max(r.waiting, 0))
	return c
}
