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

// again is how many of the newest turns are read each time: their answers may still
// be under way.
const again = 32

// Catch brings an owner's turns up to the book: it reads what is new and the newest
// few, and everything the first time. See the package for when it looks for what is
// gone. Receipts that can't be read are left out. Errors: those of the book; with an
// ErrCorrupt the turns that can be read are there, with any other all is as it was.
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
		if turns, done, err = o.present(ctx, book, turns); err != nil {
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

// due reports whether something that was done last is to be done again. A clock that
// was set back makes it so, too.
func due(last, now time.Time, every time.Duration) bool {
	return last.IsZero() || now.Before(last) || now.Sub(last) >= every
}

// read lists turns, newest first, until it meets those that it had, and reports
// whether all were read. The list is new. With an ErrCorrupt it is good, with any
// other error it is not.
func (l *Ledger) read(ctx context.Context, book Book, had []*Turn) (turns []*Turn, all bool, bad error) {
	var names interned
	places := map[string]int{} // it goes on near its front, or nowhere
	for i := range min(len(had), 2*receipt.MaxLimit) {
		places[had[i].ID] = i
	}
	q := receipt.Query{Limit: receipt.MaxLimit}
	if len(had) > 0 {
		q.Limit = again
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
		if from, ok := meets(turns, had, places); ok {
			return l.cut(join(turns, had[from:])), false, bad
		}
		q.Before, q.Limit = next, receipt.MaxLimit
	}
	return l.cut(turns), true, bad
}

// meets reports whether the last turns that were read are ones that it had, in the
// same order, and where those go on. A single one does not tell: a turn's id may come
// again in another session, and its receipt is a new one then.
func meets(turns, had []*Turn, places map[string]int) (from int, ok bool) {
	const sure = again / 2
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

// join puts older turns behind new ones, without those that were since kept anew.
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

// cut leaves out the oldest turns beyond the bound.
func (l *Ledger) cut(turns []*Turn) []*Turn { return slices.Clip(turns[:min(len(turns), l.o.Turns)]) }

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
