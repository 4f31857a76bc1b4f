package memory

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/store/engine"
	"github.com/kenlayer/ken/store"
)

const defaultLimit = 10

// Query implements ken.Store: a keyword search, best score first. A filter without a
// time uses the current time.
func (s *memStore) Query(ctx context.Context, q ken.Query) ([]ken.Claim, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	q.Limit = cmp.Or(max(q.Limit, 0), defaultLimit)
	if q.Filter.Now.IsZero() {
		q.Filter.Now = s.env.Now()
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	var res store.Result
	if strings.TrimSpace(q.Question) == "" {
		res = s.newest(&q.Filter, q.Limit, func(*ken.Claim) bool { return true })
	} else {
		res = s.keyword(q.Question, &q.Filter, q.Limit)
	}
	out := make([]ken.Claim, len(res.Hits))
	for i, h := range res.Hits {
		out[i] = engine.Clone(&s.records[h.Ref].claim)
	}
	return out, nil
}

// Keyword implements store.Projections.
func (s *memStore) Keyword(ctx context.Context, text string, f *ken.Filter, limit int) (store.Result, error) {
	if err := ctx.Err(); err != nil {
		return store.Result{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.keyword(text, f, limit), nil
}

func (s *memStore) keyword(text string, f *ken.Filter, limit int) store.Result {
	parts, values, terms := s.words.search(text)
	hits := make([]store.Hit, 0, len(parts))
	for ref, own := range parts {
		h := store.Hit{Ref: ref, Parts: own}
		for i, part := range own {
			if h.Score += float64(part); part > 0 {
				h.Share += float64(values[i])
			}
		}
		h.Share = min(h.Share, 1)
		hits = append(hits, h)
	}
	res := s.best(hits, f, limit)
	res.Values, res.Terms = values, terms
	return res
}

// Vector implements store.Projections. Without an embedder it finds nothing.
func (s *memStore) Vector(ctx context.Context, query []float32, f *ken.Filter, limit int) (store.Result, error) {
	if err := ctx.Err(); err != nil {
		return store.Result{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.embed == nil || s.dim == 0 {
		return store.Result{}, nil
	}
	if len(query) != s.dim {
		return store.Result{}, &ken.Error{Code: ken.CodeInvalid, Field: "vector",
			Msg: fmt.Sprintf("the question has %d dimensions, the store %d", len(query), s.dim),
			Try: "Embed the question with the model that embedded the claims."}
	}
	q := unit(query)
	if q == nil {
		return store.Result{}, nil
	}
	var hits []store.Hit
	for ref := range s.records {
		if vec := s.records[ref].vec; vec != nil {
			// There are too few vectors here to subtract their mean.
			c := cosine(q, vec)
			hits = append(hits, store.Hit{Ref: store.Ref(ref), Score: c, Share: c})
		}
	}
	res := s.best(hits, f, limit)
	res.Query = q
	return res, nil
}

// cosine is the product of two vectors of length 1.
func cosine(a, b []float32) float64 {
	var dot float64
	for i := range a {
		dot += float64(a[i]) * float64(b[i])
	}
	return min(max(dot, -1), 1)
}

// Cosines implements store.Projections.
func (s *memStore) Cosines(query []float32, refs []store.Ref) []float64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := make([]float64, len(refs))
	for i, ref := range refs {
		if int(ref) < len(s.records) && len(s.records[ref].vec) == len(query) {
			out[i] = cosine(query, s.records[ref].vec)
		}
	}
	return out
}

// Pinned implements store.Projections.
func (s *memStore) Pinned(ctx context.Context, f *ken.Filter, limit int) (store.Result, error) {
	if err := ctx.Err(); err != nil {
		return store.Result{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.newest(f, limit, func(c *ken.Claim) bool { return engine.Pinned(c.Kind) }), nil
}

// Newest implements store.Projections. It looks at every record.
func (s *memStore) Newest(ctx context.Context, f *ken.Filter, limit int) (store.Result, error) {
	if err := ctx.Err(); err != nil {
		return store.Result{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	res := s.newest(f, limit, func(c *ken.Claim) bool { return f.Kinds == nil || slices.Contains(f.Kinds, c.Kind) })
	res.Cut = res.Cut[:min(len(res.Cut), max(limit, 0))]
	return res, nil
}

// newest returns the claims that want accepts, newest first.
func (s *memStore) newest(f *ken.Filter, limit int, want func(*ken.Claim) bool) store.Result {
	var hits []store.Hit
	for ref := range s.records {
		if want(&s.records[ref].claim) {
			hits = append(hits, store.Hit{Ref: store.Ref(ref)})
		}
	}
	slices.SortFunc(hits, func(a, b store.Hit) int {
		return cmp.Or(s.records[b.Ref].row.CreatedAt.Compare(s.records[a.Ref].row.CreatedAt), cmp.Compare(b.Ref, a.Ref))
	})
	return s.admit(hits, f, limit)
}

// best returns the hits with the highest scores; equal scores in the order of refs.
func (s *memStore) best(hits []store.Hit, f *ken.Filter, limit int) store.Result {
	slices.SortFunc(hits, func(a, b store.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Ref, b.Ref))
	})
	return s.admit(hits, f, limit)
}

// admit takes hits in order until limit of them have passed the filter.
func (s *memStore) admit(hits []store.Hit, f *ken.Filter, limit int) store.Result {
	var res store.Result
	for _, h := range hits {
		if len(res.Hits) >= limit {
			break
		}
		if why := f.Reject(s.records[h.Ref].row.Facts); why != "" {
			res.Cut = append(res.Cut, store.Rejected{Ref: h.Ref, Reason: why})
			continue
		}
		res.Hits = append(res.Hits, h)
	}
	return res
}

// Has implements store.Projections.
func (s *memStore) Has(id string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, ok := s.refs[id]
	return ok
}

// Row implements store.Projections.
func (s *memStore) Row(ref store.Ref) (store.Row, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if int(ref) >= len(s.records) {
		return store.Row{}, false
	}
	row := s.records[ref].row
	row.Version = uint64(len(s.records[ref].trail))
	return row, true
}

// Form implements store.Projections.
func (s *memStore) Form(ref store.Ref) analysis.Form {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if int(ref) >= len(s.records) {
		return analysis.Form{}
	}
	return s.records[ref].form
}

// Around implements store.Projections. It looks at every record.
func (s *memStore) Around(ref store.Ref, n int) (before, after []store.Ref) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if int(ref) >= len(s.records) || s.records[ref].claim.Session == "" {
		return nil, nil
	}
	var same []store.Ref
	for other := range s.records {
		if s.records[other].claim.Session == s.records[ref].claim.Session {
			same = append(same, store.Ref(other))
		}
	}
	slices.SortFunc(same, func(a, b store.Ref) int {
		return cmp.Or(s.records[a].claim.CreatedAt.Compare(s.records[b].claim.CreatedAt), cmp.Compare(a, b))
	})
	i := slices.Index(same, ref)
	before = slices.Clone(same[max(0, i-n):i])
	slices.Reverse(before)
	return before, same[i+1 : min(len(same), i+1+n)]
}

// Claim implements store.Projections. The result is the caller's.
func (s *memStore) Claim(ctx context.Context, ref store.Ref) (ken.Claim, error) {
	if err := ctx.Err(); err != nil {
		return ken.Claim{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if int(ref) >= len(s.records) {
		return ken.Claim{}, &ken.Error{Code: ken.CodeNotFound, Msg: "no such record"}
	}
	return engine.Clone(&s.records[ref].claim), nil
}

// Standby implements store.Projections: there is none, because writing embeds.
func (s *memStore) Standby() string { return "" }

// Coverage implements store.Projections.
func (s *memStore) Coverage() (embedded, total int) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for ref := range s.records {
		if s.records[ref].vec != nil {
			embedded++
		}
	}
	return embedded, len(s.records)
}

// minShortID is the same as in the store on disk.
const minShortID = 6

// Get returns one claim by its id or a unique prefix or suffix of at least six
// characters. The caller owns the result. Errors: ErrNotFound; ErrInvalid when several
// claims match.
func (s *memStore) Get(ctx context.Context, id string) (ken.Claim, error) {
	if err := ctx.Err(); err != nil {
		return ken.Claim{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	var found []store.Ref
	if u, err := uuid.Parse(id); err == nil {
		if ref, ok := s.refs[u.String()]; ok {
			found = append(found, ref)
		}
	} else if len(id) >= minShortID {
		for text, ref := range s.refs {
			if len(id) < len(text) && (text[:len(id)] == id || text[len(text)-len(id):] == id) {
				found = append(found, ref)
			}
		}
	}
	switch len(found) {
	case 0:
		return ken.Claim{}, notFound(id)
	case 1:
		return engine.Clone(&s.records[found[0]].claim), nil
	}
	return ken.Claim{}, &ken.Error{Code: ken.CodeInvalid, Field: "id", Msg: fmt.Sprintf("%q fits %d records", id, len(found)),
		Try: "Give more characters of the id."}
}

// ByKey returns the claim that was written under a key, whatever its status. The caller
// owns the result. Errors: ErrNotFound.
func (s *memStore) ByKey(ctx context.Context, key string) (ken.Claim, error) {
	if err := ctx.Err(); err != nil {
		return ken.Claim{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	ref, ok := s.refs[s.keys[key]]
	if !ok {
		return ken.Claim{}, &ken.Error{Code: ken.CodeNotFound, Field: "key", Msg: fmt.Sprintf("no claim has the key %q", key),
			Try: "Write one with it, or check the owner."}
	}
	return engine.Clone(&s.records[ref].claim), nil
}

// Reinforce records that a claim was observed again. The evidence is added to the
// claim's; a newer piece replaces the same older one. Errors: ErrNotFound; ErrRefused
// for a claim that is no longer active.
func (s *memStore) Reinforce(ctx context.Context, id string, evidence []ken.Evidence, actor ken.Actor) error {
	return s.do(ctx, func() (*store.Event, error) {
		return engine.Reinforce(s.get, id, evidence, actor, s.env)
	})
}

// Scan yields the claims that pass the filter and whose glance want accepts, oldest
// first, as of the start of the loop. A filter without a time tests no expiry.
func (s *memStore) Scan(ctx context.Context, f *ken.Filter, want func(store.Glance) bool) iter.Seq2[ken.Claim, error] {
	return func(yield func(ken.Claim, error) bool) {
		var found []ken.Claim
		s.mu.RLock()
		for i := range s.records {
			r := &s.records[i]
			if f.Reject(r.row.Facts) == "" && (want == nil || want(engine.GlanceOf(&r.claim))) {
				found = append(found, engine.Clone(&r.claim))
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

// Refs returns the number of refs: every ref is below it.
func (s *memStore) Refs() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.records)
}

// Referring implements store.Projections. It looks at every record.
func (s *memStore) Referring(ctx context.Context, names []string, f *ken.Filter) ([]store.Ref, error) {
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
		if c.Kind != ken.KindDocument && slices.ContainsFunc(engine.References(c), points) {
			refs = append(refs, store.Ref(ref))
		}
	}
	slices.Sort(refs)
	refs = slices.Compact(refs)
	return slices.DeleteFunc(refs, func(ref store.Ref) bool { return f.Reject(s.records[ref].row.Facts) != "" }), nil
}
