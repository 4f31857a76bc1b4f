package middleware

import (
	"context"
	"errors"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/store"
)

// ItemState is what became of an item of a block since its turn.
type ItemState string

// States of items.
const (
	ItemSame      ItemState = "same"      // as it was injected
	ItemChanged   ItemState = "changed"   // the claim or the file says something else by now, or may
	ItemForgotten ItemState = "forgotten" // it is gone: forgotten, or its file is
	ItemMade      ItemState = "made"      // for the turn alone, such as a checkpoint; it is nowhere to be read
)

// KeptItem is an item of a turn's block: key, source, heading and text are those of
// the claim as it is now, since a receipt keeps none.
type KeptItem struct {
	ken.Item
	State ItemState `json:"state"`
}

// KeptTurn is the receipt of a turn as it was kept, with its items looked up.
type KeptTurn struct {
	receipt.Record
	Items []KeptItem `json:"items"`
}

// Turn returns the receipt of one of the owner's turns, "" for the configured owner,
// with the texts of its items as they are now. It waits for turns that are about to
// be kept. Errors: ErrNotFound for a turn that has no receipt, or none any more.
func (l *Layer) Turn(ctx context.Context, owner, turn string) (KeptTurn, error) {
	if err := l.recorder.flush(ctx); err != nil {
		return KeptTurn{}, err
	}
	s, release, err := l.Store(ctx, owner)
	if err != nil {
		return KeptTurn{}, err
	}
	defer release()
	rec, err := l.Receipts(owner).Get(ctx, turn)
	if err != nil {
		return KeptTurn{}, err
	}
	out := KeptTurn{Record: rec, Items: make([]KeptItem, len(rec.Items))}
	for i := range rec.Items {
		if out.Items[i], err = l.kept(ctx, s, &rec, i); err != nil {
			return KeptTurn{}, err
		}
	}
	return out, nil
}

// kept looks an item up.
func (l *Layer) kept(ctx context.Context, s store.Engine, rec *receipt.Record, i int) (KeptItem, error) {
	it := KeptItem{Item: rec.Items[i], State: ItemSame}
	if !isID(it.ID) {
		it.State = ItemMade
		return it, nil
	}
	c, err := l.claimOfItem(ctx, s, &it.Item)
	if errors.Is(err, ken.ErrNotFound) && it.Kind == ken.KindDecision { // perhaps a file says so
		if d, ok := l.decided(it.ID); ok {
			c, err = d, nil
		}
	}
	switch {
	case errors.Is(err, ken.ErrNotFound):
		it.State = ItemForgotten
		return it, nil
	case err != nil:
		return it, err
	case c.UpdatedAt.After(rec.At):
		it.State = ItemChanged
	}
	it.Key, it.Source, it.Heading, it.Text = c.Key, c.Source, c.Heading, c.Text
	it.Entities, it.Aspect = c.Entities, c.Aspect
	return it, nil
}
