package attention

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// Dismiss hides an item, by its ID, until something about it changes, which makes
// it another item. The last thousand are remembered. Dismissing one again changes
// nothing; whether there is such an item is not looked at. Errors: ErrInvalid for
// what is no ID.
func Dismiss(ctx context.Context, shelf store.Shelf, id string) error {
	if b, err := hex.DecodeString(id); err != nil || len(b) != idBytes || strings.ToLower(id) != id {
		return &ken.Error{Code: ken.CodeInvalid, Field: "id", Msg: "not an item of the attention queue: " + store.Clean(id),
			Try: "Give the id of an item as ken attention shows it, 12 hexadecimal digits."}
	}
	return shelf.Update(ctx, func(tx store.ShelfTx) error {
		for _, v := range tx.Scan(prefixDismissed) {
			if string(v) == id {
				return nil
			}
		}
		key, err := next(tx, prefixDismissed)
		if err != nil {
			return err
		}
		if err := tx.Put(key, []byte(id)); err != nil {
			return err
		}
		return trim(tx, prefixDismissed, maxDismissed)
	})
}

// shelfNotes are what the shelf keeps.
type shelfNotes struct {
	keys      []string
	rejected  []Rejection
	dismissed map[string]bool
}

func readNotes(ctx context.Context, shelf store.Shelf) (shelfNotes, error) {
	var n shelfNotes
	var bad error
	err := shelf.View(ctx, func(r store.ShelfReader) error {
		n, bad = shelfNotes{dismissed: map[string]bool{}}, nil
		for _, v := range r.Scan(prefixDismissed) {
			n.dismissed[string(v)] = true
		}
		for k, v := range r.Scan(prefixRejected) {
			var rej Rejection
			if err := json.Unmarshal(v, &rej); err != nil {
				bad = &ken.Error{Code: ken.CodeCorrupt, Msg: "read " + k, Err: err,
					Try: "Restore the store from a backup, or report this with the command that you ran; it was not changed."}
				continue
			}
			n.keys, n.rejected = append(n.keys, k), append(n.rejected, rej)
		}
		return nil
	})
	return n, cmp.Or(err, bad)
}

func (n *shelfNotes) items() []Item {
	out := make([]Item, len(n.rejected))
	for i := range n.rejected {
		out[i] = n.rejected[i].item(n.keys[i])
	}
	return out
}
