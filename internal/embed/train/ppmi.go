package train

import (
	"context"
	"math"
)

const (
	// window is how many tokens to either side count as neighbours.
	window = 6
	// maxNeighbours is how many tokens are read for the initial table; of a larger
	// corpus every second, third … text is.
	maxNeighbours = 24 << 20
	// frequent is the share of all tokens above which a token is left out now and
	// then (Mikolov and others, 2013), so that neighbours are words that tell.
	frequent = 1e-4
	// minTogether is how often two tokens meet to count: less is chance.
	minTogether = 2
	// smoothing of the context distribution (Levy, Goldberg and Dagan, 2015).
	smoothing = 0.75
)

// sparse is a square matrix, row by row.
type sparse struct {
	starts []int64
	cols   []int32
	vals   []float32
}

// sequence returns the tokens that neighbours are counted in, -1 between texts.
func sequence(c *corpus, frequencies []int64, o *Options) []int32 {
	all := float64(len(c.ids))
	often := max(frequent, 1/float64(len(frequencies))) // few tokens are all frequent
	keep := make([]float64, len(frequencies))
	for i, f := range frequencies {
		keep[i] = min(1, math.Sqrt(often*all/math.Max(float64(f), 1)))
	}
	r := draw(o.Seed, streamInitial)
	every := len(c.ids)/maxNeighbours + 1
	var seq []int32
	add := func(text []int32) {
		for _, id := range text {
			if keep[id] >= 1 || r.Float64() < keep[id] {
				seq = append(seq, id)
			}
		}
		seq = append(seq, -1)
	}
	last := uint64(0)
	for i := 0; i < c.len(); i += every {
		add(c.q(i))
		if h := c.passage[i]; h != last { // the same passage often follows itself
			add(c.p(i))
			last = h
		}
	}
	return seq
}

// neighbours calls f for each pair of neighbours of which wanted(a) holds.
func neighbours(seq []int32, wanted func(a int32) bool, f func(a, b int32)) {
	for i, a := range seq {
		if a < 0 || !wanted(a) {
			continue
		}
		for j := i - 1; j >= max(0, i-window) && seq[j] >= 0; j-- {
			f(a, seq[j])
		}
		for j := i + 1; j <= min(len(seq)-1, i+window) && seq[j] >= 0; j++ {
			f(a, seq[j])
		}
	}
}

// ppmi returns the positive pointwise mutual information of n tokens: how much
// more often two are neighbours than chance has it, as a logarithm. It is
// symmetric.
func ppmi(ctx context.Context, seq []int32, n int, o *Options) (*sparse, error) {
	total := make([]float64, n)
	neighbours(seq, func(int32) bool { return true }, func(a, _ int32) { total[a]++ })
	all, smooth := 0.0, 0.0
	for _, f := range total {
		all += f
		smooth += math.Pow(f, smoothing)
	}
	logShare := make([]float64, n) // of the mean of both distributions
	for i, f := range total {
		logShare[i] = (math.Log(f/all) + math.Log(math.Pow(f, smoothing)/smooth)) / 2
	}
	const band = 1024 // rows that are counted at once, in a matrix that is not sparse
	bands := make([]sparse, (n+band-1)/band)
	err := parallel(ctx, o.Workers, len(bands), func(k int) {
		from, to := int32(k*band), int32(min((k+1)*band, n))
		count := make([]int32, int(to-from)*n)
		neighbours(seq, func(a int32) bool { return from <= a && a < to },
			func(a, b int32) { count[int(a-from)*n+int(b)]++ })
		var s sparse
		for a := from; a < to; a++ {
			for b, together := range count[int(a-from)*n : int(a-from+1)*n] {
				if together < minTogether {
					continue
				}
				if v := math.Log(float64(together)/all) - logShare[a] - logShare[b]; v > 0 {
					s.cols = append(s.cols, int32(b))
					s.vals = append(s.vals, float32(v))
				}
			}
			s.starts = append(s.starts, int64(len(s.cols)))
		}
		bands[k] = s
	})
	if err != nil {
		return nil, err
	}
	m := &sparse{starts: []int64{0}}
	for _, s := range bands {
		base := int64(len(m.cols))
		for _, end := range s.starts {
			m.starts = append(m.starts, base+end)
		}
		m.cols = append(m.cols, s.cols...)
		m.vals = append(m.vals, s.vals...)
	}
	return m, nil
}
