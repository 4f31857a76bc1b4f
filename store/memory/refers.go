package memory

import (
	"context"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/store"
)

// Referring implements store.Projections. It looks at every record.
func (s *Store) Referring(ctx context.Context, names []string, f *ken.Filter) ([]store.Ref, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	var refs []store.Ref
	for _, name := range names {
		refs = s.about.Carriers(refs, analysis.Entity(name))
	}
	for ref := range s.records {
		c := &s.records[ref].claim
		points := func(r string) bool { return slices.Contains(names, r) }
		if c.Kind != ken.KindDocument && slices.ContainsFunc(store.References(c), points) {
			refs = append(refs, store.Ref(ref))
		}
	}
	slices.Sort(refs)
	refs = slices.Compact(refs)
	return slices.DeleteFunc(refs, func(ref store.Ref) bool { return f.Reject(s.records[ref].row.Facts) != "" }), nil
}
