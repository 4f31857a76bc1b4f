package jobs

import (
	"context"
	"sync"
	"time"

	"github.com/kenlayer/ken/store"
)

// Queue adds jobs to a shelf and runs them. It is safe for concurrent use; the
// jobs are on the shelf, so any number of queues over one shelf are one queue.
type Queue struct {
	shelf store.Shelf
	o     Options

	mu    sync.Mutex // guards the rest
	wake  chan struct{}
	mine  map[string]struct{} // jobs that this queue is running
	seen  map[string]sighting // leases that are held in this process
	told  map[string]struct{} // jobs that can't be read, and are in the log
	clock struct {
		wall, mono time.Time // when it was last read; zero before the first time
	}
}

// NewQueue returns a queue over a shelf.
func NewQueue(shelf store.Shelf, o Options) *Queue {
	return &Queue{shelf: shelf, o: o.withDefaults(), wake: make(chan struct{}), mine: map[string]struct{}{}, seen: map[string]sighting{},
		told: map[string]struct{}{}}
}

// Add adds a job in a transaction of its own and wakes whoever works on this
// queue. It returns the job that is there now; added is false when it was there
// before. Errors: ErrInvalid.
func (q *Queue) Add(ctx context.Context, n New) (j Job, added bool, err error) {
	err = q.shelf.Update(ctx, func(tx store.ShelfTx) error {
		var id string
		if id, added, err = Add(tx, q.o.Now(), n); err != nil {
			return err
		}
		there, err := load(tx, id)
		if err == nil {
			j = *there
		}
		return err
	})
	if err != nil {
		return Job{}, false, err
	}
	if added {
		q.Wake()
	}
	return j, added, nil
}

// Wake makes the workers of this queue look for jobs now. Call it after a
// transaction that added one with the function Add.
func (q *Queue) Wake() {
	q.mu.Lock()
	defer q.mu.Unlock()
	close(q.wake)
	q.wake = make(chan struct{})
}

func (q *Queue) woken() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.wake
}
