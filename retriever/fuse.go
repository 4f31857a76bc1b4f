package retriever

import (
	"cmp"
	"math"
	"slices"

	"github.com/kenlayer/ken/store"
)

// entry is a record that a leg found.
type entry struct {
	ref  store.Ref
	row  store.Row // set by sieve.admit
	rrf  float64
	hits []hit // by leg, in the order of the answers
	rank ranking

	recent *hit // where the sessions leg has it too
}

// hit is where one leg put the record; rank 0 means that it did not.
type hit struct {
	rank int
	store.Hit
}

// answer is what one leg said.
type answer struct {
	name string
	res  store.Result
}

// slab is how many entries are allocated at once. More would be one of the large
// objects, each of which goes past the caches of the allocator.
const slab = 64

// fuse merges the legs' lists by reciprocal rank fusion: each list that holds a
// record adds 1/(k + rank), rank from 1 (Cormack, Clarke and Büttcher, SIGIR
// 2009, with their k = 60 as the default). A record that a list holds twice has
// its first rank there. Best first, equal sums by ref.
func fuse(answers []answer, k float64) []*entry {
	most := 0
	for _, a := range answers {
		most += len(a.res.Hits)
	}
	fused := make([]*entry, 0, most)
	var entries []entry // not one by one: there are a hundred in every turn
	var hits []hit
	at := make(map[store.Ref]*entry, most)
	for leg, a := range answers {
		for i, h := range a.res.Hits {
			e := at[h.Ref]
			if e == nil {
				if len(entries) == 0 {
					n := min(slab, most-len(fused))
					entries, hits = make([]entry, n), make([]hit, n*len(answers))
				}
				e = &entries[0]
				e.ref, e.hits = h.Ref, hits[:len(answers):len(answers)]
				entries, hits = entries[1:], hits[len(answers):]
				at[h.Ref] = e
				fused = append(fused, e)
			}
			if e.hits[leg].rank == 0 {
				h.Score, h.Share = finite(h.Score), finite(h.Share)
				e.hits[leg] = hit{rank: i + 1, Hit: h}
				e.rrf += 1 / (k + float64(i+1))
			}
		}
	}
	slices.SortFunc(fused, byFusion)
	return fused
}

// fused is reciprocal rank fusion in which the vector leg's ranks count weight.
func (e *entry) fused(answers []answer, k, weight float64) (sum float64) {
	for leg, h := range e.hits {
		if h.rank == 0 {
			continue
		}
		part := 1 / (k + float64(h.rank))
		if name := answers[leg].name; name == LegVector || name == LegLate {
			part *= weight
		}
		sum += part
	}
	return sum
}

func byFusion(a, b *entry) int { return cmp.Or(cmp.Compare(b.rrf, a.rrf), cmp.Compare(a.ref, b.ref)) }

// finite makes 0 of what no order and no JSON can hold.
func finite(f float64) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return f
}
