package shared

import (
	"context"
	"iter"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/remote"
	"github.com/kenlayer/ken/store"
)

// WriteClaim implements ken.Store.
func (e *engine) WriteClaim(ctx context.Context, c ken.Claim) (id string, err error) {
	err = e.write(ctx, func(ctx context.Context, s store.Engine) (err error) { id, err = s.WriteClaim(ctx, c); return err })
	return id, err
}

// Query implements ken.Store.
func (e *engine) Query(ctx context.Context, q ken.Query) (out []ken.Claim, err error) {
	err = e.read(ctx, func(s store.Engine) (err error) { out, err = s.Query(ctx, q); return err })
	return out, err
}

// Transition implements ken.Store.
func (e *engine) Transition(ctx context.Context, t ken.Transition) error {
	return e.write(ctx, func(ctx context.Context, s store.Engine) error { return s.Transition(ctx, t) })
}

// Supersede implements ken.Store.
func (e *engine) Supersede(ctx context.Context, oldID, newID string) error {
	return e.write(ctx, func(ctx context.Context, s store.Engine) error { return s.Supersede(ctx, oldID, newID) })
}

// SupersedeFor implements store.Claims.
func (e *engine) SupersedeFor(ctx context.Context, oldID, newID, reason string, actor ken.Actor) error {
	return e.write(ctx, func(ctx context.Context, s store.Engine) error {
		return s.SupersedeFor(ctx, oldID, newID, reason, actor)
	})
}

// History implements ken.Store.
func (e *engine) History(ctx context.Context, id string) (out []ken.ClaimEvent, err error) {
	err = e.read(ctx, func(s store.Engine) (err error) { out, err = s.History(ctx, id); return err })
	return out, err
}

// Get implements store.Claims.
func (e *engine) Get(ctx context.Context, id string) (c ken.Claim, err error) {
	err = e.read(ctx, func(s store.Engine) (err error) { c, err = s.Get(ctx, id); return err })
	return c, err
}

// ByKey implements store.Claims.
func (e *engine) ByKey(ctx context.Context, key string) (c ken.Claim, err error) {
	err = e.read(ctx, func(s store.Engine) (err error) { c, err = s.ByKey(ctx, key); return err })
	return c, err
}

// Import implements store.Claims. What another process holds gets a large import in
// several transactions.
func (e *engine) Import(ctx context.Context, in []store.Incoming) []store.Outcome {
	if r := e.s.role.Load(); r != nil && r.client == nil {
		return r.store.Import(ctx, in)
	}
	out := make([]store.Outcome, 0, len(in))
	for part := range remote.Parts(in) {
		var got []store.Outcome
		err := e.write(ctx, func(ctx context.Context, s store.Engine) error {
			got = s.Import(ctx, part)
			for i := range got {
				if _, lost := remote.Lost(got[i].Err); lost {
					return got[i].Err
				}
			}
			return nil
		})
		if err != nil {
			got = make([]store.Outcome, len(part))
			for i := range got {
				got[i].Err = err
			}
		}
		out = append(out, got...)
	}
	return out
}

// Reinforce implements store.Claims.
func (e *engine) Reinforce(ctx context.Context, id string, evidence []ken.Evidence, actor ken.Actor) error {
	return e.write(ctx, func(ctx context.Context, s store.Engine) error { return s.Reinforce(ctx, id, evidence, actor) })
}

// Archive implements store.Claims.
func (e *engine) Archive(ctx context.Context, id, reason string, actor ken.Actor) error {
	return e.write(ctx, func(ctx context.Context, s store.Engine) error { return s.Archive(ctx, id, reason, actor) })
}

// Forget implements store.Claims.
func (e *engine) Forget(ctx context.Context, id, reason string, actor ken.Actor) (ids []string, err error) {
	err = e.write(ctx, func(ctx context.Context, s store.Engine) (err error) {
		ids, err = s.Forget(ctx, id, reason, actor)
		return err
	})
	return ids, err
}

// Scan implements store.Claims.
func (e *engine) Scan(ctx context.Context, f *ken.Filter, want func(store.Glance) bool) iter.Seq2[ken.Claim, error] {
	own := *f // as it is now
	return func(yield func(ken.Claim, error) bool) {
		all := remote.Walk(ctx, pages{e}, &own, want)
		if r := e.s.role.Load(); r != nil && r.client == nil && want != nil {
			all = r.store.Scan(ctx, &own, want)
		}
		all(yield)
	}
}

// Claims implements store.Claims.
func (e *engine) Claims(ctx context.Context) iter.Seq2[ken.Claim, error] {
	return func(yield func(ken.Claim, error) bool) {
		all := remote.Walk(ctx, pages{e}, nil, nil)
		if r := e.s.role.Load(); r != nil && r.client == nil {
			all = r.store.Claims(ctx)
		}
		all(yield)
	}
}

// pages walks through the claims of whoever holds the store: a record keeps its ref
// when another process takes over.
type pages struct{ e *engine }

func (p pages) Glances(ctx context.Context, f *ken.Filter, from store.Ref, n int) (page []store.Located, next store.Ref, done bool, err error) {
	err = p.e.read(ctx, func(s store.Engine) (err error) {
		page, next, done, err = s.(remote.Paged).Glances(ctx, f, from, n)
		return err
	})
	return page, next, done, err
}

func (p pages) Records(ctx context.Context, refs []store.Ref) (out []store.Record, err error) {
	err = p.e.read(ctx, func(s store.Engine) (err error) { out, err = s.(remote.Paged).Records(ctx, refs); return err })
	return out, err
}
