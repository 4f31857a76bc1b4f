package bolt

import (
	"context"
	"fmt"
	"slices"

	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// Glances implements store.Served.
func (s *Store) Glances(ctx context.Context, f *ken.Filter, from store.Ref, n int) (page []store.Located, next store.Ref, done bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, false, err
	}
	next, done = s.passingFrom(f, from, n, func(ref store.Ref) { page = append(page, store.Located{Ref: ref}) })
	err = s.view(func(tx *bbolt.Tx) error {
		claims := tx.Bucket(bClaims)
		page = slices.DeleteFunc(page, func(l store.Located) bool { return claims.Get(key32(l.Ref)) == nil }) // gone meanwhile
		for i := range page {
			key := key32(page[i].Ref)
			v, err := s.unseal(bClaims, key, claims.Get(key))
			if err != nil { // whoever reads it hears so
				s.report(damaged(fmt.Sprintf("read record %d", page[i].Ref), err))
			}
			page[i].Glance = glance(v)
		}
		return nil
	})
	return page, next, done, err
}

// passingFrom yields up to n claims from a ref on that pass the filter.
func (s *Store) passingFrom(f *ken.Filter, from store.Ref, n int, yield func(store.Ref)) (next store.Ref, done bool) {
	s.t.mu.RLock()
	defer s.t.mu.RUnlock()
	var sv sieve
	if f != nil {
		sv = s.t.sieve(f)
	}
	at := int(from)
	for ; at < len(s.t.rows) && n > 0; at++ {
		if r := &s.t.rows[at]; r.gone() || r.flags&flagDocument != 0 || f != nil && !sv.accept(store.Ref(at)) {
			continue
		}
		yield(store.Ref(at))
		n--
	}
	return store.Ref(at), at >= len(s.t.rows)
}

// Records implements store.Served.
func (s *Store) Records(ctx context.Context, refs []store.Ref) ([]store.Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out := make([]store.Record, 0, len(refs))
	err := s.view(func(tx *bbolt.Tx) error {
		for _, ref := range refs {
			c, err := s.claimAt(tx, ref)
			if err != nil {
				s.report(err)
			}
			if c != nil {
				out = append(out, store.Record{Ref: ref, Claim: *c})
			}
		}
		return nil
	})
	return out, err
}
