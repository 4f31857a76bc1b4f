package bolt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/store/keyword"
	"github.com/kenlayer/ken/store"
)

const defaultLimit = 10

// Query implements ken.Store by the keyword index, best score first. Retrieval
// for a turn fuses further legs and lives in package retriever.
func (s *Store) Query(ctx context.Context, q ken.Query) ([]ken.Claim, error) {
	limit := q.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	if q.Filter.Now.IsZero() {
		q.Filter.Now = s.o.Now()
	}
	find := func() (store.Result, error) { return s.Newest(ctx, &q.Filter, limit) }
	if q.Question != "" {
		find = func() (store.Result, error) { return s.Keyword(ctx, q.Question, &q.Filter, limit) }
	}
	res, err := find()
	if err != nil {
		return nil, err
	}
	out := make([]ken.Claim, 0, len(res.Hits))
	for _, h := range res.Hits {
		c, err := s.Claim(ctx, h.Ref)
		if errors.Is(err, ken.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, store.Clone(&c))
	}
	return out, nil
}

// Keyword implements store.Projections.
func (s *Store) Keyword(ctx context.Context, text string, f *ken.Filter, limit int) (store.Result, error) {
	sv := s.sieveFor(f)
	accept := func(ref uint32) bool {
		s.t.mu.RLock()
		defer s.t.mu.RUnlock()
		return sv.accept(ref)
	}
	got, err := s.index.Load().Search(ctx, keyword.Query{Text: text, Limit: limit, Accept: accept})
	if err != nil {
		return store.Result{}, fmt.Errorf("search keywords: %w", err)
	}
	res := store.Result{Hits: make([]store.Hit, len(got.Hits)), Values: got.Values, Terms: got.Named}
	for i, h := range got.Hits {
		res.Hits[i] = store.Hit(h)
	}
	s.t.mu.RLock()
	defer s.t.mu.RUnlock()
	for _, ref := range got.Rejected {
		if why, _ := sv.reject(ref); why != "" {
			res.Cut = append(res.Cut, store.Rejected{Ref: ref, Reason: why})
		}
	}
	return res, nil
}

func (s *Store) sieveFor(f *ken.Filter) sieve {
	s.t.mu.RLock()
	defer s.t.mu.RUnlock()
	return s.t.sieve(f)
}

// Vector implements store.Projections.
func (s *Store) Vector(ctx context.Context, query []float32, f *ken.Filter, limit int) (store.Result, error) {
	s.vecs.mu.RLock()
	index := s.vecs.index
	s.vecs.mu.RUnlock()
	if index == nil {
		return store.Result{}, nil
	}
	if len(query) != index.Dim() {
		return store.Result{}, &ken.Error{Code: ken.CodeInvalid, Field: "vector",
			Msg: fmt.Sprintf("the question has %d dimensions, the store %d", len(query), index.Dim()),
			Try: "Run ken doctor: the embedding model seems to have changed."}
	}
	s.t.mu.RLock()
	sv := s.t.sieve(f)
	got, err := index.Search(ctx, query, limit, sv.accept)
	s.t.mu.RUnlock()
	if err != nil {
		return store.Result{}, fmt.Errorf("search vectors: %w", err)
	}
	res := store.Result{Hits: make([]store.Hit, len(got)), Query: query}
	for i, h := range got {
		res.Hits[i] = store.Hit{Ref: h.Ref, Score: float64(h.Score), Share: float64(h.Centred)}
	}
	return res, nil
}

// Cosines implements store.Projections.
func (s *Store) Cosines(query []float32, refs []store.Ref) []float64 {
	out := make([]float64, len(refs))
	s.vecs.mu.RLock()
	index := s.vecs.index
	s.vecs.mu.RUnlock()
	if index == nil {
		return out
	}
	cosines, err := index.Centred(query, refs)
	if err != nil {
		return out // of another dimension: Vector has said so
	}
	for i, c := range cosines {
		out[i] = float64(c)
	}
	return out
}

// Pinned implements store.Projections.
func (s *Store) Pinned(_ context.Context, f *ken.Filter, limit int) (store.Result, error) {
	s.t.mu.RLock()
	defer s.t.mu.RUnlock()
	var kinds []ken.Kind
	for k := range s.t.kinds {
		if store.Pinned(k) {
			kinds = append(kinds, k)
		}
	}
	return s.t.admit(kinds, f, limit), nil
}

// newest sorts refs by creation, latest first, and cuts at limit.
func (t *table) newest(refs []store.Ref, limit int) []store.Hit {
	slices.SortFunc(refs, func(a, b store.Ref) int {
		return cmp.Or(cmp.Compare(t.rows[b].created, t.rows[a].created), cmp.Compare(b, a))
	})
	refs = refs[:min(len(refs), max(limit, 0))]
	out := make([]store.Hit, len(refs))
	for i, ref := range refs {
		out[i] = store.Hit{Ref: ref}
	}
	return out
}

// Row implements store.Projections.
func (s *Store) Row(ref store.Ref) (store.Row, bool) {
	s.t.mu.RLock()
	defer s.t.mu.RUnlock()
	if int(ref) >= len(s.t.rows) || s.t.rows[ref].gone() {
		return store.Row{}, false
	}
	r := &s.t.rows[ref]
	f := s.t.facts(r)
	return store.Row{ID: r.id.String(), Facts: f, CreatedAt: fromMilli(r.created), Constraint: r.flags&flagConstraint != 0, Version: r.version,
		Support: ken.Support{Tier: r.tier, Trust: f.Trust, NewestAt: fromMilli(r.newest)}}, true
}

// Refs is how many refs there are or were: every record's is below it.
func (s *Store) Refs() int {
	s.t.mu.RLock()
	defer s.t.mu.RUnlock()
	return len(s.t.rows)
}

// Form implements store.Projections.
func (s *Store) Form(ref store.Ref) analysis.Form {
	s.t.mu.RLock()
	defer s.t.mu.RUnlock()
	if int(ref) >= len(s.t.rows) || s.t.rows[ref].gone() {
		return analysis.Form{}
	}
	return s.t.rows[ref].form
}

// Has implements store.Projections.
func (s *Store) Has(id string) bool {
	u, err := uuid.Parse(id)
	if err != nil {
		return false
	}
	_, _, ok := s.find(u)
	return ok
}

// Claim implements store.Projections. The slices of the result are shared with
// later calls: the caller must not change what they hold.
func (s *Store) Claim(_ context.Context, ref store.Ref) (ken.Claim, error) {
	have, epoch := s.cache.get(ref)
	if have != nil {
		return *have, nil
	}
	var c *ken.Claim
	err := s.view(func(tx *bbolt.Tx) error {
		var err error
		if c, err = s.claimAt(tx, ref); c == nil && err == nil {
			err = &ken.Error{Code: ken.CodeNotFound, Msg: "no such record"}
		}
		return err
	})
	if errors.Is(err, ken.ErrCorrupt) {
		// For whoever searches it is not there; whoever asks for it hears why.
		s.report(err)
		err = &ken.Error{Code: ken.CodeNotFound, Msg: "the claim is damaged and left out", Err: err, Try: ken.Hint(err)}
	}
	if err != nil {
		return ken.Claim{}, err
	}
	s.cache.put(ref, c, epoch)
	return *c, nil
}

// Coverage implements store.Projections.
func (s *Store) Coverage() (embedded, total int) {
	total = s.Len()
	s.vecs.mu.RLock()
	defer s.vecs.mu.RUnlock()
	if s.vecs.e == nil {
		return 0, total
	}
	return total - len(s.vecs.missing), total
}
