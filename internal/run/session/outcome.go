package session

import (
	"context"
	"maps"
	"slices"

	"github.com/kenlayer/ken/store"
)

// Harvested takes down what came of a harvest of the messages up to a number. The
// session is harvested then, unless more was said since: it stays as it is, with
// the outcome. An outcome of fewer messages than one that is there is ignored, as
// that of a job which took longer. Errors: ErrNotFound.
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

// Failed takes down that the job which harvests a session is dead, and why. The
// session's messages stay, and running the job again mends it. A session that is
// open or was harvested keeps its state. Errors: ErrNotFound.
func (j *Journal) Failed(ctx context.Context, id, note string) error {
	return j.change(ctx, id, func(rec *record) bool {
		if rec.State != Ended {
			return false
		}
		rec.State = Failed
		o := Outcome{}
		if rec.Outcome != nil { // of an earlier harvest
			o = *rec.Outcome
		}
		o.Note = store.Clean(note)
		rec.Outcome = &o
		return true
	})
}

// change keeps what fn makes of a session's record, if it says so.
func (j *Journal) change(ctx context.Context, id string, fn func(*record) bool) error {
	return j.shelf.Update(ctx, func(tx store.ShelfTx) error {
		rec, err := mustRecord(tx, id)
		if err != nil || !fn(rec) {
			return err
		}
		return put(tx, keyInfo(id), rec)
	})
}

// Claims lists the ids of the claims that a harvest wrote or met, each once, its
// episode first. It is nil for nil.
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

// clean makes o the journal's own: cleaned, and shared with nobody.
func (o *Outcome) clean() {
	o.Model, o.Note = store.Clean(o.Model), store.Clean(o.Note)
	for _, s := range []*[]string{&o.Learned, &o.Reinforced, &o.Superseded, &o.Disputed, &o.Patterns, &o.Findings} {
		*s = slices.Clone(*s)
	}
	o.Dropped = maps.Clone(o.Dropped)
}
