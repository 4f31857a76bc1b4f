package middleware

import (
	"context"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// tenant is an owner's store for whoever holds on to it for longer than a call:
// it asks the layer for the store each time, because the layer closes stores that
// nobody uses. It is a ken.Store and a store.Shelf.
type tenant struct {
	l     *Layer
	owner string
}

var (
	_ ken.Store   = tenant{}
	_ store.Shelf = tenant{}
)

// use runs fn on the store.
func (t tenant) use(ctx context.Context, fn func(store.Engine) error) error {
	if t.l.storeErr != nil {
		return t.l.storeErr
	}
	t.l.giveWay(ctx)
	s, release, err := t.l.Store(ctx, t.owner)
	if err != nil {
		return err
	}
	defer release()
	return fn(s)
}

// WriteClaim implements ken.Store.
func (t tenant) WriteClaim(ctx context.Context, c ken.Claim) (id string, err error) {
	err = t.use(ctx, func(s store.Engine) (err error) {
		if id, err = s.WriteClaim(ctx, c); err == nil {
			t.l.derived(ctx, s, id)
		}
		return err
	})
	return id, err
}

// Query implements ken.Store.
func (t tenant) Query(ctx context.Context, q ken.Query) (out []ken.Claim, err error) {
	err = t.use(ctx, func(s store.Engine) (err error) { out, err = s.Query(ctx, q); return err })
	return out, err
}

// Transition implements ken.Store.
func (t tenant) Transition(ctx context.Context, tr ken.Transition) error {
	return t.use(ctx, func(s store.Engine) error { return s.Transition(ctx, tr) })
}

// Supersede implements ken.Store.
func (t tenant) Supersede(ctx context.Context, oldID, newID string) error {
	return t.use(ctx, func(s store.Engine) error { return s.Supersede(ctx, oldID, newID) })
}

// SupersedeFor is bolt.Store's.
func (t tenant) SupersedeFor(ctx context.Context, oldID, newID, reason string, actor ken.Actor) error {
	return t.use(ctx, func(s store.Engine) error { return s.SupersedeFor(ctx, oldID, newID, reason, actor) })
}

// History implements ken.Store.
func (t tenant) History(ctx context.Context, id string) (out []ken.ClaimEvent, err error) {
	err = t.use(ctx, func(s store.Engine) (err error) { out, err = s.History(ctx, id); return err })
	return out, err
}

// Reinforce is bolt.Store's.
func (t tenant) Reinforce(ctx context.Context, id string, evidence []ken.Evidence, actor ken.Actor) error {
	return t.use(ctx, func(s store.Engine) error { return s.Reinforce(ctx, id, evidence, actor) })
}

// Get is bolt.Store's.
func (t tenant) Get(ctx context.Context, id string) (c ken.Claim, err error) {
	err = t.use(ctx, func(s store.Engine) (err error) { c, err = s.Get(ctx, id); return err })
	return c, err
}

// ByKey is bolt.Store's.
func (t tenant) ByKey(ctx context.Context, key string) (c ken.Claim, err error) {
	err = t.use(ctx, func(s store.Engine) (err error) { c, err = s.ByKey(ctx, key); return err })
	return c, err
}

// View implements store.Shelf.
func (t tenant) View(ctx context.Context, fn func(store.ShelfReader) error) error {
	return t.use(ctx, func(s store.Engine) error { return s.Shelf().View(ctx, fn) })
}

// Update implements store.Shelf.
func (t tenant) Update(ctx context.Context, fn func(store.ShelfTx) error) error {
	return t.use(ctx, func(s store.Engine) error { return s.Shelf().Update(ctx, fn) })
}
