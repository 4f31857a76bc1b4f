package session

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/store"
)

// nothingSaid is what becomes of a session that has nothing to harvest.
const nothingSaid = "neither a user nor an assistant said anything"

// End retires a session: with the job that harvests it, in one transaction, so
// that there is never the one without the other. It returns false for a session
// that was not open, so that of several that end it one does. A session in which
// nothing was said is harvested at once, without a job. Of one that is not open,
// the reason Deleted is still taken down: its messages go with the next sweep.
//
// Errors: ErrNotFound; ErrInvalid for a reason that is none.
func (j *Journal) End(ctx context.Context, id string, why Reason) (bool, error) {
	if err := why.check(); err != nil {
		return false, err
	}
	ended := false
	err := j.shelf.Update(ctx, func(tx store.ShelfTx) error {
		ended = false
		rec, err := mustRecord(tx, id)
		switch {
		case err != nil:
			return err
		case rec.State == Open:
			ended = true
			return j.retire(tx, rec, why)
		case why == Deleted && rec.Reason != Deleted:
			rec.Reason = Deleted
			return put(tx, keyInfo(id), rec)
		}
		return nil
	})
	return ended && err == nil, err
}

func (r Reason) check() error {
	if slices.Contains([]Reason{Idle, Closed, Deleted, Shutdown, Died}, r) {
		return nil
	}
	return &ken.Error{Code: ken.CodeInvalid, Field: "reason", Msg: "unknown reason " + strconv.Quote(string(r)),
		Try: "Use one of idle, closed, deleted, shutdown, died."}
}

// retire ends an open session.
func (j *Journal) retire(tx store.ShelfTx, rec *record, why Reason) error {
	now := j.now()
	rec.State, rec.Reason, rec.Ended, rec.With = Ended, why, now, nil
	if rec.Said == 0 {
		rec.State, rec.Harvested, rec.Upto, rec.Outcome = Harvested, now, rec.Last, &Outcome{Note: nothingSaid}
	} else if err := addJob(tx, rec, now); err != nil {
		return err
	}
	return put(tx, keyInfo(rec.ID), rec)
}

func addJob(tx store.ShelfTx, rec *record, now time.Time) error {
	payload, err := json.Marshal(HarvestJob{Session: rec.ID, Part: rec.Part, Upto: rec.Last})
	if err != nil {
		return err
	}
	job := jobs.New{Kind: JobHarvest, Key: fmt.Sprintf("%s/%d/%d", rec.ID, rec.Part, rec.Last), Payload: payload}
	_, added, err := jobs.Add(tx, now, job)
	if err == nil && !added {
		// A session of this id was forgotten and began anew: that job was another's.
		job.Key += "/" + strconv.FormatInt(rec.Started.UnixNano(), 10)
		_, _, err = jobs.Add(tx, now, job)
	}
	if err != nil {
		return fmt.Errorf("add the job that harvests a session: %w", err)
	}
	return nil
}

// lateness is how many times the idle limit a session of another living process
// may have been silent before anybody ends it: that process has had its time, and
// may hang.
const lateness = 2

// EndIdle ends every open session in which nothing was said for that long, and at
// once those of processes that are gone. One that a living process had is left to
// it, unless nothing was said for twice that long. It returns the ids of what it
// ended, and goes on past a session that can't be ended. A session whose last
// message is ahead of the clock, which was set back then, is idle from now on.
func (j *Journal) EndIdle(ctx context.Context, idle time.Duration) ([]string, error) {
	now, lives := j.now(), j.lives()
	why := func(rec *record) Reason {
		silent := now.Sub(rec.Active)
		switch mine, others := j.had(rec, lives); {
		case j.o.Process == "" || mine:
			if silent >= idle {
				return Idle
			}
		case len(others) == 0:
			return Died
		case silent >= lateness*idle:
			return Idle
		}
		return ""
	}
	return j.endAll(ctx, why, func(rec *record) bool { return why(rec) != "" || rec.Active.After(now) }, func(rec *record) bool {
		ahead := rec.Active.After(now)
		if ahead {
			rec.Active = now
		}
		return ahead
	})
}

// EndAll ends every open session of this process, and returns their ids. One that
// another living process had too is left to that one. It goes on past one that
// can't be ended. Errors: ErrInvalid for a reason that is none.
func (j *Journal) EndAll(ctx context.Context, why Reason) ([]string, error) {
	if err := why.check(); err != nil {
		return nil, err
	}
	lives := j.lives()
	mine := func(rec *record) bool { mine, _ := j.had(rec, lives); return mine }
	return j.endAll(ctx, func(rec *record) Reason {
		if mine, others := j.had(rec, lives); mine && len(others) == 0 {
			return why
		}
		return ""
	}, mine, func(rec *record) bool {
		mine, others := j.had(rec, lives)
		if mine {
			rec.Process, rec.With = others[0], others[1:]
		}
		return mine
	})
}

// lives is Options.Alive, asked once for each process.
func (j *Journal) lives() func(string) bool {
	known := map[string]bool{}
	return func(process string) bool {
		is, ok := known[process]
		if !ok {
			is = j.o.Alive != nil && j.o.Alive(process)
			known[process] = is
		}
		return is
	}
}

// had reports whether this process wrote to a session since it was opened, and
// which other living ones did, the last first.
func (j *Journal) had(rec *record, lives func(string) bool) (mine bool, others []string) {
	for _, p := range append([]string{rec.Process}, rec.With...) {
		switch {
		case p == j.o.Process:
			mine = true
		case lives(p):
			others = append(others, p)
		}
	}
	return mine, others
}

// endAll ends the open sessions for which why gives a reason. Only those that look
// says are worth a transaction are given one; what mend changes of one that goes on
// is kept.
func (j *Journal) endAll(ctx context.Context, why func(*record) Reason, look, mend func(*record) bool) ([]string, error) {
	recs, first := j.records(ctx, func(rec *record) bool { return rec.State == Open && look(rec) })
	var ids []string
	for i := range recs {
		id, ended := recs[i].ID, false
		err := j.shelf.Update(ctx, func(tx store.ShelfTx) error {
			ended = false
			rec, err := getRecord(tx, id) // as it is now: a message may have come
			if err != nil || rec == nil || rec.State != Open {
				return err
			}
			if r := why(rec); r != "" {
				ended = true
				return j.retire(tx, rec, r)
			}
			if mend != nil && mend(rec) {
				return put(tx, keyInfo(id), rec)
			}
			return nil
		})
		switch {
		case err == nil && ended:
			ids = append(ids, id)
		case err != nil && first == nil:
			first = fmt.Errorf("end session %s: %w", id, err)
		}
	}
	return ids, first
}
