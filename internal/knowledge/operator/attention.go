package operator

import (
	"context"
	"errors"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/attention"
)

// Attention lists what a person should look at, warnings first, and with all also
// what was dismissed. unread is what could not be read and is missing from the list,
// ErrCorrupt; the rest of the list is good.
func (d *Desk) Attention(ctx context.Context, all bool) (items []attention.Item, unread, err error) {
	items, err = attention.List(ctx, d.s, d.s.Shelf(), attention.Options{Now: d.o.Now(), All: all})
	if errors.Is(err, ken.ErrCorrupt) {
		return items, err, nil
	}
	return items, nil, err
}

// Dismiss hides an item until something about it changes: it is another one then.
// The claims that it is about stay as they are. Dismissing one again changes nothing.
// ErrNotFound for an id that no item has.
func (d *Desk) Dismiss(ctx context.Context, id string) error {
	items, _, err := d.Attention(ctx, true)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(items, func(i attention.Item) bool { return i.ID == id }) {
		return &ken.Error{Code: ken.CodeNotFound, Field: "item", Msg: "no such item",
			Try: "List what needs attention; an item whose claims have changed has another id."}
	}
	return attention.Dismiss(ctx, d.s.Shelf(), id)
}
