package bolt

import (
	"cmp"
	"hash/fnv"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// streamOf numbers what a record is a part of and its place there: a chunk of
// the repository its file and line, a claim its session. Two streams share a
// number about once in four billion; their records then count as neighbours.
func streamOf(c *ken.Claim, document bool) (stream, place uint32) {
	key := ""
	if !document {
		if c.Session != "" {
			key = "session:" + c.Session
		}
	} else {
		for _, e := range c.Evidence {
			if e.Kind == ken.EvidenceFile {
				key, place = "file:"+e.Path, uint32(max(e.Line, 0))
				break
			}
		}
	}
	if key == "" {
		return 0, 0
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(key))
	return max(h.Sum32(), 1), place
}

// join and leave keep t.streams; t.mu is held or not yet shared.
func (t *table) join(ref store.Ref) {
	if s := t.rows[ref].stream; s != 0 {
		i, _ := slices.BinarySearchFunc(t.streams[s], ref, t.byPlace)
		t.streams[s] = slices.Insert(t.streams[s], i, ref)
	}
}

func (t *table) leave(ref store.Ref) {
	s := t.rows[ref].stream
	i, ok := slices.BinarySearchFunc(t.streams[s], ref, t.byPlace)
	if !ok {
		return
	}
	if t.streams[s] = slices.Delete(t.streams[s], i, i+1); len(t.streams[s]) == 0 {
		delete(t.streams, s)
	}
}

// byPlace is the order within a stream.
func (t *table) byPlace(a, b store.Ref) int {
	x, y := &t.rows[a], &t.rows[b]
	if x.place != 0 || y.place != 0 {
		return cmp.Or(cmp.Compare(x.place, y.place), cmp.Compare(a, b))
	}
	return cmp.Or(cmp.Compare(x.created, y.created), cmp.Compare(a, b))
}

// Around implements store.Projections.
func (s *Store) Around(ref store.Ref, n int) (before, after []store.Ref) {
	s.t.mu.RLock()
	defer s.t.mu.RUnlock()
	if int(ref) >= len(s.t.rows) || s.t.rows[ref].gone() || s.t.rows[ref].stream == 0 {
		return nil, nil
	}
	all := s.t.streams[s.t.rows[ref].stream]
	i, ok := slices.BinarySearchFunc(all, ref, s.t.byPlace)
	if !ok {
		return nil, nil
	}
	before = slices.Clone(all[max(0, i-n):i])
	slices.Reverse(before)
	return before, slices.Clone(all[i+1 : min(len(all), i+1+n)])
}
