package session

import (
	"context"
	"slices"

	"github.com/kenlayer/ken/internal/store/forgotten"
	"github.com/kenlayer/ken/store"
)

// SaveCheckpoint keeps where a session stands, in place of the last one. One of
// fewer messages than that is ignored, as that of a turn which took longer.
// Errors: ErrNotFound.
func (j *Journal) SaveCheckpoint(ctx context.Context, id string, c Checkpoint) error {
	c = c.cleaned(&Checkpoint{})
	return j.shelf.Update(ctx, func(tx store.ShelfTx) error {
		rec, err := mustRecord(tx, id)
		if err != nil {
			return err
		}
		have, err := getCheckpoint(tx, id)
		if err != nil || have != nil && have.Seq > c.Seq {
			return err
		}
		gone, err := forgotten.In(tx)
		if err != nil {
			return err
		}
		kept := c
		kept.forget(func(text string) bool { return tells(gone, rec, text) })
		return put(tx, keyCheckpoint(id), &kept)
	})
}

// Checkpoint returns the last one of a session, and false for a session that has
// none or is not known.
func (j *Journal) Checkpoint(ctx context.Context, id string) (Checkpoint, bool, error) {
	var c *Checkpoint
	err := j.shelf.View(ctx, func(r store.ShelfReader) (err error) {
		c, err = getCheckpoint(r, id)
		return err
	})
	if err != nil || c == nil {
		return Checkpoint{}, false, err
	}
	return *c, true, nil
}

func getCheckpoint(r store.ShelfReader, id string) (*Checkpoint, error) {
	b := r.Get(keyCheckpoint(id))
	if b == nil {
		return nil, nil
	}
	c := &Checkpoint{}
	return c, decodeValue(keyCheckpoint(id), b, c)
}

// cleaned returns a checkpoint that may be kept. What prev says, which was kept
// before, is clean: cleaning is what takes the time, and little changes in a turn.
func (c Checkpoint) cleaned(prev *Checkpoint) Checkpoint {
	// Most of it is from what a person said, and what was not was stripped before.
	one := func(s string, known ...string) string {
		if slices.Contains(known, s) {
			return s
		}
		return cleanSaid(s)
	}
	list := func(in, known []string) []string {
		var out []string
		for _, s := range in {
			if s = one(s, known...); s != "" {
				out = append(out, s)
			}
		}
		return out
	}
	c.Goal, c.LastStep = one(c.Goal, prev.Goal), one(c.LastStep, prev.LastStep)
	c.Entities, c.Files = list(c.Entities, prev.Entities), list(c.Files, prev.Files)
	c.Open, c.Constraints = list(c.Open, prev.Open), list(c.Constraints, prev.Constraints)
	c.Focal, c.Aspects = list(c.Focal, prev.Focal), list(c.Aspects, prev.Aspects)
	return c
}
