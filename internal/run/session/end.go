package session

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/store/clean"
	"github.com/kenlayer/ken/store"
)

// nothingSaid is the note of a session without anything to harvest.
const nothingSaid = "neither a user nor an assistant said anything"

// End ends an open session and adds the job that harvests it, in one transaction.
// It returns false if the session was not open, so that only one of several callers
// ends it. A session in which nothing was said counts as harvested at once, without
// a job. For a session that is not open, the reason Deleted is still recorded: the
// next sweep deletes its messages.
//
// Errors: ErrNotFound; ErrInvalid for an unknown reason.
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
		// A session of this id was forgotten and began again; the existing job
		// belongs to the earlier one.
		job.Key += "/" + strconv.FormatInt(rec.Started.UnixNano(), 10)
		_, _, err = jobs.Add(tx, now, job)
	}
	if err != nil {
		return fmt.Errorf("add the job that harvests a session: %w", err)
	}
	return nil
}

// lateness is the multiple of the idle time after which a session of another living
// process is ended anyway: that process should have ended it, and may hang.
const lateness = 2

// EndIdle ends every open session in which nothing was said for the idle time, and
// at once those whose processes are gone. A session of another living process is
// left to it for twice the idle time. It returns the ids of the sessions that it
// ended. If a session can't be ended, it continues with the others and returns the
// first error. If the clock was set back and a session's last message is in the
// future, the idle time starts now.
func (j *Journal) EndIdle(ctx context.Context, idle time.Duration) ([]string, error) {
	now, lives := j.now(), j.lives()
	why := func(rec *record) Reason {
		silent := now.Sub(rec.Active)
		switch mine, others := j.writers(rec, lives); {
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

// EndAll ends every open session of this process, and returns their ids. A session
// that another living process has too is left to that one. If a session can't be
// ended, it continues with the others and returns the first error. Errors:
// ErrInvalid for an unknown reason.
func (j *Journal) EndAll(ctx context.Context, why Reason) ([]string, error) {
	if err := why.check(); err != nil {
		return nil, err
	}
	lives := j.lives()
	mine := func(rec *record) bool { mine, _ := j.writers(rec, lives); return mine }
	return j.endAll(ctx, func(rec *record) Reason {
		if mine, others := j.writers(rec, lives); mine && len(others) == 0 {
			return why
		}
		return ""
	}, mine, func(rec *record) bool {
		mine, others := j.writers(rec, lives)
		if mine {
			rec.Process, rec.With = others[0], others[1:]
		}
		return mine
	})
}

// lives returns Options.Alive with a cache, so that each process is checked once.
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

// writers reports whether this process wrote to a session since it was opened, and
// which other living processes did, the latest first.
func (j *Journal) writers(rec *record, lives func(string) bool) (mine bool, others []string) {
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

// endAll ends the open sessions for which why returns a reason. look selects the
// sessions to look at in a transaction. mend may change a session that stays open,
// and reports whether it did.
func (j *Journal) endAll(ctx context.Context, why func(*record) Reason, look, mend func(*record) bool) ([]string, error) {
	want := func(rec *record) bool { return rec.State == Open && look(rec) }
	return j.eachRecord(ctx, "end", want, func(tx store.ShelfTx, rec *record) (ended bool, err error) {
		if rec.State != Open {
			return false, nil
		}
		if r := why(rec); r != "" {
			return true, j.retire(tx, rec, r)
		}
		if mend(rec) {
			err = put(tx, keyInfo(rec.ID), rec)
		}
		return false, err
	})
}

// eachRecord calls do for every session for which want returns true, each in a
// transaction of its own, and returns the ids of those for which do returned true. If a
// session fails, it continues with the others and returns the first error. verb is what the
// error says was tried.
func (j *Journal) eachRecord(ctx context.Context, verb string, want func(*record) bool, do func(store.ShelfTx, *record) (bool, error)) (ids []string, first error) {
	recs, first := j.records(ctx, want)
	for i := range recs {
		id, did := recs[i].ID, false
		err := j.shelf.Update(ctx, func(tx store.ShelfTx) error {
			did = false
			rec, err := getRecord(tx, id) // read again: the session may have continued
			if err == nil && rec != nil {
				did, err = do(tx, rec)
			}
			return err
		})
		switch {
		case err == nil && did:
			ids = append(ids, id)
		case err != nil && first == nil:
			first = fmt.Errorf("%s session %s: %w", verb, id, err)
		}
	}
	return ids, first
}

// Sweep deletes the messages, injections, blocks and checkpoints of sessions that
// were harvested at least the grace period ago, and of deleted sessions at once.
// The claims and the session's Info stay. A deleted session whose harvest failed is
// swept the grace period after it ended. It returns how many sessions it swept. If
// a session can't be swept, it continues with the others and returns the first
// error.
//
// A grace of 0 sweeps everything that was harvested. If the clock was set back and
// a harvest is in the future, its grace period starts now. Openings and responses
// are deleted when they were unused for the grace period, and at least a day.
func (j *Journal) Sweep(ctx context.Context, grace time.Duration) (int, error) {
	now := j.now()
	want := func(rec *record) bool { return sweepable(rec, now, grace) || ahead(rec, now) }
	swept, first := j.eachRecord(ctx, "sweep", want, func(tx store.ShelfTx, rec *record) (did bool, err error) {
		switch {
		case sweepable(rec, now, grace):
			return true, sweep(tx, rec)
		case ahead(rec, now):
			rec.Harvested = now
			err = put(tx, keyInfo(rec.ID), rec)
		}
		return false, err
	})
	j.drop(swept...)
	if j.hourly(now) {
		if err := j.pruneOpenings(ctx, now.Add(-max(grace, minKept))); err != nil && first == nil {
			first = fmt.Errorf("delete unused openings and responses: %w", err)
		}
	}
	return len(swept), first
}

// minKept is the least time for which unused openings and responses are kept.
const minKept = 24 * time.Hour

// hourly reports whether an hour has passed since it last returned true.
func (j *Journal) hourly(now time.Time) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if since := now.Sub(j.pruned); since >= 0 && since < time.Hour {
		return false
	}
	j.pruned = now
	return true
}

// sweepable reports whether a session's messages may be deleted.
func sweepable(rec *record, now time.Time, grace time.Duration) bool {
	if rec.Swept == rec.Part {
		return false
	}
	switch rec.State {
	case Harvested:
		return rec.Reason == Deleted || now.Sub(rec.Harvested) >= grace
	case Failed:
		return rec.Reason == Deleted && now.Sub(rec.Ended) >= grace
	}
	return false
}

func ahead(rec *record, now time.Time) bool {
	return rec.State == Harvested && rec.Swept != rec.Part && rec.Harvested.After(now)
}

func sweep(tx store.ShelfTx, rec *record) error {
	if rec.Reason == Deleted {
		if err := tx.Delete(keySeen(rec.ID)); err != nil {
			return err
		}
	} else {
		m := sessionCache{id: rec.ID}
		if err := m.load(tx, rec); err != nil {
			return err
		}
		if err := writeSeen(tx, rec.ID, m.counts); err != nil {
			return err
		}
	}
	if err := erase(tx, rec.ID); err != nil {
		return err
	}
	rec.Messages, rec.Swept = 0, rec.Part
	return put(tx, keyInfo(rec.ID), rec)
}

// erase deletes a session's messages, injections, blocks and checkpoint.
func erase(tx store.ShelfTx, id string) error {
	keys := []string{keyCheckpoint(id)}
	for _, prefix := range []string{allMessages(id), allInjected(id), allBlocks(id)} {
		for key := range tx.Scan(prefix) {
			keys = append(keys, key)
		}
	}
	return deleteAll(tx, keys...)
}

// Forget deletes everything that is stored of a session, without a harvest. Claims
// of earlier harvests stay. A waiting harvest job then finds nothing to do. Errors:
// ErrNotFound.
func (j *Journal) Forget(ctx context.Context, id string) error {
	err := j.shelf.Update(ctx, func(tx store.ShelfTx) error {
		if tx.Get(keyInfo(id)) == nil {
			return notFound(id)
		}
		return forget(tx, id)
	})
	if err == nil {
		j.drop(id)
	}
	return err
}

func forget(tx store.ShelfTx, id string) error {
	if err := erase(tx, id); err != nil {
		return err
	}
	return deleteAll(tx, keySeen(id), keyInfo(id))
}

// Prune deletes the Infos of sessions that were swept and not active since before,
// and returns how many. If one can't be deleted, it continues with the others and
// returns the first error. A later message of such a session starts a new session.
func (j *Journal) Prune(ctx context.Context, before time.Time) (int, error) {
	old := func(rec *record) bool {
		return rec.State != Open && rec.Swept == rec.Part && rec.Active.Before(before) && rec.Harvested.Before(before)
	}
	pruned, first := j.eachRecord(ctx, "prune", old, func(tx store.ShelfTx, rec *record) (bool, error) {
		if !old(rec) {
			return false, nil
		}
		return true, forget(tx, rec.ID)
	})
	j.drop(pruned...)
	return len(pruned), first
}

// Harvested records the outcome of a harvest of the messages up to a number. The
// session becomes Harvested, unless more was said since: then it keeps its state.
// An outcome that covers fewer messages than the stored one is ignored, because it
// comes from a slower job. Errors: ErrNotFound.
func (j *Journal) Harvested(ctx context.Context, id string, upto uint64, o Outcome) error {
	o.clean()
	return j.change(ctx, id, func(rec *record) bool {
		if upto < rec.Upto {
			return false
		}
		rec.Upto, rec.Outcome, rec.Harvested = upto, &o, j.now()
		if rec.State != Open && rec.Last <= upto {
			rec.State = Harvested
		}
		return true
	})
}

// Failed records that the job which harvests a session is dead, and why. The
// session's messages stay, and the job may be run again. A session that is open or
// was harvested keeps its state. Errors: ErrNotFound.
func (j *Journal) Failed(ctx context.Context, id, note string) error {
	return j.change(ctx, id, func(rec *record) bool {
		if rec.State != Ended {
			return false
		}
		rec.State = Failed
		o := Outcome{}
		if rec.Outcome != nil { // from an earlier harvest
			o = *rec.Outcome
		}
		o.Note = clean.Text(note)
		rec.Outcome = &o
		return true
	})
}

// change calls fn on a session's record and stores the record if fn returns true.
func (j *Journal) change(ctx context.Context, id string, fn func(*record) bool) error {
	return j.shelf.Update(ctx, func(tx store.ShelfTx) error {
		rec, err := mustRecord(tx, id)
		if err != nil || !fn(rec) {
			return err
		}
		return put(tx, keyInfo(id), rec)
	})
}

// Claims lists the ids of the claims that a harvest wrote or found existing, each
// once, its episode first. It returns nil for a nil Outcome.
func (o *Outcome) Claims() (ids []string) {
	if o == nil {
		return nil
	}
	for _, id := range slices.Concat([]string{o.Episode}, o.Learned, o.Reinforced, o.Superseded, o.Disputed, o.Findings, o.Patterns) {
		if id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// Kept describes on one line what a harvest has stored.
func (o *Outcome) Kept() string {
	var parts []string
	count := func(n int, one, many string) {
		switch {
		case n == 1:
			parts = append(parts, "1 "+one)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", n, many))
		}
	}
	if o.Episode != "" {
		parts = append(parts, "an episode")
	}
	count(len(o.Learned), "fact", "facts")
	count(len(o.Reinforced), "known fact", "known facts")
	count(len(o.Superseded), "fact replaced", "facts replaced")
	count(len(o.Disputed), "fact disputed", "facts disputed")
	count(len(o.Findings), "finding", "findings")
	count(len(o.Patterns), "pattern", "patterns")
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// Describe returns an outcome in one line: what was kept, what was left out and the note.
func (o *Outcome) Describe() string {
	s := o.Kept()
	if len(o.Dropped) > 0 {
		var why []string
		for _, k := range slices.Sorted(maps.Keys(o.Dropped)) {
			why = append(why, fmt.Sprintf("%s %d", k, o.Dropped[k]))
		}
		s += "; left out: " + strings.Join(why, ", ")
	}
	if o.Note != "" {
		s += "; " + o.Note
	}
	return s
}

// clean cleans the texts of o and copies its slices, so that the caller shares none
// of them.
func (o *Outcome) clean() {
	o.Model, o.Note = clean.Text(o.Model), clean.Text(o.Note)
	for _, s := range []*[]string{&o.Learned, &o.Reinforced, &o.Superseded, &o.Disputed, &o.Patterns, &o.Findings} {
		*s = slices.Clone(*s)
	}
	o.Dropped = maps.Clone(o.Dropped)
}
