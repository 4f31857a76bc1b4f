package ledger

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/receipt"
)

// rereadNewest is how many of the newest turns are read each time, because their answers may
// not be complete.
const rereadNewest = 32

// Catch updates an owner's turns from the book: it reads new receipts and the newest
// few again, and everything the first time. The package comment says when it checks
// for deleted receipts. It leaves out receipts that can't be read. Errors: those of
// the book. With an ErrCorrupt the readable turns are updated; with any other error
// nothing changes.
func (l *Ledger) Catch(ctx context.Context, owner string, book Book) error {
	o := l.owner(owner)
	select {
	case o.turn <- struct{}{}:
		defer func() { <-o.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	o.mu.RLock()
	had, whole, verified := o.turns, o.whole, o.verified
	o.mu.RUnlock()
	now := l.o.Now()
	if due(whole, now, l.o.Reread) {
		had = nil
	}
	turns, all, bad := l.read(ctx, book, had)
	if bad != nil && !errors.Is(bad, ken.ErrCorrupt) {
		return bad
	}
	if all {
		whole, verified, o.asked = now, now, nil
	} else if due(verified, now, l.o.Verify) {
		var done bool
		var err error
		if turns, done, err = o.removeDeleted(ctx, book, turns); err != nil {
			return err
		}
		if done {
			verified, o.asked = now, nil
		}
	}
	o.mu.Lock()
	o.turns, o.whole, o.verified = turns, whole, verified
	o.mu.Unlock()
	return bad
}

// due reports whether the time for a repeated task has come. It is also true if the
// clock was set back.
func due(last, now time.Time, every time.Duration) bool {
	return last.IsZero() || now.Before(last) || now.Sub(last) >= every
}

// read lists turns, newest first, until it reaches turns in had, and reports whether
// it read all. The list is new. With an ErrCorrupt it is valid, with any other error
// it is not.
func (l *Ledger) read(ctx context.Context, book Book, had []*Turn) (turns []*Turn, all bool, bad error) {
	names := interned{}
	places := map[string]int{} // indices in had; turns continue near its front, or not at all
	for i := range min(len(had), 2*receipt.MaxLimit) {
		places[had[i].ID] = i
	}
	q := receipt.Query{Limit: receipt.MaxLimit}
	if len(had) > 0 {
		q.Limit = rereadNewest
	}
	for len(turns) < l.o.Turns {
		records, next, err := book.List(ctx, q)
		if err != nil && !errors.Is(err, ken.ErrCorrupt) {
			return nil, false, err
		}
		bad = cmp.Or(bad, err)
		for i := range records {
			turns = append(turns, names.turn(&records[i]))
		}
		if next == "" {
			break
		}
		if from, ok := overlap(turns, had, places); ok {
			return l.cut(join(turns, had[from:])), false, bad
		}
		q.Before, q.Limit = next, receipt.MaxLimit
	}
	return l.cut(turns), true, bad
}

// overlap reports whether the last turns read are in had in the same order, and the
// index at which had continues. One turn is not enough: a turn's id may occur again in
// another session, with a new receipt.
func overlap(turns, had []*Turn, places map[string]int) (from int, ok bool) {
	const sure = rereadNewest / 2
	if len(turns) < sure {
		return 0, false
	}
	last := turns[len(turns)-sure:]
	at, ok := places[last[0].ID]
	if !ok || at+sure > len(had) {
		return 0, false
	}
	same := slices.EqualFunc(last, had[at:at+sure], func(a, b *Turn) bool { return a.ID == b.ID && a.Session == b.Session })
	return at + sure, same
}

// join appends older turns to new ones, without those that the new ones replace.
func join(turns, older []*Turn) []*Turn {
	anew := make(map[string]bool, len(turns))
	for i := range turns {
		anew[turns[i].ID] = true
	}
	turns = slices.Grow(turns, len(older))
	for i := range older {
		if !anew[older[i].ID] {
			turns = append(turns, older[i])
		}
	}
	return turns
}

// cut removes the oldest turns above the limit.
func (l *Ledger) cut(turns []*Turn) []*Turn { return slices.Clip(turns[:min(len(turns), l.o.Turns)]) }

// sessionsPerCheck is how many sessions are checked at once, while a page waits.
const sessionsPerCheck = 256

// removeDeleted removes turns whose receipts were deleted, and reports whether it has
// checked all sessions; otherwise the next call continues. Pruning deletes the oldest
// receipts. Forgetting deletes all receipts of a session, so checking the oldest turn
// of each session is enough: if it exists, the session was not forgotten; if not, the
// session is listed again. A turn without a session is never forgotten with one.
//
// It misses one case: a turn's id that occurred again in another session, which was
// then forgotten before a check. The next full read finds that.
func (o *owner) removeDeleted(ctx context.Context, book Book, turns []*Turn) (now []*Turn, done bool, err error) {
	for n := len(turns); n > 0; n = len(turns) {
		is, err := exists(ctx, book, turns[n-1])
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
		if n++; n > sessionsPerCheck {
			done = false
			break
		}
		is, err := exists(ctx, book, t)
		if err == nil && !is {
			gone[t.Session], err = remaining(ctx, book, t.Session)
		}
		if err != nil {
			o.asked = nil // the deleted turns are not removed yet
			return nil, false, err
		}
		o.asked[t.Session] = true
	}
	return slices.DeleteFunc(turns, func(t *Turn) bool {
		left, checked := gone[t.Session]
		return checked && !left[t.ID]
	}), done, nil
}

// exists reports whether a turn's receipt still exists. An unreadable receipt counts as
// existing.
func exists(ctx context.Context, book Book, t *Turn) (bool, error) {
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

func remaining(ctx context.Context, book Book, session string) (map[string]bool, error) {
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
