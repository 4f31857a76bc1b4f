package memory

import (
	"context"
	"iter"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// Scan yields the claims that pass the filter and of which want says yes at a
// glance, oldest record first, as they were when the loop began. A filter without
// a time tests no expiry.
func (s *Store) Scan(ctx context.Context, f *ken.Filter, want func(store.Glance) bool) iter.Seq2[ken.Claim, error] {
	return func(yield func(ken.Claim, error) bool) {
		var found []ken.Claim
		s.mu.RLock()
		for i := range s.records {
			r := &s.records[i]
			if f.Reject(r.row.Facts) == "" && (want == nil || want(store.GlanceOf(&r.claim))) {
				found = append(found, store.Clone(&r.claim))
			}
		}
		s.mu.RUnlock()
		for i := range found {
			if err := ctx.Err(); err != nil {
				yield(ken.Claim{}, err)
				return
			}
			if !yield(found[i], nil) {
				return
			}
		}
	}
}

// Refs is how many refs there are: every record's is below it.
func (s *Store) Refs() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.records)
}
