package session

import (
	"context"
	"fmt"
	"time"

	"github.com/kenlayer/ken/store"
)

// Sweep deletes the messages, injections, blocks and checkpoints of sessions that were
// harvested and have been so for the grace period, of deleted ones at once. What
// was harvested stays, as does the session's Info. A deleted session whose harvest
// failed goes too, the grace period after it ended. It returns how many sessions
// it swept, and goes on past one that it can't.
//
// A grace of 0 sweeps everything that was harvested. A session that was harvested
// ahead of the clock, which was set back then, has its grace period from now on. What
// tells conversations apart goes when it was not used for that long, and a day at least.
func (j *Journal) Sweep(ctx context.Context, grace time.Duration) (int, error) {
	now := j.now()
	recs, first := j.records(ctx, func(rec *record) bool { return due(rec, now, grace) || ahead(rec, now) })
	swept := 0
	for i := range recs {
		id, did := recs[i].ID, false
		err := j.shelf.Update(ctx, func(tx store.ShelfTx) error {
			did = false
			rec, err := getRecord(tx, id) // as it is now: it may go on
			switch {
			case err != nil || rec == nil:
				return err
			case due(rec, now, grace):
				did = true
				return sweep(tx, rec)
			case ahead(rec, now):
				rec.Harvested = now
				return put(tx, keyInfo(id), rec)
			}
			return nil
		})
		switch {
		case err == nil && did:
			swept++
			j.drop(id)
		case err != nil && first == nil:
			first = fmt.Errorf("sweep session %s: %w", id, err)
		}
	}
	if j.hourly(now) {
		if err := j.pruneOpenings(ctx, now.Add(-max(grace, minKept))); err != nil && first == nil {
			first = fmt.Errorf("delete what tells conversations apart: %w", err)
		}
	}
	return swept, first
}

// minKept is the least time for which openings and responses are kept.
const minKept = 24 * time.Hour

// hourly reports whether an hour has passed since it did so last.
func (j *Journal) hourly(now time.Time) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if since := now.Sub(j.pruned); since >= 0 && since < time.Hour {
		return false
	}
	j.pruned = now
	return true
}

// due reports whether a session's messages may go.
func due(rec *record, now time.Time, grace time.Duration) bool {
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
		m := memo{id: rec.ID}
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

// erase deletes what was said and shown in a session.
func erase(tx store.ShelfTx, id string) error {
	keys := []string{keyCheckpoint(id)}
	for _, prefix := range []string{allMessages(id), allInjected(id), allBlocks(id)} {
		for key := range tx.Scan(prefix) {
			keys = append(keys, key)
		}
	}
	for _, key := range keys {
		if err := tx.Delete(key); err != nil {
			return err
		}
	}
	return nil
}

// Forget deletes all that is kept of a session, without a harvest. What was
// harvested before stays in the store. A job that waits finds nothing. Errors:
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
	if err := tx.Delete(keySeen(id)); err != nil {
		return err
	}
	return tx.Delete(keyInfo(id))
}

// Prune deletes the Infos of sessions that were swept and not active since before,
// and returns how many, going on past one that it can't. Should such a session go on,
// it is one that nobody knew.
func (j *Journal) Prune(ctx context.Context, before time.Time) (int, error) {
	old := func(rec *record) bool {
		return rec.State != Open && rec.Swept == rec.Part && rec.Active.Before(before) && rec.Harvested.Before(before)
	}
	recs, first := j.records(ctx, old)
	pruned := 0
	for i := range recs {
		id, did := recs[i].ID, false
		err := j.shelf.Update(ctx, func(tx store.ShelfTx) error {
			rec, err := getRecord(tx, id)
			if did = err == nil && rec != nil && old(rec); !did {
				return err
			}
			return forget(tx, id)
		})
		switch {
		case err == nil && did:
			pruned++
			j.drop(id)
		case err != nil && first == nil:
			first = fmt.Errorf("prune session %s: %w", id, err)
		}
	}
	return pruned, first
}
