package retriever

import (
	"cmp"
	"slices"

	"github.com/kenlayer/ken/store"
)

// entry is a record in the pool.
type entry struct {
	ref  store.Ref
	rrf  float64
	hits []hit // by leg, in the order of the answers
	rank ranking
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

// fuse merges the legs' lists by reciprocal rank fusion: each list that holds a
// record adds 1/(k + rank), rank from 1 (Cormack, Clarke and Büttcher, SIGIR
// 2009, with their k = 60 as the default). Equal sums go by ref. The first size
// are the pool, the rest is returned apart.
func fuse(answers []answer, k float64, size int) (pool, rest []entry) {
	at := map[store.Ref]int{}
	for leg, a := range answers {
		for i, h := range a.res.Hits {
			n, ok := at[h.Ref]
			if !ok {
				n = len(pool)
				at[h.Ref] = n
				pool = append(pool, entry{ref: h.Ref, hits: make([]hit, len(answers))})
			}
			if pool[n].hits[leg].rank == 0 {
				pool[n].hits[leg] = hit{rank: i + 1, Hit: h}
				pool[n].rrf += 1 / (k + float64(i+1))
			}
		}
	}
	slices.SortFunc(pool, func(a, b entry) int {
		return cmp.Or(cmp.Compare(b.rrf, a.rrf), cmp.Compare(a.ref, b.ref))
	})
	n := min(len(pool), size)
	return pool[:n], pool[n:]
}
