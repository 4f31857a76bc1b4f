package store

import "context"

// Remote is what projections that lie in another process offer to who is about to
// ask for many records one by one.
type Remote interface {
	// HasAll is Has for every id.
	HasAll(ids []string) bool
	// Fetch makes Claim quick for these records; what it can't is no error.
	Fetch(ctx context.Context, refs []Ref)
}

// HasAll reports whether all records of these ids are there.
func HasAll(p Projections, ids []string) bool {
	if r, ok := p.(Remote); ok {
		return r.HasAll(ids)
	}
	for _, id := range ids {
		if !p.Has(id) {
			return false
		}
	}
	return true
}

// Fetch says that the claims of these records are about to be read.
func Fetch(ctx context.Context, p Projections, refs []Ref) {
	if r, ok := p.(Remote); ok && len(refs) > 0 {
		r.Fetch(ctx, refs)
	}
}
