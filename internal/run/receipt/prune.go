package receipt

import (
	"context"

	"github.com/kenlayer/ken/store"
)

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
			due = b.over(&p)
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

// over reports whether the oldest receipt is beyond the bounds.
func (b *Book) over(p *pages) bool {
	if p.First > p.Last {
		return false
	}
	return p.Last-p.First+1 > uint64(max(b.o.Count, 0)) || b.o.Age > 0 && b.o.Now().Sub(p.At) > b.o.Age
}

// prune deletes the oldest receipts while they are beyond the bounds, at most so
// many, and returns how many there were. What can't be read is passed over and
// stays: it was not understood, so it is not deleted.
func (b *Book) prune(tx store.ShelfTx, p *pages, most int) (pruned int, err error) {
	for steps := 0; steps < most && b.over(p); steps++ {
		if v := tx.Get(keyEntry(p.First)); v != nil {
			h, err := decodeHead(p.First, v)
			if b.told(err) == nil {
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
func remove(tx store.ShelfTx, n uint64, h head) error {
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
