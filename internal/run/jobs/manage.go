package jobs

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// Retry makes a job that is dead, or waits for its time, due now, with all its
// attempts before it, and returns it. Errors: ErrNotFound; ErrRefused for one
// that is done or running.
func (q *Queue) Retry(ctx context.Context, id string) (Job, error) {
	var out Job
	err := q.shelf.Update(ctx, func(tx store.ShelfTx) error {
		j, err := find(tx, id)
		if err != nil {
			return err
		}
		switch j.State {
		case Done:
			return refused(j, "is done", "Remove it with ken jobs rm "+short(j.ID)+" and add it again, if it is to be done again.")
		case Running:
			return q.running(j)
		}
		old := *j
		j.State, j.Attempts, j.Lost, j.Finished = Queued, 0, 0, time.Time{}
		q.due(j, 0)
		out = *j
		return save(tx, &old, j)
	})
	if err != nil {
		return Job{}, err
	}
	q.Wake()
	return out, nil
}

// Remove forgets a job, so that it can be added again. It also removes one that
// can't be read. Errors: ErrNotFound; ErrRefused for one that is running.
func (q *Queue) Remove(ctx context.Context, id string) error {
	now := stamp(q.o.Now())
	return q.shelf.Update(ctx, func(tx store.ShelfTx) error {
		full, err := resolve(tx, id)
		if err != nil {
			return err
		}
		j, err := load(tx, full)
		switch {
		case err != nil:
			return dropUnread(tx, full)
		case j.State == Running && !q.stale(j, now):
			return q.running(j)
		}
		return drop(tx, j)
	})
}

// dropUnread removes a job of which only the id is known.
func dropUnread(tx store.ShelfTx, id string) error {
	var keys []string
	for key := range tx.Scan(statePrefix) {
		if strings.HasSuffix(key, "/"+id) {
			keys = append(keys, key)
		}
	}
	for _, key := range append(keys, jobPrefix+id) {
		if err := tx.Delete(key); err != nil {
			return err
		}
	}
	return nil
}

func refused(j *Job, what, try string) error {
	return &ken.Error{Code: ken.CodeRefused, Field: "state", Msg: "job " + j.ID + " " + what, Try: try}
}

func (q *Queue) running(j *Job) error {
	return refused(j, "is being run by "+j.Worker, fmt.Sprintf("Wait until it ends, or stop its worker; a job whose worker is gone is free after %s.",
		j.Lease.Format(time.RFC3339)))
}

// pruneBatch is how many jobs go in one transaction: others wait for it.
const pruneBatch = 500

// Prune removes the jobs that were done longer than Options.Keep ago, and returns
// how many. Dead jobs stay until somebody decides about them.
func (q *Queue) Prune(ctx context.Context) (int, error) {
	if q.o.Keep < 0 {
		return 0, nil
	}
	now := stamp(q.o.Now())
	until, removed := now.Add(-q.o.Keep), 0
	for {
		var old []*Job
		err := q.shelf.View(ctx, func(r store.ShelfReader) error {
			old = nil
			for e := range index(r, Done) {
				if e.at.After(until) || len(old) == pruneBatch {
					break
				}
				if j := q.read(ctx, r, e); j != nil {
					old = append(old, j)
				}
			}
			return nil
		})
		if err != nil || len(old) == 0 {
			return removed, err
		}
		n := 0
		err = q.shelf.Update(ctx, func(tx store.ShelfTx) error {
			n = 0
			for _, j := range old {
				if tx.Get(j.indexKey()) == nil {
					continue // somebody else was faster
				}
				n++
				if err := drop(tx, j); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return removed, err
		}
		removed += n
	}
}
