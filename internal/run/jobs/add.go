package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/clean"
	"github.com/kenlayer/ken/store"
)

// Limits of a job's fields. The payload says what to do; large inputs are stored
// elsewhere.
const (
	MaxKind    = 64       // bytes
	MaxKey     = 4 << 10  // bytes
	MaxPayload = 64 << 10 // bytes
)

// Add adds a job within the caller's transaction, so the job exists exactly if
// the rest of the transaction does. now is the caller's wall clock. If a job of
// this kind and key exists already, it is left unchanged whatever its state;
// added is then false and id is its id. A worker finds the new job within a
// minute, or at once when Queue.Wake is called after the transaction. Errors:
// ErrInvalid.
func Add(tx store.ShelfTx, now time.Time, n New) (id string, added bool, err error) {
	if err := n.validate(); err != nil {
		return "", false, err
	}
	id = ID(n.Kind, n.Key)
	if tx.Get(jobPrefix+id) != nil {
		return id, false, nil
	}
	now = storedTime(now)
	j := &Job{ID: id, Kind: n.Kind, Key: n.Key, Payload: n.Payload, State: Queued, Created: now, Due: now, Since: now}
	if after := storedTime(n.After); after.After(now) {
		j.Due, j.Since = after, time.Time{}
	}
	return id, true, save(tx, nil, j)
}

func (n *New) validate() error {
	bad := func(field, msg, try string) error {
		return &ken.Error{Code: ken.CodeInvalid, Field: field, Msg: msg, Try: try}
	}
	switch {
	case n.Kind == "" || len(n.Kind) > MaxKind:
		return bad("kind", fmt.Sprintf("a job's kind has 1 to %d bytes, this one %d", MaxKind, len(n.Kind)), "Name the handler that runs it.")
	case n.Key == "" || len(n.Key) > MaxKey:
		return bad("key", fmt.Sprintf("a job's key has 1 to %d bytes, this one %d", MaxKey, len(n.Key)), "Give a key that identifies the work, so that the same work is added only once.")
	case len(n.Payload) > MaxPayload:
		return bad("payload", fmt.Sprintf("a job's payload has at most %d bytes, this one %d", MaxPayload, len(n.Payload)), "Put the data on the shelf and its key into the payload.")
	case len(n.Payload) > 0 && !json.Valid(n.Payload):
		return bad("payload", "not valid JSON", "Give a JSON value.")
	case n.After.Year() > 9999:
		return bad("after", "a year beyond 9999", "Give an earlier date.")
	}
	return nil
}

// storedTime converts a time to the form in which it is stored: UTC, truncated to
// microseconds, without a monotonic reading.
func storedTime(t time.Time) time.Time { return t.Round(0).UTC().Truncate(time.Microsecond) }

const minShortID = 6

// shortID returns the beginning of an id, as hints show it.
func shortID(id string) string { return id[:min(len(id), 8)] }

// Get returns one job by its id or a unique prefix of at least six characters.
// Errors: ErrNotFound; ErrInvalid when several ids match; ErrCorrupt.
func (q *Queue) Get(ctx context.Context, id string) (Job, error) {
	var out Job
	err := q.shelf.View(ctx, func(r store.ShelfReader) error {
		j, err := find(r, id)
		if err == nil {
			out = *j
		}
		return err
	})
	return out, err
}

func find(r store.ShelfReader, id string) (*Job, error) {
	full, err := resolve(r, id)
	if err != nil {
		return nil, err
	}
	return load(r, full)
}

// resolve returns the full id for an id or a unique prefix of one.
func resolve(r store.ShelfReader, id string) (string, error) {
	none := &ken.Error{Code: ken.CodeNotFound, Field: "id", Msg: fmt.Sprintf("no job %q", id), Try: "List them with ken jobs."}
	if len(id) < minShortID {
		return "", none
	}
	var found []string
	for key := range r.Scan(jobPrefix + id) {
		found = append(found, key[len(jobPrefix):])
	}
	switch {
	case len(found) == 0:
		return "", none
	case len(found) > 1 && found[0] != id:
		return "", &ken.Error{Code: ken.CodeInvalid, Field: "id", Msg: fmt.Sprintf("%q fits %d jobs", id, len(found)),
			Try: "Give more characters of the id."}
	}
	return found[0], nil
}

// List returns the jobs in these states, or all jobs when no state is given,
// sorted by due time, then by id. If some jobs can't be read, it returns the
// others with an ErrCorrupt that names them.
func (q *Queue) List(ctx context.Context, states ...State) ([]Job, error) {
	var out []Job
	var bad []error
	err := q.shelf.View(ctx, func(r store.ShelfReader) error {
		out, bad = nil, nil
		for key, value := range r.Scan(jobPrefix) {
			j, err := decode(key[len(jobPrefix):], value)
			if err != nil {
				bad = append(bad, err)
			} else if len(states) == 0 || slices.Contains(states, j.State) {
				out = append(out, *j)
			}
		}
		return nil
	})
	slices.SortFunc(out, func(a, b Job) int { return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.ID, b.ID)) })
	return out, errors.Join(append(bad, err)...)
}

// Limits, in bytes, on a handler's texts: how much is read and cleaned (maxRead),
// and how much of a note, an error (maxText) or a stage (maxStage) is stored.
// Without them, an error that quotes its input would store that input.
const (
	maxRead  = 64 << 10
	maxText  = 2000
	maxStage = 100
)

// cleaned prepares a handler's text for storage: it removes reasoning, secrets and
// control characters and limits the length. It cleans before it cuts, because
// half a secret is not recognised as one.
func cleaned(s string, limit int) string {
	s = strings.TrimSpace(clean.Text(s[:min(len(s), maxRead)]))
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

// fail records an error on a job.
func (j *Job) fail(err error) {
	if j.Error = cleaned(err.Error(), maxText); j.Error == "" {
		j.Error = "failed with an error whose text can't be kept"
	}
	j.Try = cleaned(ken.Hint(err), maxText)
}

// Retry makes a job due now, with its attempts reset, and returns it. The job
// must be dead or queued. Errors: ErrNotFound; ErrRefused for one that is done or
// running.
func (q *Queue) Retry(ctx context.Context, id string) (Job, error) {
	var out Job
	err := q.shelf.Update(ctx, func(tx store.ShelfTx) error {
		j, err := find(tx, id)
		if err != nil {
			return err
		}
		switch j.State {
		case Done:
			return refused(j, "is done", "Remove it with ken jobs rm "+shortID(j.ID)+" and add it again, if it is to be done again.")
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

// Remove deletes a job, so that it can be added again. It also removes a job that
// can't be read. Errors: ErrNotFound; ErrRefused for a job that is running.
func (q *Queue) Remove(ctx context.Context, id string) error {
	now := storedTime(q.o.Now())
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

// dropUnread removes a job that can't be read, by its id alone.
func dropUnread(tx store.ShelfTx, id string) error {
	var keys []string
	for key := range tx.Scan(statePrefix) {
		if strings.HasSuffix(key, "/"+id) {
			keys = append(keys, key)
		}
	}
	return deleteAll(tx, append(keys, jobPrefix+id)...)
}

func refused(j *Job, what, try string) error {
	return &ken.Error{Code: ken.CodeRefused, Field: "state", Msg: "job " + j.ID + " " + what, Try: try}
}

func (q *Queue) running(j *Job) error {
	return refused(j, "is being run by "+j.Worker, fmt.Sprintf("Wait until it ends, or stop its worker. If the worker has ended, the job is free after %s.",
		j.Lease.Format(time.RFC3339)))
}

// pruneBatch is how many jobs one transaction deletes. Other writers wait for
// each transaction.
const pruneBatch = 500

// Prune deletes the jobs that finished as done longer than Options.Keep ago, and
// returns how many. Dead jobs stay until they are retried or removed.
func (q *Queue) Prune(ctx context.Context) (int, error) {
	if q.o.Keep < 0 {
		return 0, nil
	}
	now := storedTime(q.o.Now())
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
					continue // another process removed it first
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
