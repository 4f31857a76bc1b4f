package train

import (
	"cmp"
	"context"
	"math"
	"slices"
)

const (
	// asked is how many of a query's rarest tokens are looked up.
	asked = 5
	// tooCommon is how many passages of a source may have a token that is looked up.
	tooCommon = 3000
	// nearest is how many passages a query's negatives are chosen from.
	nearest = 12
	// skipped is the part of the pair's own score above which a passage is taken
	// for an answer too, and left out.
	skipped = 1.2
)

// mine finds for each pair up to o.Hard passages of its source that share rare
// words with its query: BM25 with idf alone over each source's distinct passages,
// as b and the term frequency matter little for passages cut to one length.
func mine(ctx context.Context, c *corpus, vocabulary int, o *Options) ([][]int32, error) {
	hard := make([][]int32, c.len())
	bySource := make([][]int32, len(c.sources))
	for i, s := range c.source {
		bySource[s] = append(bySource[s], int32(i))
	}
	done := 0
	for _, list := range bySource {
		x := newInverted(c, list, vocabulary)
		const block = 512
		err := parallel(ctx, o.Workers, (len(list)+block-1)/block, func(b int) {
			s := &search{scores: make([]float32, len(x.pairs))}
			for _, i := range list[b*block : min((b+1)*block, len(list))] {
				hard[i] = x.negatives(c, s, i, o.Hard)
			}
		})
		if err != nil {
			return nil, err
		}
		done += len(list)
		report(o.Progress, Progress{Stage: "negatives", Done: done, Total: c.len()})
	}
	return hard, nil
}

// inverted lists the passages of each token.
type inverted struct {
	pairs  []int32 // one pair of each distinct passage
	places map[uint64]int32
	starts []int32
	lists  []int32 // places in pairs
}

func newInverted(c *corpus, list []int32, vocabulary int) *inverted {
	x := &inverted{starts: make([]int32, vocabulary+1), places: map[uint64]int32{}}
	for _, i := range list {
		if _, ok := x.places[c.passage[i]]; !ok {
			x.places[c.passage[i]] = int32(len(x.pairs))
			x.pairs = append(x.pairs, i)
		}
	}
	last := make([]int32, vocabulary)
	each := func(f func(place int32, id int32)) {
		clear(last)
		for place, i := range x.pairs {
			for _, id := range c.p(int(i)) {
				if last[id] != int32(place)+1 {
					last[id] = int32(place) + 1
					f(int32(place), id)
				}
			}
		}
	}
	each(func(_, id int32) { x.starts[id+1]++ })
	for id := range vocabulary {
		x.starts[id+1] += x.starts[id]
	}
	x.lists = make([]int32, x.starts[vocabulary])
	next := slices.Clone(x.starts)
	each(func(place, id int32) {
		x.lists[next[id]] = place
		next[id]++
	})
	return x
}

func (x *inverted) of(id int32) []int32 { return x.lists[x.starts[id]:x.starts[id+1]] }

// search is the working memory of one query.
type search struct {
	terms  []int32
	scores []float32 // of each place, 0 between queries
	found  []int32   // places with a score
}

func (x *inverted) negatives(c *corpus, s *search, i int32, n int) []int32 {
	s.terms = append(s.terms[:0], c.q(int(i))...)
	slices.Sort(s.terms)
	s.terms = slices.DeleteFunc(slices.Compact(s.terms), func(id int32) bool {
		n := len(x.of(id))
		return n == 0 || n > tooCommon
	})
	slices.SortFunc(s.terms, func(a, b int32) int {
		return cmp.Or(cmp.Compare(len(x.of(a)), len(x.of(b))), cmp.Compare(a, b))
	})
	s.terms = s.terms[:min(len(s.terms), asked)]
	for _, id := range s.terms {
		idf := float32(math.Log(1 + float64(len(x.pairs))/float64(len(x.of(id)))))
		for _, place := range x.of(id) {
			if s.scores[place] == 0 {
				s.found = append(s.found, place)
			}
			s.scores[place] += idf
		}
	}
	own := float32(0)
	if place, ok := x.places[c.passage[i]]; ok {
		own = s.scores[place]
	}
	best := s.best(c, x, i, own, n)
	for _, place := range s.found {
		s.scores[place] = 0
	}
	s.found = s.found[:0]
	return best
}

// best returns the pairs of the n best places that are no answer themselves.
func (s *search) best(c *corpus, x *inverted, i int32, own float32, n int) []int32 {
	var top [nearest]int32 // the best so far, best first
	k := 0
	for _, place := range s.found {
		if k == nearest && !s.better(place, top[k-1]) {
			continue
		}
		if k < nearest {
			k++
		}
		j := k - 1
		for ; j > 0 && s.better(place, top[j-1]); j-- {
			top[j] = top[j-1]
		}
		top[j] = place
	}
	var best []int32
	for _, place := range top[:k] {
		j := x.pairs[place]
		if c.passage[j] == c.passage[i] || c.query[j] == c.query[i] || own > 0 && s.scores[place] > skipped*own {
			continue
		}
		if best = append(best, j); len(best) == n {
			break
		}
	}
	return best
}

// better orders places by score; of equals, the first one wins.
func (s *search) better(a, b int32) bool {
	return s.scores[a] > s.scores[b] || s.scores[a] == s.scores[b] && a < b
}
