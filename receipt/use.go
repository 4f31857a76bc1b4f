package receipt

import (
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// AddUse says in the receipt of a turn what the model's answer made of its items, in
// place of what was said before, within the caller's own transaction. Errors:
// ErrNotFound for a turn without a receipt; ErrCorrupt.
func (b *Book) AddUse(tx store.ShelfTx, turn string, used []ken.Use) error {
	return change(tx, turn, func(rec *Record) bool {
		if slices.Equal(rec.Used, used) {
			return false
		}
		rec.Used = slices.Clone(used)
		return true
	})
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
