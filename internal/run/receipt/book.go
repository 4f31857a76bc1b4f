package receipt

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/clean"
	"github.com/kenlayer/ken/store"
)

// DefaultCount is how many receipts a book keeps when Options.Count is 0.
const DefaultCount = 2000

const maxCount = 1_000_000

// Options configures a book; the zero value works.
type Options struct {
	// Count is the largest number of receipts kept, including those of forgotten
	// sessions. 0 means DefaultCount, below 0 keeps none, and the maximum is a million.
	Count int
	// Age is how long a receipt is kept after its turn; 0 or less means forever.
	Age time.Duration
	Now func() time.Time // default time.Now
	// Log receives errors about receipts that can't be read and are skipped. Default:
	// nothing is logged.
	Log *slog.Logger
}

// Book keeps one owner's receipts on a shelf. It has no state in memory, so any number
// of books, in any number of processes, may share one shelf. It is safe for concurrent
// use.
type Book struct {
	shelf store.Shelf
	o     Options
}

// NewBook returns a book on a shelf. It reads nothing.
func NewBook(shelf store.Shelf, o Options) *Book {
	o.Count = cmp.Or(o.Count, DefaultCount)
	o.Count = min(o.Count, maxCount)
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &Book{shelf: shelf, o: o}
}

// Keeps reports whether the book keeps receipts.
func (b *Book) Keeps() bool { return b.o.Count > 0 }

// Put stores the receipt of a turn, in a transaction of its own. Errors: those of Add
// and of the shelf.
func (b *Book) Put(ctx context.Context, rec Record) error {
	if !b.Keeps() {
		return nil
	}
	return b.shelf.Update(ctx, func(tx store.ShelfTx) error { return b.Add(tx, rec) })
}

// Add stores the receipt of a turn within the caller's transaction, and deletes receipts
// that exceed the book's limits. The receipt of a later request of the same turn
// replaces the earlier one and keeps its marks. rec is not changed. Errors: ErrInvalid
// for a turn without an id, and for a turn or session id that is longer than 256 bytes
// or unclean.
func (b *Book) Add(tx store.ShelfTx, rec Record) error {
	if !b.Keeps() {
		return nil
	}
	if err := cmp.Or(checkID("turn", rec.Turn, true), checkID("session", rec.Session, false)); err != nil {
		return err
	}
	rec = rec.lean()
	if err := stripForgotten(tx, &rec); err != nil {
		return err
	}
	if n, ok := numberOf(tx, rec.Turn); ok {
		had, err := headOf(tx, n)
		if err == nil && had != nil && had.Session == rec.Session {
			return replaceReceipt(tx, n, had, &rec)
		}
		// Clients choose turn ids, so an id may occur again in another session. An
		// unreadable receipt is left in place.
		if b.logCorrupt(err) == nil && had != nil {
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

// replaceReceipt replaces the receipt of an earlier request of the same turn. It does
// not read that receipt: what was found out about the turn later is stored beside it.
func replaceReceipt(tx store.ShelfTx, n uint64, had *entryHead, rec *Record) error {
	rec.Through = cmp.Or(rec.Through, had.Through)
	if !had.Apart {
		old, err := load(tx, n)
		if err != nil {
			return err
		}
		rec.Taint = union(old.Taint, rec.Taint)
		if len(rec.Used) == 0 {
			rec.Used = old.Used
		}
		rec.Through = cmp.Or(rec.Through, old.Through)
	} else if len(rec.Taint) > 0 {
		marks, err := marksOf(tx, n)
		if err != nil {
			return err
		}
		rec.Taint = union(marks, rec.Taint)
	}
	return keep(tx, n, rec)
}

// keep writes a receipt. What is found out later, the use of its items and the marks, is
// stored under keys of its own, so that an addition does not rewrite the receipt. A
// stored use or mark stays when rec has none.
func keep(tx store.ShelfTx, n uint64, rec *Record) error {
	body := *rec
	body.Used, body.Taint = nil, nil
	b := encoded.Get().(*bytes.Buffer)
	defer encoded.Put(b)
	b.Reset()
	v, err := encode(b, &body)
	if err == nil {
		err = tx.Put(keyEntry(n), v)
	}
	if err == nil && len(rec.Used) > 0 {
		err = putAnnotation(tx, keyUsed(n), rec.Used)
	}
	if err == nil && len(rec.Taint) > 0 {
		err = putAnnotation(tx, keyTaint(n), rec.Taint)
	}
	return err
}

func putAnnotation(tx store.ShelfTx, key string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if bytes.Equal(tx.Get(key), b) {
		return nil
	}
	return tx.Put(key, b)
}

// logCorrupt logs an error of a receipt that can't be read, and returns it.
func (b *Book) logCorrupt(err error) error {
	if err != nil {
		b.o.Log.Warn("a receipt is left alone", "cause", err)
	}
	return err
}

// AddMark adds marks to the receipt of a turn, for what its answer turned out to do,
// within the caller's transaction. A mark that the receipt has is not added again.
// Errors: ErrNotFound for a turn without a receipt; ErrCorrupt.
func (b *Book) AddMark(tx store.ShelfTx, turn string, taint []ken.Taint) error {
	n, err := findReceipt(tx, turn)
	if err != nil || len(taint) == 0 {
		return err
	}
	had, err := marksOf(tx, n)
	if err != nil {
		return err
	}
	return putAnnotation(tx, keyTaint(n), union(had, taint))
}

// findReceipt returns the number of a turn's receipt. Errors: ErrNotFound.
func findReceipt(tx store.ShelfTx, turn string) (n uint64, err error) {
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
		t.Tool, t.Call, t.Claim = clean.Text(t.Tool), clean.Text(t.Call), clean.Text(t.Claim)
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// perPut is the largest number of receipts that one Put deletes. It is more than one, so
// that a book shrinks after its limits were lowered, and small, because the turn waits
// for it.
const perPut = 8

// perPrune is how many receipts one transaction of Prune deletes. Other writers wait for
// each transaction.
const perPrune = 500

// Prune deletes the receipts that exceed the book's limits and returns how many. Put
// also deletes a few each time; call Prune now and then for books that get no new
// receipts.
func (b *Book) Prune(ctx context.Context) (int, error) {
	pruned := 0
	for {
		var due bool
		err := b.shelf.View(ctx, func(r store.ShelfReader) error {
			p := readPages(r)
			due = b.exceedsLimits(&p)
			return nil
		})
		if err != nil || !due {
			return pruned, err
		}
		n := 0
		err = b.shelf.Update(ctx, func(tx store.ShelfTx) (err error) {
			p := readPages(tx)
			if n, err = b.prune(tx, &p, perPrune); err != nil {
				return err
			}
			return p.write(tx)
		})
		if err != nil {
			return pruned, err
		}
		pruned += n
	}
}

// exceedsLimits reports whether the oldest receipt exceeds the book's limits.
func (b *Book) exceedsLimits(p *numberRange) bool {
	if p.First > p.Last {
		return false
	}
	return p.Last-p.First+1 > uint64(max(b.o.Count, 0)) || b.o.Age > 0 && b.o.Now().Sub(p.At) > b.o.Age
}

// prune deletes the oldest receipts while they exceed the limits, at most most of them,
// and returns how many it deleted. It skips receipts that it can't read.
func (b *Book) prune(tx store.ShelfTx, p *numberRange, most int) (pruned int, err error) {
	for steps := 0; steps < most && b.exceedsLimits(p); steps++ {
		if v := tx.Get(keyEntry(p.First)); v != nil {
			h, err := decodeHead(p.First, v)
			if b.logCorrupt(err) == nil {
				if err := remove(tx, p.First, h); err != nil {
					return pruned, err
				}
				pruned++
			}
		}
		p.First++
		if v := tx.Get(keyEntry(p.First)); v != nil {
			if h, err := decodeHead(p.First, v); err == nil {
				p.At = h.At
			}
		}
	}
	return pruned, nil
}

// remove deletes a receipt and the keys that refer to it.
func remove(tx store.ShelfTx, n uint64, h entryHead) error {
	keys := []string{keyEntry(n), keyUsed(n), keyTaint(n)}
	if at, ok := numberOf(tx, h.Turn); ok && at == n {
		keys = append(keys, keyTurn(h.Turn))
	}
	if h.Session != "" {
		keys = append(keys, keyIn(h.Session, n))
	}
	for _, key := range keys {
		if err := tx.Delete(key); err != nil {
			return err
		}
	}
	return nil
}

// AddUse stores in the receipt of a turn how the model's answer used its items, within
// the caller's transaction. It replaces what was stored before. Errors: ErrNotFound for
// a turn without a receipt; ErrCorrupt.
func (b *Book) AddUse(tx store.ShelfTx, turn string, used []ken.Use) error {
	n, err := findReceipt(tx, turn)
	if err != nil {
		return err
	}
	rec := Record{Receipt: ken.Receipt{Turn: turn, Used: used}}
	if err := stripForgotten(tx, &rec); err != nil {
		return err
	}
	return putAnnotation(tx, keyUsed(n), rec.Used)
}

// Marks returns the marks of a session's turns, newest turn first. It skips receipts
// that it can't read and returns the rest with the error.
func (b *Book) Marks(ctx context.Context, session string) (out []ken.Taint, err error) {
	if session == "" { // an empty session must not match every receipt
		return nil, nil
	}
	err = b.shelf.View(ctx, func(r store.ShelfReader) error {
		out = nil
		for n := range numbers(r, session, ^uint64(0)) {
			if err := ctx.Err(); err != nil {
				return err
			}
			h, err := headOf(r, n)
			if b.logCorrupt(err) != nil || h == nil || h.Session != session {
				continue
			}
			marks, err := marksOf(r, n)
			if err == nil && !h.Apart {
				var rec *Record
				if rec, err = load(r, n); err == nil {
					marks = rec.Taint
				}
			}
			if b.logCorrupt(err) == nil {
				out = append(out, marks...)
			}
		}
		return nil
	})
	return out, err
}

// stripUse removes the rank and the use of these claims from a receipt, and reports
// whether there was anything to remove. The ids stay.
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
