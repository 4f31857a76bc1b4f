package overlay_test

import (
	"context"
	"fmt"
	"maps"
	"testing"

	"github.com/kenlayer/ken/internal/store/overlay"
	"github.com/kenlayer/ken/store"
	"github.com/kenlayer/ken/store/memory"
	"github.com/kenlayer/ken/store/storetest"
)

// layered is a shelf whose updates write through overlays.
type layered struct {
	store.Shelf
	layers int
}

func (l layered) Update(ctx context.Context, fn func(store.ShelfTx) error) error {
	return l.Shelf.Update(ctx, func(tx store.ShelfTx) error { return through(tx, l.layers, fn) })
}

func through(tx store.ShelfTx, layers int, fn func(store.ShelfTx) error) error {
	o := overlay.New(tx)
	defer o.End()
	var err error
	if layers > 1 {
		err = through(o, layers-1, fn)
	} else {
		err = fn(o)
	}
	if err != nil {
		return err
	}
	return o.Apply(tx)
}

// A function can't tell an overlay from the transaction itself.
func TestOverlayIsATransaction(t *testing.T) {
	for layers := 1; layers <= 3; layers++ {
		t.Run(fmt.Sprint(layers), func(t *testing.T) {
			storetest.Shelf(t, func(*testing.T) store.Shelf { return layered{memory.NewShelf(), layers} })
		})
	}
}

func TestOverlayTouchesNothingBeforeItIsApplied(t *testing.T) {
	shelf := memory.NewShelf()
	err := shelf.Update(t.Context(), func(tx store.ShelfTx) error {
		if err := tx.Put("a", []byte("old")); err != nil {
			return err
		}
		if err := tx.Put("b", []byte("old")); err != nil {
			return err
		}
		o := overlay.New(tx)
		for _, err := range []error{o.Put("a", []byte("new")), o.Put("c", nil), o.Delete("b"), o.Delete("never")} {
			if err != nil {
				return err
			}
		}
		if string(tx.Get("a")) != "old" || tx.Get("b") == nil || tx.Get("c") != nil {
			t.Error("it wrote through")
		}
		got := maps.Collect(o.Changes())
		if o.Len() != 3 || string(got["a"]) != "new" || got["b"] != nil || got["c"] == nil {
			t.Errorf("it says that it changes %q", got)
		}
		o.End()
		if err := o.Apply(tx); err != nil {
			return err
		}
		if string(tx.Get("a")) != "new" || tx.Get("b") != nil || tx.Get("c") == nil {
			t.Error("what was applied is not there")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func BenchmarkOverlay(b *testing.B) {
	shelf := memory.NewShelf()
	err := shelf.Update(b.Context(), func(tx store.ShelfTx) error {
		for b.Loop() {
			o := overlay.New(tx)
			for i := range 8 {
				if err := o.Put(fmt.Sprintf("session/message/x/%020d", i), []byte("what somebody said")); err != nil {
					return err
				}
			}
			for range o.Scan("session/message/") {
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}
