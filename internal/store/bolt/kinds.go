package bolt

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// small reports whether the records of a kind are kept in a list of their own, in
// the order of creation. Facts and chunks of the repository are nearly everything
// that there is: a list of them would save a scan nothing.
func small(k ken.Kind) bool { return k != ken.KindFact && k != ken.KindDocument }

// list and unlist keep t.kinds; t.mu is held or not yet shared. A record that is
// newer than its kind's others, as nearly all are when they come, goes to the end.
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

func (t *table) unlist(ref store.Ref) {
	k := t.classes[t.rows[ref].class].Kind
	i, ok := slices.BinarySearchFunc(t.kinds[k], ref, t.byAge)
	if !ok {
		return
	}
	if t.kinds[k] = slices.Delete(t.kinds[k], i, i+1); len(t.kinds[k]) == 0 {
		delete(t.kinds, k)
	}
}

// byAge is the order of creation, oldest first.
func (t *table) byAge(a, b store.Ref) int {
	return cmp.Or(cmp.Compare(t.rows[a].created, t.rows[b].created), cmp.Compare(a, b))
}

// Newest implements store.Projections. It looks at no more records than it
// returns and refuses, unless the filter admits facts or documents.
func (s *Store) Newest(ctx context.Context, f *ken.Filter, limit int) (store.Result, error) {
	if err := ctx.Err(); err != nil {
		return store.Result{}, err
	}
	s.t.mu.RLock()
	defer s.t.mu.RUnlock()
	if f.Kinds == nil || slices.ContainsFunc(f.Kinds, func(k ken.Kind) bool { return !small(k) }) {
		sv := s.t.sieve(f)
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

// admit takes records of small kinds, newest first, until limit of them have passed
// the filter; t.mu is held.
func (t *table) admit(kinds []ken.Kind, f *ken.Filter, limit int) (res store.Result) {
	sv := t.sieve(f)
	most := 0
	for _, k := range kinds {
		most += len(t.kinds[k])
	}
	res.Hits = make([]store.Hit, 0, max(0, min(most, limit)))
	for ref := range t.backwards(kinds) {
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

// backwards yields the records of small kinds, newest first; t.mu is held.
func (t *table) backwards(kinds []ken.Kind) iter.Seq[store.Ref] {
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
