package storetest

import (
	"context"
	"errors"

	"github.com/kenlayer/ken/store"
)

// Twice returns a shelf that runs every function twice, as one does whose holder
// is gone in between: what the first run of an update did is rolled back, and what
// it returned is not heard of. Whoever keeps something of the first run beside the
// second is found out by a test that runs on it.
func Twice(s store.Shelf) store.Shelf { return twice{s} }

type twice struct{ store.Shelf }

var errAgain = errors.New("once more")

// View implements store.Shelf.
func (s twice) View(ctx context.Context, fn func(store.ShelfReader) error) error {
	err := s.Shelf.View(ctx, func(r store.ShelfReader) error { _ = fn(r); return errAgain })
	if !errors.Is(err, errAgain) {
		return err
	}
	return s.Shelf.View(ctx, fn)
}

// Update implements store.Shelf.
func (s twice) Update(ctx context.Context, fn func(store.ShelfTx) error) error {
	err := s.Shelf.Update(ctx, func(tx store.ShelfTx) error { _ = fn(tx); return errAgain })
	if !errors.Is(err, errAgain) {
		return err
	}
	return s.Shelf.Update(ctx, fn)
}
