package bolt

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"unsafe"

	"github.com/google/uuid"
	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/store/engine"
	"github.com/kenlayer/ken/internal/store/keyword"
	"github.com/kenlayer/ken/store"
)

const defaultLimit = 10

// Query implements ken.Store with the keyword index, best score first. Retrieval for a
// turn combines several searches; see package retriever.
func (s *Store) Query(ctx context.Context, q ken.Query) ([]ken.Claim, error) {
	limit := q.Limit
	limit = cmp.Or(max(limit, 0), defaultLimit)
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
		out = append(out, engine.Clone(&c))
	}
	return out, nil
}

// Keyword implements store.Projections.
func (s *Store) Keyword(ctx context.Context, text string, f *ken.Filter, limit int) (store.Result, error) {
	sv := s.rowFilterFor(f)
	accept := func(ref uint32) bool {
		s.t.mu.RLock()
		defer s.t.mu.RUnlock()
		return sv.accept(ref)
	}
	got, err := s.index.Load().Search(ctx, keyword.Query{Text: text, Limit: limit, Accept: accept})
	if err != nil {
		return store.Result{}, fmt.Errorf("search keywords: %w", err)
	}
	res := store.Result{Hits: got.Hits, Values: got.Values, Terms: got.Named}
	s.t.mu.RLock()
	defer s.t.mu.RUnlock()
	for _, ref := range got.Rejected {
		if why, _ := sv.reject(ref); why != "" {
			res.Cut = append(res.Cut, store.Rejected{Ref: ref, Reason: why})
		}
	}
	return res, nil
}

func (s *Store) rowFilterFor(f *ken.Filter) rowFilter {
	s.t.mu.RLock()
	defer s.t.mu.RUnlock()
	return s.t.filterFor(f)
}

// Vector implements store.Projections.
func (s *Store) Vector(ctx context.Context, query []float32, f *ken.Filter, limit int) (store.Result, error) {
	q, err := s.vectorQuery(query)
	if err != nil {
		return store.Result{}, err
	}
	s.t.mu.RLock()
	sv := s.t.filterFor(f)
	hits, err := q.search(ctx, limit, sv.accept)
	s.t.mu.RUnlock()
	if err != nil {
		return store.Result{}, fmt.Errorf("search vectors: %w", err)
	}
	res := store.Result{Query: query, Hits: make([]store.Hit, len(hits))}
	for i, h := range hits {
		res.Hits[i] = store.Hit{Ref: h.Ref, Score: float64(h.Score), Share: float64(h.Centred)}
	}
	return res, nil
}

// Cosines implements store.Projections.
func (s *Store) Cosines(query []float32, refs []store.Ref) []float64 {
	out := make([]float64, len(refs))
	q, err := s.vectorQuery(query)
	if err != nil {
		return out // of another dimension: Vector returns the error
	}
	for i, c := range q.cosines(refs) {
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
		if engine.Pinned(k) {
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

// Kind returns the kind of a record, "" if it was removed. It costs a tenth of Row.
func (s *Store) Kind(ref store.Ref) ken.Kind {
	s.t.mu.RLock()
	defer s.t.mu.RUnlock()
	if int(ref) >= len(s.t.marks) || s.t.marks[ref] == markGone {
		return ""
	}
	return s.t.classes[s.t.marks[ref]&markClass].Kind
}

// Refs returns the number of refs that were ever given out: every ref is below it.
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
	s.t.mu.RLock()
	defer s.t.mu.RUnlock()
	_, ok := s.t.byID[u]
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
			err = s.absent(tx, ref)
		}
		return err
	})
	if errors.Is(err, ken.ErrCorrupt) {
		// A search treats the claim as not found; a direct read returns the reason.
		s.noteDamage(err)
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

// cacheBytes limits the decoded claims in the cache, by claimWeight. A turn mostly
// includes claims that recent turns included. The limit is enough for ten thousand claims
// of a few sentences.
const cacheBytes = 16 << 20

// claimCache holds decoded claims. When it is full, arbitrary entries are removed; for
// this access pattern that works as well as an LRU order.
type claimCache struct {
	mu    sync.RWMutex // guards the rest
	m     map[store.Ref]*ken.Claim
	bytes int // sum of claimWeight over m
	// epoch counts drops, so that a value read before a concurrent write isn't cached.
	epoch uint64
}

func newClaimCache() *claimCache { return &claimCache{m: make(map[store.Ref]*ken.Claim)} }

func (c *claimCache) get(ref store.Ref) (*ken.Claim, uint64) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.m[ref], c.epoch
}

// put caches a claim that was read at epoch, unless an entry was dropped since.
func (c *claimCache) put(ref store.Ref, claim *ken.Claim, epoch uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if epoch != c.epoch {
		return
	}
	c.remove(ref)
	c.m[ref] = claim
	c.bytes += claimWeight(claim)
	for victim := range c.m {
		if c.bytes <= cacheBytes {
			break
		}
		c.remove(victim)
	}
}

func (c *claimCache) drop(ref store.Ref) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch++
	c.remove(ref)
}

// remove deletes an entry; c.mu is held.
func (c *claimCache) remove(ref store.Ref) {
	if have := c.m[ref]; have != nil {
		c.bytes -= claimWeight(have)
		delete(c.m, ref)
	}
}

// claimWeight estimates the bytes that a decoded claim takes in memory.
func claimWeight(c *ken.Claim) int {
	n := int(unsafe.Sizeof(*c)) + len(c.Heading) + len(c.Text) + len(c.Body) + 128 // short fields, map entry
	for i := range c.Evidence {
		n += int(unsafe.Sizeof(c.Evidence[i])) + len(c.Evidence[i].Detail)
	}
	return n
}

func key32(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }
func key64(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

func pair(a, b []byte) []byte {
	out := make([]byte, 0, len(a)+len(b))
	return append(append(out, a...), b...)
}

// citeKey returns the key for a path and a record that cites it; no path contains a NUL.
func citeKey(path string, ref uint32) []byte {
	return append(append([]byte(path), 0), key32(ref)...)
}

// openApproved sets flagApproved in the rows of a file that was created or last written by
// a program that does not know the flag. Until then a row counts as not approved. If it is
// interrupted, it starts over. In a read-only store, only memory is changed.
func (s *Store) openApproved(ctx context.Context) error {
	if mark, err := s.mark(kApproved); err != nil || mark == s.commit {
		return err
	}
	in := s.update
	if s.o.readOnly {
		in = func(fn func(*writeTx) error) error {
			return s.view(func(tx *bbolt.Tx) error { return fn(&writeTx{Tx: tx}) })
		}
	}
	for chunk := range slices.Chunk(s.t.claims(), replayBatch) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := in(func(tx *writeTx) error { return s.rebuildApproved(tx, chunk) }); err != nil {
			return err
		}
	}
	if s.o.readOnly {
		return nil
	}
	return s.update(func(tx *writeTx) error { return tx.Bucket(bMeta).Put(kApproved, key64(s.commit)) })
}

// rebuildApproved sets the flag of records from their claims. A claim that can't be read
// counts as not approved; the next read of it reports the damage.
func (s *Store) rebuildApproved(tx *writeTx, refs []store.Ref) error {
	for _, ref := range refs {
		var c *ken.Claim
		if claim, err := s.claimAt(tx.Tx, ref); err == nil {
			c = claim
		}
		r := s.t.rows[ref]
		was := r.approved()
		if r.flags &^= flagApproved; c != nil && c.Approved() {
			r.flags |= flagApproved
		}
		if r.approved() == was {
			continue
		}
		s.t.rows[ref], s.t.marks[ref] = r, markOf(&r)
		if !tx.Writable() {
			continue
		}
		key := key32(ref)
		if err := tx.Bucket(bRows).Put(key, seal(bRows, key, r.encode())); err != nil {
			return err
		}
	}
	return nil
}

// small reports whether t.kinds lists the records of a kind. Facts and repository chunks
// are not listed: they are nearly all records, so a list would save nothing compared with
// a scan.
func small(k ken.Kind) bool { return k != ken.KindFact && k != ken.KindDocument }

// list and unlist maintain t.kinds; t.mu is held, or the table is not shared yet. A list
// is ordered by creation, so nearly all new records go to the end.
func (t *table) list(ref store.Ref) {
	k := t.classes[t.rows[ref].class].Kind
	if !small(k) {
		return
	}
	all := t.kinds[k]
	i := len(all)
	if i > 0 && t.byAge(all[i-1], ref) > 0 {
		i, _ = slices.BinarySearchFunc(all, ref, t.byAge)
	}
	t.kinds[k] = slices.Insert(all, i, ref)
}

func (t *table) removeFromKinds(ref store.Ref) {
	k := t.classes[t.rows[ref].class].Kind
	i, ok := slices.BinarySearchFunc(t.kinds[k], ref, t.byAge)
	if !ok {
		return
	}
	if t.kinds[k] = slices.Delete(t.kinds[k], i, i+1); len(t.kinds[k]) == 0 {
		delete(t.kinds, k)
	}
}

// byAge compares by creation, oldest first.
func (t *table) byAge(a, b store.Ref) int {
	return cmp.Or(cmp.Compare(t.rows[a].created, t.rows[b].created), cmp.Compare(a, b))
}

// Newest implements store.Projections. It looks only at the records that it returns or
// rejects, unless the filter admits facts or documents.
func (s *Store) Newest(ctx context.Context, f *ken.Filter, limit int) (store.Result, error) {
	if err := ctx.Err(); err != nil {
		return store.Result{}, err
	}
	s.t.mu.RLock()
	defer s.t.mu.RUnlock()
	if f.Kinds == nil || slices.ContainsFunc(f.Kinds, func(k ken.Kind) bool { return !small(k) }) {
		sv := s.t.filterFor(f)
		var refs []store.Ref
		for i := range s.t.rows {
			if sv.accept(store.Ref(i)) {
				refs = append(refs, store.Ref(i))
			}
		}
		return store.Result{Hits: s.t.newest(refs, limit)}, nil
	}
	return s.t.admit(f.Kinds, f, limit), nil
}

// admit collects records of small kinds, newest first, until limit of them pass the
// filter; t.mu is held.
func (t *table) admit(kinds []ken.Kind, f *ken.Filter, limit int) (res store.Result) {
	sv := t.filterFor(f)
	most := 0
	for _, k := range kinds {
		most += len(t.kinds[k])
	}
	res.Hits = make([]store.Hit, 0, max(0, min(most, limit)))
	for ref := range t.newestFirst(kinds) {
		if len(res.Hits) >= limit {
			break
		}
		if why, out := sv.reject(ref); !out {
			res.Hits = append(res.Hits, store.Hit{Ref: ref})
		} else if why != "" && len(res.Cut) < limit {
			res.Cut = append(res.Cut, store.Rejected{Ref: ref, Reason: why})
		}
	}
	return res
}

// newestFirst yields the records of small kinds, newest first; t.mu is held.
func (t *table) newestFirst(kinds []ken.Kind) iter.Seq[store.Ref] {
	var lists [][]store.Ref
	for i, k := range kinds {
		if !slices.Contains(kinds[:i], k) && len(t.kinds[k]) > 0 {
			lists = append(lists, t.kinds[k])
		}
	}
	return func(yield func(store.Ref) bool) {
		for len(lists) > 0 {
			newest := 0
			for i := range lists {
				if t.byAge(last(lists[i]), last(lists[newest])) > 0 {
					newest = i
				}
			}
			l := lists[newest]
			if !yield(last(l)) {
				return
			}
			if lists[newest] = l[:len(l)-1]; len(l) == 1 {
				lists = slices.Delete(lists, newest, newest+1)
			}
		}
	}
}

func last(refs []store.Ref) store.Ref { return refs[len(refs)-1] }
