package memory

import (
	"context"
	"iter"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/outline"
	"github.com/kenlayer/ken/store"
)

// structure is the index for whoever holds the store's lock.
type structure struct{ s *Store }

// Known implements store.Structure.
func (t structure) Known(names []string) []bool {
	out := make([]bool, len(names))
	f := ken.Filter{Now: t.s.env.Now()}
	links := outline.Links(&f)
	for i, name := range names {
		out[i] = t.s.about.Known(name, func(ref store.Ref) bool {
			facts := t.s.records[ref].row.Facts
			return f.Reject(facts) == "" || links.Reject(facts) == ""
		})
	}
	return out
}

// Outlines implements store.Structure.
func (t structure) Outlines(_ context.Context, names []string, f *ken.Filter, o store.OutlineOptions) ([]store.Outline, error) {
	return t.s.about.Outlines(names, t.pass(f), o), nil
}

// Names implements store.Structure.
func (t structure) Names(ctx context.Context, f *ken.Filter) iter.Seq2[store.NameCount, error] {
	return store.AllNames(ctx, f, t.after)
}

func (t structure) after(_ context.Context, f *ken.Filter, after string, n int) ([]store.NameCount, bool, error) {
	page, more := t.s.about.Names(t.pass(f), after, n)
	return page, more, nil
}

func (t structure) pass(f *ken.Filter) outline.Pass {
	links := outline.Links(f)
	return outline.Pass{
		Claim: func(ref store.Ref) bool { return f.Reject(t.s.records[ref].row.Facts) == "" },
		Link:  func(ref store.Ref) bool { return links.Reject(t.s.records[ref].row.Facts) == "" },
	}
}

// Known implements store.Structure.
func (s *Store) Known(names []string) []bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return structure{s}.Known(names)
}

// Outlines implements store.Structure.
func (s *Store) Outlines(ctx context.Context, names []string, f *ken.Filter, o store.OutlineOptions) ([]store.Outline, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return structure{s}.Outlines(ctx, names, f, o)
}

// Names implements store.Structure.
func (s *Store) Names(ctx context.Context, f *ken.Filter) iter.Seq2[store.NameCount, error] {
	return store.AllNames(ctx, f, func(ctx context.Context, f *ken.Filter, after string, n int) ([]store.NameCount, bool, error) {
		s.mu.RLock()
		defer s.mu.RUnlock()
		return structure{s}.after(ctx, f, after, n)
	})
}
