package shared

import (
	"context"
	"iter"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// Known implements store.Structure.
func (e *engine) Known(names []string) []bool {
	known := make([]bool, len(names))
	e.now(func(s store.Engine) { known = s.Known(names) })
	return known
}

// Outlines implements store.Structure.
func (e *engine) Outlines(ctx context.Context, names []string, f *ken.Filter, o store.OutlineOptions) (out []store.Outline, err error) {
	err = e.read(ctx, func(s store.Engine) (err error) { out, err = s.Outlines(ctx, names, f, o); return err })
	return out, err
}

// Names implements store.Structure. Each page is read from whoever holds the store
// then.
func (e *engine) Names(ctx context.Context, f *ken.Filter) iter.Seq2[store.NameCount, error] {
	return store.AllNames(ctx, f, e.namesAfter)
}

// named is a store that gives its names in pages: the one on disk and what stands
// for it.
type named interface {
	NamesAfter(ctx context.Context, f *ken.Filter, after string, n int) ([]store.NameCount, bool, error)
}

func (e *engine) namesAfter(ctx context.Context, f *ken.Filter, after string, n int) (page []store.NameCount, more bool, err error) {
	err = e.read(ctx, func(s store.Engine) (err error) { page, more, err = s.(named).NamesAfter(ctx, f, after, n); return err })
	return page, more, err
}

// Assign implements store.Claims.
func (e *engine) Assign(ctx context.Context, a ken.Assignment) (changed bool, err error) {
	err = e.write(ctx, func(ctx context.Context, s store.Engine) (err error) { changed, err = s.Assign(ctx, a); return err })
	return changed, err
}
