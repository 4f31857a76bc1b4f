package receipt

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/forgotten"
	"github.com/kenlayer/ken/store"
)

// ForgetSession deletes the receipts of a session and returns how many. It also deletes
// receipts that it can't read, because the key shows that they belong to the session.
func (b *Book) ForgetSession(ctx context.Context, session string) (int, error) {
	gone := 0
	err := b.shelf.Update(ctx, func(tx store.ShelfTx) (err error) {
		gone, err = b.RemoveSession(tx, session)
		return err
	})
	return gone, err
}

// RemoveSession is ForgetSession within the caller's own transaction.
func (b *Book) RemoveSession(tx store.ShelfTx, session string) (gone int, err error) {
	if session == "" { // an empty session must not match every receipt
		return 0, nil
	}
	for _, n := range slices.Collect(numbers(tx, session, ^uint64(0))) {
		h := entryHead{Session: session}
		if v := tx.Get(keyEntry(n)); v != nil {
			gone++
			if read, err := decodeHead(n, v); err == nil {
				h.Turn = read.Turn
			}
		}
		if err := remove(tx, n, h); err != nil {
			return gone, err
		}
	}
	return gone, nil
}

// Traces describes what must be forgotten.
type Traces struct {
	// Claims are the ids of forgotten claims. Receipts keep the id and nothing else of them.
	Claims []string
	// Text reports whether a text contains forgotten content; nil matches none. If several
	// words match only together, all of them are removed.
	Text func(string) bool
}

// Forget removes from every receipt what it says about the claims besides their ids, and the
// texts that match. It returns how many receipts it changed. It skips receipts that it can't
// read and returns ErrCorrupt for them. It may be repeated.
func (b *Book) Forget(ctx context.Context, t Traces) (int, error) {
	changed := 0
	var bad []error
	for before := ^uint64(0); before > 0; {
		p, err := b.matchPage(ctx, before, &t)
		bad = append(bad, p.bad...)
		if err != nil {
			return changed, errors.Join(append(bad, err)...)
		}
		n, err := b.strip(ctx, p.touched, &t)
		if changed += n; err != nil {
			return changed, errors.Join(append(bad, err)...)
		}
		before = p.next
	}
	return changed, errors.Join(bad...)
}

// Holds counts the receipts that ForgetSession would delete for these sessions or that Forget
// would change. It changes nothing. It skips receipts that it can't read, as Forget does.
func (b *Book) Holds(ctx context.Context, t Traces, sessions []string) (int, error) {
	var n int
	var bad []error
	err := b.shelf.View(ctx, func(r store.ShelfReader) error {
		n, bad = 0, nil
		goes := map[uint64]bool{}
		for _, id := range sessions {
			if id == "" {
				continue
			}
			for at := range numbers(r, id, ^uint64(0)) {
				if !goes[at] && r.Get(keyEntry(at)) != nil {
					goes[at] = true
					n++
				}
			}
		}
		for at := range numbers(r, "", ^uint64(0)) {
			if err := ctx.Err(); err != nil {
				return err
			}
			if goes[at] {
				continue
			}
			rec, err := load(r, at)
			switch {
			case errors.Is(err, ken.ErrCorrupt):
				bad = append(bad, err)
			case err != nil:
				return err
			case rec != nil && t.strip(rec):
				n++
			}
		}
		return nil
	})
	return n, errors.Join(err, errors.Join(bad...))
}

// forgetMatch holds the receipts that match in one page.
type forgetMatch struct {
	touched []uint64
	bad     []error
	next    uint64 // where the next page begins, 0 at the end
}

// matchPage searches a page of receipts in a read transaction, which does not block writers.
func (b *Book) matchPage(ctx context.Context, before uint64, t *Traces) (f forgetMatch, err error) {
	err = b.shelf.View(ctx, func(r store.ShelfReader) error {
		f = forgetMatch{}
		seen := 0
		for n := range numbers(r, "", before) {
			if seen++; seen == perPrune {
				f.next = n
			}
			rec, err := load(r, n)
			switch {
			case errors.Is(err, ken.ErrCorrupt):
				f.bad = append(f.bad, err)
			case err != nil:
				return err
			case rec != nil && t.strip(rec):
				f.touched = append(f.touched, n)
			}
			if f.next != 0 {
				return nil
			}
		}
		return nil
	})
	return f, err
}

// strip rewrites receipts without the forgotten content, and returns how many it changed.
func (b *Book) strip(ctx context.Context, numbers []uint64, t *Traces) (changed int, err error) {
	if len(numbers) == 0 {
		return 0, nil
	}
	err = b.shelf.Update(ctx, func(tx store.ShelfTx) error {
		changed = 0
		for _, n := range numbers {
			rec, err := load(tx, n)
			if err != nil {
				return err
			}
			if rec == nil || !t.strip(rec) { // deleted or stripped by another process
				continue
			}
			changed++
			if err := keep(tx, n, rec); err != nil {
				return err
			}
		}
		return nil
	})
	return changed, err
}

// strip removes the forgotten content from a receipt, and reports whether there was any.
func (t *Traces) strip(rec *Record) bool {
	found := false
	for i := range rec.Items {
		bare := ken.Item{ID: rec.Items[i].ID}
		if !slices.Contains(t.Claims, bare.ID) {
			continue
		}
		if rec.BlockHash != "" || !reflect.DeepEqual(rec.Items[i], bare) {
			rec.Items[i], rec.BlockHash, found = bare, "", true
		}
	}
	found = stripUse(rec, t.Claims) || found
	if t.Text == nil {
		return found
	}
	s := &rec.Signals
	for _, list := range []*[]string{&s.Keywords, &s.Symbols, &s.Failures, &s.Entities, &rec.Focal, &rec.Degraded} {
		if len(*list) > 0 && (t.Text(strings.Join(*list, " ")) || slices.ContainsFunc(*list, t.Text)) {
			*list, found = []string{}, true
		}
	}
	erase := func(text *string) {
		if *text != "" && t.Text(*text) {
			*text, found = "", true
		}
	}
	erase(&rec.Cause)
	for i := range rec.Cut {
		erase(&rec.Cut[i].Detail)
	}
	return found
}

// stripForgotten removes from a new receipt what was forgotten since its turn began.
func stripForgotten(tx store.ShelfReader, rec *Record) error {
	gone, err := forgotten.In(tx)
	if err != nil || gone == nil {
		return err
	}
	t := Traces{Text: func(text string) bool { return gone.Says(text) || gone.Names(text) }}
	note := func(id string) {
		if gone.Has(id) {
			t.Claims = append(t.Claims, id)
		}
	}
	for i := range rec.Items {
		note(rec.Items[i].ID)
	}
	for i := range rec.Used {
		note(rec.Used[i].ID)
	}
	if rec.Ranking != nil {
		for i := range rec.Ranking.Candidates {
			note(rec.Ranking.Candidates[i].ID)
		}
		r := *rec.Ranking // copied, because the turn may share it
		r.Candidates = slices.Clone(r.Candidates)
		rec.Ranking = &r
	}
	rec.Used = slices.Clone(rec.Used)
	t.strip(rec)
	return nil
}

// GivenOf lists the turns whose models were given one of the claims, oldest first, as far as
// their receipts are stored. It skips receipts that it can't read and returns the rest with the
// error.
func (b *Book) GivenOf(ctx context.Context, claims []string) (out []forgotten.Given, err error) {
	var bad []error
	err = b.shelf.View(ctx, func(r store.ShelfReader) error {
		out, bad = nil, nil
		for n := range numbers(r, "", ^uint64(0)) {
			if err := ctx.Err(); err != nil {
				return err
			}
			rec, err := load(r, n)
			if err != nil {
				bad = append(bad, err)
				continue
			}
			if rec != nil && slices.ContainsFunc(rec.Items, func(it ken.Item) bool { return slices.Contains(claims, it.ID) }) {
				out = append(out, forgotten.Given{Session: rec.Session, Turn: rec.Turn, At: rec.At})
			}
		}
		slices.Reverse(out)
		return nil
	})
	return out, errors.Join(err, errors.Join(bad...))
}
