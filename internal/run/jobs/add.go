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

// What a job may be. It says what is to be done; what it is to be done with lies
// elsewhere.
const (
	MaxKind    = 64       // bytes
	MaxKey     = 4 << 10  // bytes
	MaxPayload = 64 << 10 // bytes
)

// Add adds a job within the caller's own transaction, so that it is there exactly
// when the rest of the transaction is. now is the caller's wall clock. A job of
// this kind and key that is there already stays as it is, be it queued, running,
// done or dead: added is false, and id is its id. A worker hears of it within a
// minute, at once when Queue.Wake is called after the transaction. Errors:
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
		return bad("key", fmt.Sprintf("a job's key has 1 to %d bytes, this one %d", MaxKey, len(n.Key)), "Name what is to be done, so that doing it twice can be told from doing two things.")
	case len(n.Payload) > MaxPayload:
		return bad("payload", fmt.Sprintf("a job's payload has at most %d bytes, this one %d", MaxPayload, len(n.Payload)), "Put the data on the shelf and its key into the payload.")
	case len(n.Payload) > 0 && !json.Valid(n.Payload):
		return bad("payload", "not valid JSON", "Give a JSON value.")
	case n.After.Year() > 9999:
		return bad("after", "a year beyond 9999", "Give a date that the job will live to see.")
	}
	return nil
}

// storedTime is how times are kept: without a monotonic part, in UTC, to the
// microsecond, like the index.
func storedTime(t time.Time) time.Time { return t.Round(0).UTC().Truncate(time.Microsecond) }

const minShortID = 6

// shortID is an id as a hint shows it.
func shortID(id string) string { return id[:min(len(id), 8)] }

// Get returns one job by its id or a unique prefix of at least six characters.
// Errors: ErrNotFound; ErrInvalid when several fit; ErrCorrupt.
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

// resolve completes an id.
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

// List returns the jobs in these states, or all when none is named, sorted by
// when they are due, then by id. A job that can't be read does not hide the
// others: they come with an ErrCorrupt that names it.
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

// How much of what a handler says is looked at and kept, in bytes. An error that
// quotes its input would otherwise keep it.
const (
	maxRead  = 64 << 10
	maxText  = 2000
	maxStage = 100
)

// cleaned makes what a handler says fit to be kept: no reasoning, no secrets, no
// control characters, and not without end. It is cut after it was cleaned, since
// half a secret does not look like one.
func cleaned(s string, limit int) string {
	s = strings.TrimSpace(clean.Text(s[:min(len(s), maxRead)]))
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

// fail notes an error on a job.
func (j *Job) fail(err error) {
	if j.Error = cleaned(err.Error(), maxText); j.Error == "" {
		j.Error = "failed with an error whose text can't be kept"
	}
	j.Try = cleaned(ken.Hint(err), maxText)
}

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

// Remove forgets a job, so that it can be added again. It also removes one that
// can't be read. Errors: ErrNotFound; ErrRefused for one that is running.
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
