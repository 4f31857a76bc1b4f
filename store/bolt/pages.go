package bolt

import (
	"context"
	"encoding/json"
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
			page[i].Glance = glance(claims.Get(key32(page[i].Ref)))
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
		claims := tx.Bucket(bClaims)
		for _, ref := range refs {
			v := claims.Get(key32(ref))
			if v == nil {
				continue
			}
			r := store.Record{Ref: ref}
			if err := json.Unmarshal(v, &r.Claim); err != nil {
				return &ken.Error{Code: ken.CodeCorrupt, Msg: fmt.Sprintf("read record %d", ref), Err: err}
			}
			out = append(out, r)
		}
		return nil
	})
	return out, err
}
