package ledger

import (
	"context"
	"errors"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/receipt"
)

// some is how many sessions are looked for at once: a page waits meanwhile.
const some = 256

// present leaves out turns whose receipts are gone, and reports whether it got through
// all sessions; otherwise the next call goes on. What is pruned is the oldest. What is
// forgotten is a session with all turns that it had then, so the oldest turn of each
// tells: where it is there, nothing of the session was forgotten, and where it is not,
// the session is listed again. A turn without a session can't be forgotten by it.
//
// One thing it does not see: a turn's id that came again in another session, which was
// forgotten before anybody looked. The next reading of all does.
func (o *owner) present(ctx context.Context, book Book, turns []*Turn) (now []*Turn, done bool, err error) {
	for n := len(turns); n > 0; n = len(turns) {
		is, err := kept(ctx, book, turns[n-1])
		if err != nil {
			return nil, false, err
		}
		if is {
			break
		}
		turns = turns[:n-1]
	}
	if o.asked == nil {
		o.asked = map[string]bool{}
	}
	gone := map[string]map[string]bool{} // by session: the turns that it still has
	done = true
	for i, n := len(turns)-1, 0; i >= 0; i-- {
		t := turns[i]
		if t.Session == "" || o.asked[t.Session] {
			continue
		}
		if n++; n > some {
			done = false
			break
		}
		is, err := kept(ctx, book, t)
		if err == nil && !is {
			gone[t.Session], err = left(ctx, book, t.Session)
		}
		if err != nil {
			o.asked = nil // what was found gone is not left out yet
			return nil, false, err
		}
		o.asked[t.Session] = true
	}
	return slices.DeleteFunc(turns, func(t *Turn) bool {
		left, some := gone[t.Session]
		return some && !left[t.ID]
	}), done, nil
}

// kept reports whether a turn's receipt is still there. One that can't be read any
// more is.
func kept(ctx context.Context, book Book, t *Turn) (bool, error) {
	r, err := book.Get(ctx, t.ID)
	switch {
	case errors.Is(err, ken.ErrNotFound):
		return false, nil
	case errors.Is(err, ken.ErrCorrupt):
		return true, nil
	case err != nil:
		return false, err
	}
	return r.Session == t.Session, nil
}

// left lists the turns that a session has.
func left(ctx context.Context, book Book, session string) (map[string]bool, error) {
	ids := map[string]bool{}
	for q := (receipt.Query{Session: session, Limit: receipt.MaxLimit}); ; {
		records, next, err := book.List(ctx, q)
		if err != nil && !errors.Is(err, ken.ErrCorrupt) {
			return nil, err
		}
		for i := range records {
			ids[records[i].Turn] = true
		}
		if next == "" {
			return ids, nil
		}
		q.Before = next
	}
}
