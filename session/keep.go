package session

import (
	"context"

	"github.com/kenlayer/ken/store"
)

// SaveCheckpoint keeps where a session stands, in place of the last one. One of
// fewer messages than that is ignored, as that of a turn which took longer.
// Errors: ErrNotFound.
func (j *Journal) SaveCheckpoint(ctx context.Context, id string, c Checkpoint) error {
	c = c.cleaned()
	return j.shelf.Update(ctx, func(tx store.ShelfTx) error {
		if tx.Get(keyInfo(id)) == nil {
			return notFound(id)
		}
		have, err := getCheckpoint(tx, id)
		if err != nil || have != nil && have.Seq > c.Seq {
			return err
		}
		return put(tx, keyCheckpoint(id), &c)
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

// cleaned returns a checkpoint that may be kept.
func (c Checkpoint) cleaned() Checkpoint {
	list := func(in []string) []string {
		var out []string
		for _, s := range in {
			if s = cleanText(s); s != "" {
				out = append(out, s)
			}
		}
		return out
	}
	c.Goal, c.LastStep = cleanText(c.Goal), cleanText(c.LastStep)
	c.Entities, c.Files, c.Open, c.Constraints = list(c.Entities), list(c.Files), list(c.Open), list(c.Constraints)
	return c
}
