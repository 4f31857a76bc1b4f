package bolt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/vector"
	"github.com/kenlayer/ken/store"
)

// Standby implements store.Projections. It returns the model whose vectors are searched besides
// those of the embedder, because some records still lack a new vector; "" for none. Until then
// a query of Vector and Cosines may be a vector of the embedder's model followed by one of the
// standby's; zeros replace a missing one.
func (s *Store) Standby() string {
	if old := s.standby.Load(); old != nil {
		return old.e.Model()
	}
	return ""
}

// openStandby loads the vectors of the model that the embedder replaces. If several are on
// disk, it takes the one with most records. If all records have a vector of the embedder's
// model, it removes the files of other models.
func (s *Store) openStandby() error {
	if s.o.Standby == nil || s.o.Embedder == nil || s.o.readOnly {
		return nil
	}
	if s.vecs.complete() {
		return s.removeOthers()
	}
	if len(s.vecs.missing) == 0 {
		return nil
	}
	type before struct {
		model string
		bytes int64
	}
	var found []before
	paths, err := filepath.Glob(filepath.Join(s.vecs.dir, "*.vec"))
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil || path == s.vecs.own() {
			continue
		}
		if model, err := vector.ModelOf(path); err == nil && model != s.o.Embedder.Model() {
			found = append(found, before{model, info.Size()})
		}
	}
	slices.SortFunc(found, func(a, b before) int {
		return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.model, b.model))
	})
	for _, b := range found {
		e := s.o.Standby(b.model)
		if e == nil || e.Model() != b.model {
			continue
		}
		old := newVectors(s.vecs.dir, e)
		if err := old.load(s.t); err != nil {
			return err
		}
		if old.coversMissing(s.vecs) {
			s.standby.Store(old)
			return nil
		}
		if err := old.close(); err != nil {
			return err
		}
	}
	return err
}

// coversMissing reports whether v has a vector for a record that lacks one in n. Neither may be shared
// yet.
func (v *vectors) coversMissing(n *vectors) bool {
	for ref := range n.missing {
		if _, too := v.missing[ref]; !too {
			return true
		}
	}
	return false
}

// standbyBelow is the share of records with a vector, in tenths, from which a slow embedder
// needs no standby: new records then come a few at a time and are embedded soon.
const standbyBelow = 9

// beginStandby embeds with the default standby, if most records lack a vector and no other
// model has any.
func (s *Store) beginStandby() error {
	have, total := s.Coverage()
	if s.o.Standby == nil || s.o.readOnly || s.standby.Load() != nil || 10*have >= standbyBelow*total {
		return nil
	}
	e := s.o.Standby("")
	if e == nil || e.Model() == s.o.Embedder.Model() {
		return nil
	}
	quick := newVectors(s.vecs.dir, e)
	s.t.mu.RLock()
	err := quick.load(s.t)
	s.t.mu.RUnlock()
	if err != nil {
		return err
	}
	if !s.standby.CompareAndSwap(nil, quick) {
		return quick.close()
	}
	s.t.mu.RLock() // includes records written since it was loaded
	defer s.t.mu.RUnlock()
	for ref := range s.t.rows {
		if r := &s.t.rows[ref]; !r.gone() {
			if err := quick.attach(store.Ref(ref), r.hash); err != nil {
				return err
			}
		}
	}
	return nil
}

// retireStandby erases the vectors of the replaced model once every record has a vector of the
// embedder's model. The new vectors are made durable first.
func (s *Store) retireStandby() error {
	if s.o.Standby == nil || s.o.readOnly || !s.vecs.complete() {
		return nil
	}
	old := s.standby.Load()
	if old == nil {
		return nil
	}
	s.vecs.mu.RLock()
	err := s.vecs.file.Sync()
	s.vecs.mu.RUnlock()
	if err != nil {
		return fmt.Errorf("keep vectors: %w", err)
	}
	if !s.standby.CompareAndSwap(old, nil) {
		return nil
	}
	if x := old.current(); x != nil {
		s.retired.Store(int32(x.Dim())) // at most 65535
	}
	return errors.Join(old.retire(), s.removeOthers())
}

// retire closes the file for good. Running searches keep using the index.
func (v *vectors) retire() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	f := v.file
	v.file, v.index = nil, nil
	if f == nil {
		return nil
	}
	return f.Close()
}

// removeOthers removes vector files of models other than the embedder's and the standby's.
func (s *Store) removeOthers() error {
	return s.eachOther(removeVectors)
}

func removeVectors(path string) error {
	if err := removed(path); err != nil {
		return fmt.Errorf("remove vectors of another model: %w", err)
	}
	return nil
}

// eachOther calls fn with the path of every file of vectors that is not open.
func (s *Store) eachOther(fn func(path string) error) error {
	var open []string
	for _, v := range s.models() {
		open = append(open, v.own())
	}
	entries, err := os.ReadDir(s.vecs.dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	var errs []error
	for _, e := range entries {
		if path := filepath.Join(s.vecs.dir, e.Name()); e.Type().IsRegular() && !slices.Contains(open, path) {
			errs = append(errs, fn(path))
		}
	}
	return errors.Join(errs...)
}

// eraseVectors removes from the disk the vectors of texts that no record has, in the files of
// all models. Files of unused models are deleted when every record has a vector of the
// embedder's model. Broken files that were set aside are deleted as well.
func (s *Store) eraseVectors() error {
	used := s.hashes()
	var err error
	for _, v := range s.models() {
		err = errors.Join(err, v.eraseUnused(used))
	}
	old := s.standby.Load()
	unused := s.vecs.complete() && (old == nil || old.own() == "")
	return errors.Join(err, s.eachOther(func(path string) error {
		if unused || filepath.Ext(path) != ".vec" {
			return removeVectors(path)
		}
		return vector.Purge(path, func(h vector.Hash) bool { return used[h] })
	}))
}

// prepareVectors embeds texts that are about to be written, with each embedder that takes
// microseconds.
func (s *Store) prepareVectors(ctx context.Context, texts []string) {
	for _, v := range s.models() {
		v.prepare(ctx, texts)
	}
}

func (s *Store) attachVector(ref store.Ref, hash [16]byte) (err error) {
	for _, v := range s.models() {
		err = errors.Join(err, v.attach(ref, hash))
	}
	return err
}

func (s *Store) removeVector(ref store.Ref) {
	for _, v := range s.models() {
		v.remove(ref)
	}
}

// models returns the vectors of the embedder's model and, if there is one, of the standby's.
func (s *Store) models() []*vectors {
	if old := s.standby.Load(); old != nil {
		return []*vectors{s.vecs, old}
	}
	return []*vectors{s.vecs}
}

// vectorQuery is a query to the vectors of one or two models.
type vectorQuery struct {
	index, old      *vector.Index // nil if not searched
	query, oldQuery []float32
	scale           *likenessScale
}

func (v *vectors) current() *vector.Index {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.index
}

// vectorQuery splits a query into its parts: see Standby.
func (s *Store) vectorQuery(query []float32) (vectorQuery, error) {
	q := vectorQuery{index: s.vecs.current(), query: query, scale: &s.scale}
	old := s.standby.Load()
	if old != nil {
		q.old = old.current()
	}
	switch {
	case q.old != nil && len(query) > q.old.Dim():
		n := len(query) - q.old.Dim()
		q.query, q.oldQuery = query[:n], query[n:]
		if blank(q.oldQuery) {
			q.old = nil
		}
		if blank(q.query) {
			q.index = nil
		}
	case q.index != nil && len(query) == q.index.Dim()+int(s.retired.Load()) && q.old == nil: // the standby was retired since
		q.query = query[:q.index.Dim()]
		if blank(q.query) {
			q.index = nil
		}
	default:
		q.old = nil
	}
	if q.index != nil && len(q.query) != q.index.Dim() {
		return q, &ken.Error{Code: ken.CodeInvalid, Field: "vector",
			Msg: fmt.Sprintf("the question has %d dimensions, the store %d", len(q.query), q.index.Dim()),
			Try: "Run ken doctor: the embedding model seems to have changed."}
	}
	return q, nil
}

func blank(v []float32) bool { return !slices.ContainsFunc(v, func(x float32) bool { return x != 0 }) }

// search finds the records that are most similar to the query. With two models, each finds its
// own candidates, and all are compared by both: see likenessScale.
func (q *vectorQuery) search(ctx context.Context, limit int, accept func(uint32) bool) ([]vector.Hit, error) {
	switch {
	case q.index == nil && q.old == nil:
		return nil, nil
	case q.old == nil:
		return q.index.Search(ctx, q.query, limit, accept)
	case q.index == nil:
		return q.old.Search(ctx, q.oldQuery, limit, accept)
	}
	hits, err := q.index.Search(ctx, q.query, limit, accept)
	if err != nil {
		return nil, err
	}
	more, err := q.old.Search(ctx, q.oldQuery, limit, accept)
	if err != nil {
		return nil, err
	}
	seen := make(map[uint32]bool, len(hits))
	for _, h := range hits {
		seen[h.Ref] = true
	}
	for _, h := range more {
		if !seen[h.Ref] {
			hits = append(hits, h)
		}
	}
	refs := make([]uint32, len(hits))
	for i, h := range hits {
		refs[i] = h.Ref
	}
	for i, c := range q.cosines(refs) {
		hits[i].Centred = c
	}
	slices.SortFunc(hits, func(a, b vector.Hit) int {
		return cmp.Or(cmp.Compare(b.Centred, a.Centred), cmp.Compare(a.Ref, b.Ref))
	})
	return hits[:min(limit, len(hits))], nil
}

// cosines compares the query with these records, each by the models that have a vector of it.
func (q *vectorQuery) cosines(refs []uint32) []float32 {
	none := make([]float32, len(refs))
	var a, b []float32
	if q.index != nil {
		a, _ = q.index.Centred(q.query, refs)
	}
	if q.old != nil {
		b, _ = q.old.Centred(q.oldQuery, refs)
	}
	switch {
	case a == nil && b == nil:
		return none
	case b == nil:
		return a
	case a == nil:
		return b
	}
	return q.scale.join(a, b)
}

// likenessScale converts the cosines of a new model to the scale of the previous one, with
// which the calibration in use was measured. It compares the two for records that have both
// vectors, and keeps the ratio for queries with too few such records.
type likenessScale struct{ ratio atomic.Uint64 } // bits of a float64; 0 if unknown

// minPairs is the minimum number of records for a ratio.
const minPairs = 8

// join merges the cosines of the new model and the previous one, 0 where there is no vector,
// into one value for each record: the mean where both are known.
func (l *likenessScale) join(n, old []float32) []float32 {
	var sumNew, sumOld float64
	pairs := 0
	for i := range n {
		if n[i] != 0 && old[i] != 0 {
			sumNew, sumOld = sumNew+math.Max(0, float64(n[i])), sumOld+math.Max(0, float64(old[i]))
			pairs++
		}
	}
	ratio := math.Float64frombits(l.ratio.Load())
	if pairs >= minPairs && sumNew > 0 && sumOld > 0 {
		now := sumOld / sumNew
		ratio = cmp.Or(ratio, now)
		ratio += (now - ratio) / 4
		l.ratio.Store(math.Float64bits(ratio))
	}
	ratio = cmp.Or(ratio, 1)
	out := make([]float32, len(n))
	for i := range n {
		switch c := float32(ratio) * n[i]; {
		case n[i] == 0:
			out[i] = old[i]
		case old[i] == 0:
			out[i] = c
		default:
			out[i] = (c + old[i]) / 2
		}
	}
	return out
}
