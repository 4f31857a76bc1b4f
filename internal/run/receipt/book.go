package receipt

import (
	"bytes"
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

// DefaultCount is how many receipts a book keeps when nothing is said.
const DefaultCount = 2000

const maxCount = 1_000_000

// Options configures a book; the zero value works.
type Options struct {
	// Count is how many receipts are kept at most, those of forgotten sessions
	// counted; 0 is DefaultCount, below 0 keeps none, and a million is the most.
	Count int
	// Age is how long one is kept, from its turn; 0 and less is without end.
	Age time.Duration
	Now func() time.Time // default time.Now
	// Log hears of receipts that can't be read and are left alone. Default: nothing
	// is logged.
	Log *slog.Logger
}

// Book keeps one owner's receipts on a shelf. It holds no state of its own, so
// any number of books on one shelf, in any number of processes, are one book. It
// is safe for concurrent use.
type Book struct {
	shelf store.Shelf
	o     Options
}

// NewBook returns the book on a shelf. It reads nothing.
func NewBook(shelf store.Shelf, o Options) *Book {
	if o.Count == 0 {
		o.Count = DefaultCount
	}
	o.Count = min(o.Count, maxCount)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Book{shelf: shelf, o: o}
}

// Keeps reports whether the book keeps receipts at all.
func (b *Book) Keeps() bool { return b.o.Count > 0 }

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
	if err := stripForgotten(tx, &rec); err != nil {
		return err
	}
	if n, ok := numberOf(tx, rec.Turn); ok {
		had, err := headOf(tx, n)
		if err == nil && had != nil && had.Session == rec.Session {
			return replaceReceipt(tx, n, had, &rec)
		}
		// Somebody's id of a turn may come again in another session. One that can't be
		// read stays where it is.
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

// replaceReceipt puts the receipt of a later request of a turn in the place of the one before,
// which is not read: what was found out about the turn lies beside it.
func replaceReceipt(tx store.ShelfTx, n uint64, had *entryHead, rec *Record) error {
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

// AddMark adds to the receipt of a turn what its answer turned out to do, within the
// caller's own transaction. A mark that it has is not added again. Errors: ErrNotFound
// for a turn without a receipt; ErrCorrupt.
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

// findReceipt finds the receipt of a turn.
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

// perPut is how many receipts a Put deletes at most: more than one, so that a book
// whose bounds were narrowed gets within them, and few, since a turn's record waits.
const perPut = 8

// perPrune is how many go in one transaction of Prune: others wait for it.
const perPrune = 500

// Prune deletes the receipts beyond the book's bounds, which a Put does by itself
// as far as it needs room, and returns how many: call it now and then, so that old
// ones go where nothing is put any more.
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

// exceedsLimits reports whether the oldest receipt is beyond the bounds.
func (b *Book) exceedsLimits(p *numberRange) bool {
	if p.First > p.Last {
		return false
	}
	return p.Last-p.First+1 > uint64(max(b.o.Count, 0)) || b.o.Age > 0 && b.o.Now().Sub(p.At) > b.o.Age
}

// prune deletes the oldest receipts while they are beyond the bounds, at most so
// many, and returns how many there were. What can't be read is passed over and
// stays: it was not understood, so it is not deleted.
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

// remove deletes a receipt and what leads to it.
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

// AddUse says in the receipt of a turn what the model's answer made of its items, in
// place of what was said before, within the caller's own transaction. Errors:
// ErrNotFound for a turn without a receipt; ErrCorrupt.
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
