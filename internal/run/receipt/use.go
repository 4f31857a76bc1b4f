package receipt

import (
	"context"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// AddUse says in the receipt of a turn what the model's answer made of its items, in
// place of what was said before, within the caller's own transaction. Errors:
// ErrNotFound for a turn without a receipt; ErrCorrupt.
func (b *Book) AddUse(tx store.ShelfTx, turn string, used []ken.Use) error {
	n, err := there(tx, turn)
	if err != nil {
		return err
	}
	rec := Record{Receipt: ken.Receipt{Turn: turn, Used: used}}
	if err := refuse(tx, &rec); err != nil {
		return err
	}
	return putBeside(tx, keyUsed(n), rec.Used)
}

// Marks returns the marks of a session's turns, the newest turn's first. It goes on past a
// receipt that it can't read.
func (b *Book) Marks(ctx context.Context, session string) (out []ken.Taint, err error) {
	if session == "" { // no session is not every session
		return nil, nil
	}
	err = b.shelf.View(ctx, func(r store.ShelfReader) error {
		out = nil
		for n := range numbers(r, session, ^uint64(0)) {
			if err := ctx.Err(); err != nil {
				return err
			}
			h, err := headOf(r, n)
			if b.told(err) != nil || h == nil || h.Session != session {
				continue
			}
			marks, err := marksOf(r, n)
			if err == nil && !h.Apart {
				var rec *Record
				if rec, err = load(r, n); err == nil {
					marks = rec.Taint
				}
			}
			if b.told(err) == nil {
				out = append(out, marks...)
			}
		}
		return nil
	})
	return out, err
}

// stripUse takes out of a receipt what it says of a claim's place in the ranking and
// of its use, and reports whether there was any. The ids stay.
func stripUse(rec *Record, ids []string) (found bool) {
	if rec.Ranking != nil {
		for i := range rec.Ranking.Candidates {
			c := &rec.Ranking.Candidates[i]
			if bare := (ken.Features{ID: c.ID}); *c != bare && slices.Contains(ids, c.ID) {
				*c, found = bare, true
			}
		}
	}
	for i := range rec.Used {
		u := &rec.Used[i]
		if bare := (ken.Use{ID: u.ID}); *u != bare && slices.Contains(ids, u.ID) {
			*u, found = bare, true
		}
	}
	return found
}
