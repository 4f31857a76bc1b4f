package receipt

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// Put keeps the receipt of a turn, in a transaction of its own. Errors: as of Add,
// and what the shelf fails with.
func (b *Book) Put(ctx context.Context, rec Record) error {
	if !b.Keeps() {
		return nil
	}
	return b.shelf.Update(ctx, func(tx store.ShelfTx) error { return b.Add(tx, rec) })
}

// Add keeps the receipt of a turn within the caller's own transaction, and deletes
// those that are beyond the book's bounds by it. The receipt of a later request of
// the same turn takes the earlier one's place, with the marks that it had. rec is
// not changed. Errors: ErrInvalid for a turn without an id, and for an id of a turn
// or session that is longer than 256 bytes or unclean.
func (b *Book) Add(tx store.ShelfTx, rec Record) error {
	if !b.Keeps() {
		return nil
	}
	if err := checkID("turn", rec.Turn, true); err != nil {
		return err
	}
	if err := checkID("session", rec.Session, false); err != nil {
		return err
	}
	rec = rec.lean()
	if err := refuse(tx, &rec); err != nil {
		return err
	}
	if n, ok := numberOf(tx, rec.Turn); ok {
		had, err := headOf(tx, n)
		if err == nil && had != nil && had.Session == rec.Session {
			return again(tx, n, had, &rec)
		}
		// Somebody's id of a turn may come again in another session. One that can't be
		// read stays where it is.
		if b.told(err) == nil && had != nil {
			if err := remove(tx, n, *had); err != nil {
				return err
			}
		}
	}
	p := readPages(tx)
	p.Last++
	if p.First >= p.Last {
		p.First, p.At = p.Last, rec.At
	}
	if err := keep(tx, p.Last, &rec); err != nil {
		return err
	}
	if err := tx.Put(keyTurn(rec.Turn), []byte(strconv.FormatUint(p.Last, 16))); err != nil {
		return err
	}
	if rec.Session != "" {
		if err := tx.Put(keyIn(rec.Session, p.Last), nil); err != nil {
			return err
		}
	}
	if _, err := b.prune(tx, &p, perPut); err != nil {
		return err
	}
	return p.write(tx)
}

// again puts the receipt of a later request of a turn in the place of the one before,
// which is not read: what was found out about the turn lies beside it.
func again(tx store.ShelfTx, n uint64, had *head, rec *Record) error {
	if rec.Through == 0 {
		rec.Through = had.Through
	}
	if !had.Apart {
		old, err := load(tx, n)
		if err != nil {
			return err
		}
		rec.Taint = union(old.Taint, rec.Taint)
		if len(rec.Used) == 0 {
			rec.Used = old.Used
		}
		if rec.Through == 0 {
			rec.Through = old.Through
		}
	} else if len(rec.Taint) > 0 {
		marks, err := marksOf(tx, n)
		if err != nil {
			return err
		}
		rec.Taint = union(marks, rec.Taint)
	}
	return keep(tx, n, rec)
}

// keep writes a receipt. What is found out about a turn later, what its answer used and
// the marks of that, goes beside it, so that nobody who adds to it has to read and write
// the whole; what rec has none of stays as it is.
func keep(tx store.ShelfTx, n uint64, rec *Record) error {
	body := *rec
	body.Used, body.Taint = nil, nil
	v, err := encode(&body)
	if err == nil {
		err = tx.Put(keyEntry(n), v)
	}
	if err == nil && len(rec.Used) > 0 {
		err = putBeside(tx, keyUsed(n), rec.Used)
	}
	if err == nil && len(rec.Taint) > 0 {
		err = putBeside(tx, keyTaint(n), rec.Taint)
	}
	return err
}

func putBeside(tx store.ShelfTx, key string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if bytes.Equal(tx.Get(key), b) {
		return nil
	}
	return tx.Put(key, b)
}

// told logs an error of a receipt that can't be read, and returns it.
func (b *Book) told(err error) error {
	if err != nil {
		b.o.Log.Warn("a receipt is left alone", "cause", err)
	}
	return err
}

// AddMark adds to the receipt of a turn what its answer turned out to do, within the
// caller's own transaction. A mark that it has is not added again. Errors: ErrNotFound
// for a turn without a receipt; ErrCorrupt.
func (b *Book) AddMark(tx store.ShelfTx, turn string, taint []ken.Taint) error {
	n, err := there(tx, turn)
	if err != nil || len(taint) == 0 {
		return err
	}
	had, err := marksOf(tx, n)
	if err != nil {
		return err
	}
	return putBeside(tx, keyTaint(n), union(had, taint))
}

// there finds the receipt of a turn.
func there(tx store.ShelfTx, turn string) (n uint64, err error) {
	n, ok := numberOf(tx, turn)
	if !ok {
		return 0, notFound(turn)
	}
	h, err := headOf(tx, n)
	if err == nil && h == nil {
		err = notFound(turn)
	}
	return n, err
}

// union returns the marks of both, each once.
func union(a, b []ken.Taint) []ken.Taint {
	out := slices.Clone(a)
	for _, t := range b {
		t.Tool, t.Call, t.Claim = store.Clean(t.Tool), store.Clean(t.Call), store.Clean(t.Claim)
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}
