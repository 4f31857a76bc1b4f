package shared

import (
	"context"
	"iter"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/store/engine"
	"github.com/kenlayer/ken/store"
)

// Keyword implements store.Projections.
func (e *proxyEngine) Keyword(ctx context.Context, text string, f *ken.Filter, limit int) (store.Result, error) {
	return ask(ctx, e, func(s store.Engine) (store.Result, error) { return s.Keyword(ctx, text, f, limit) })
}

// Vector implements store.Projections.
func (e *proxyEngine) Vector(ctx context.Context, query []float32, f *ken.Filter, limit int) (store.Result, error) {
	return ask(ctx, e, func(s store.Engine) (store.Result, error) { return s.Vector(ctx, query, f, limit) })
}

// Pinned implements store.Projections.
func (e *proxyEngine) Pinned(ctx context.Context, f *ken.Filter, limit int) (store.Result, error) {
	return ask(ctx, e, func(s store.Engine) (store.Result, error) { return s.Pinned(ctx, f, limit) })
}

// Newest implements store.Projections.
func (e *proxyEngine) Newest(ctx context.Context, f *ken.Filter, limit int) (store.Result, error) {
	return ask(ctx, e, func(s store.Engine) (store.Result, error) { return s.Newest(ctx, f, limit) })
}

// Referring implements store.Projections.
func (e *proxyEngine) Referring(ctx context.Context, names []string, f *ken.Filter) ([]store.Ref, error) {
	return ask(ctx, e, func(s store.Engine) ([]store.Ref, error) { return s.Referring(ctx, names, f) })
}

// Cosines implements store.Projections.
func (e *proxyEngine) Cosines(query []float32, refs []store.Ref) []float64 {
	out := make([]float64, len(refs))
	e.now(func(s store.Engine) { out = s.Cosines(query, refs) })
	return out
}

// Row implements store.Projections.
func (e *proxyEngine) Row(ref store.Ref) (row store.Row, ok bool) {
	e.now(func(s store.Engine) { row, ok = s.Row(ref) })
	return row, ok
}

// Kind returns the kind of a record; "" if it was removed or the store is not available.
func (e *proxyEngine) Kind(ref store.Ref) (kind ken.Kind) {
	e.now(func(s store.Engine) {
		if b, ok := s.(*bolt.Store); ok {
			kind = b.Kind(ref)
			return
		}
		row, _ := s.Row(ref)
		kind = row.Facts.Kind
	})
	return kind
}

// Form implements store.Projections.
func (e *proxyEngine) Form(ref store.Ref) (f analysis.Form) {
	e.now(func(s store.Engine) { f = s.Form(ref) })
	return f
}

// Around implements store.Projections.
func (e *proxyEngine) Around(ref store.Ref, n int) (before, after []store.Ref) {
	e.now(func(s store.Engine) { before, after = s.Around(ref, n) })
	return before, after
}

// Has implements store.Projections.
func (e *proxyEngine) Has(id string) (has bool) {
	e.now(func(s store.Engine) { has = s.Has(id) })
	return has
}

// HasAll implements store.Remote.
func (e *proxyEngine) HasAll(ids []string) (all bool) {
	e.now(func(s store.Engine) { all = store.HasAll(s, ids) })
	return all
}

// Fetch implements store.Remote.
func (e *proxyEngine) Fetch(ctx context.Context, refs []store.Ref) {
	if r := e.s.role.Load(); r != nil {
		store.Fetch(ctx, r.store, refs)
	}
}

// Claim implements store.Projections.
func (e *proxyEngine) Claim(ctx context.Context, ref store.Ref) (ken.Claim, error) {
	return ask(ctx, e, func(s store.Engine) (ken.Claim, error) { return s.Claim(ctx, ref) })
}

// Coverage implements store.Projections.
func (e *proxyEngine) Coverage() (embedded, total int) {
	e.now(func(s store.Engine) { embedded, total = s.Coverage() })
	return embedded, total
}

// Len implements store.Engine.
func (e *proxyEngine) Len() int { return value(e, store.Engine.Len) }

// Refs implements store.Engine.
func (e *proxyEngine) Refs() int { return value(e, store.Engine.Refs) }

// Known implements store.Structure.
func (e *proxyEngine) Known(names []string) []bool {
	known := make([]bool, len(names))
	e.now(func(s store.Engine) { known = s.Known(names) })
	return known
}

// Outlines implements store.Structure.
func (e *proxyEngine) Outlines(ctx context.Context, names []string, f *ken.Filter, o store.OutlineOptions) ([]store.Outline, error) {
	return ask(ctx, e, func(s store.Engine) ([]store.Outline, error) { return s.Outlines(ctx, names, f, o) })
}

// Names implements store.Structure. Each page is read from the holder at that time.
func (e *proxyEngine) Names(ctx context.Context, f *ken.Filter) iter.Seq2[store.NameCount, error] {
	return engine.AllNames(ctx, f, e.namesAfter)
}

// pagedNames is a store that returns its names in pages: bolt.Store, or a client of one.
type pagedNames interface {
	NamesAfter(ctx context.Context, f *ken.Filter, after string, n int) ([]store.NameCount, bool, error)
}

func (e *proxyEngine) namesAfter(ctx context.Context, f *ken.Filter, after string, n int) (page []store.NameCount, more bool, err error) {
	err = e.read(ctx, func(s store.Engine) (err error) {
		page, more, err = s.(pagedNames).NamesAfter(ctx, f, after, n)
		return err
	})
	return page, more, err
}

// Assign implements store.Claims.
func (e *proxyEngine) Assign(ctx context.Context, a ken.Assignment) (bool, error) {
	return put(ctx, e, func(ctx context.Context, s store.Engine) (bool, error) { return s.Assign(ctx, a) })
}
