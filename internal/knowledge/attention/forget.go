package attention

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/kenlayer/ken/store"
)

// Traces describes what is to be forgotten; see Forget.
type Traces struct {
	// Claims are the ids of claims whose marks must be deleted.
	Claims []string
	// Text reports whether a text contains what is to be forgotten; nil matches nothing.
	Text func(string) bool
	// Session is the session whose marks and refused writes must be deleted; "" for none.
	Session string
}

// Forget deletes the marks and refused writes that are about the forgotten claims or
// quote their text or come of the forgotten session, and returns their number. Code that forgets a claim must call it. An
// entry that can't be parsed is deleted if its bytes contain the text. Errors are those
// of the shelf.
func Forget(ctx context.Context, shelf store.Shelf, t Traces) (gone int, err error) {
	if gone, err = Holds(ctx, shelf, t); err != nil || gone == 0 {
		return 0, err
	}
	err = shelf.Update(ctx, func(tx store.ShelfTx) error {
		keys := t.keys(tx)
		gone = len(keys)
		return deleteAll(tx, keys)
	})
	return gone, err
}

func deleteAll(tx store.ShelfTx, keys []string) error {
	for _, key := range keys {
		if err := tx.Delete(key); err != nil {
			return err
		}
	}
	return nil
}

// Holds returns the number of entries that Forget would delete.
func Holds(ctx context.Context, shelf store.Shelf, t Traces) (held int, err error) {
	err = shelf.View(ctx, func(r store.ShelfReader) error {
		held = len(t.keys(r))
		return nil
	})
	return held, err
}

func (t *Traces) keys(r store.ShelfReader) (keys []string) {
	for key, v := range r.Scan(prefixMark) {
		var m Mark
		if readable := json.Unmarshal(v, &m) == nil; readable && (slices.Contains(t.Claims, m.Claim) || t.in(m.Reason) || t.of(m.Session)) || !readable && t.in(string(v)) {
			keys = append(keys, key)
		}
	}
	for key, v := range r.Scan(prefixRejected) {
		var rej Rejection
		if readable := json.Unmarshal(v, &rej) == nil; readable && (t.in(rej.Text) || t.in(rej.Why) || t.of(rej.Session)) || !readable && t.in(string(v)) {
			keys = append(keys, key)
		}
	}
	return keys
}

func (t *Traces) of(session string) bool { return t.Session != "" && session == t.Session }

func (t *Traces) in(text string) bool { return t.Text != nil && text != "" && t.Text(text) }
