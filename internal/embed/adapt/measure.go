package adapt

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/viterin/vek/vek32"

	"github.com/kenlayer/ken/embed"
)

// Figures are means over the questions set aside, each in 0..1.
type Figures struct {
	RecallAt10 float64 `json:"recall@10"` // a passage of the pair is among the first ten
	MRR        float64 `json:"mrr"`       // 1/rank of the pair's first passage
}

// outcome is where one question's first passage came.
type outcome struct {
	file string
	src  string
	weak bool
	rank int // from 1; 0 is not at all
}

func (o outcome) figures() Figures {
	f := Figures{}
	if o.rank > 0 {
		f.MRR = 1 / float64(o.rank)
	}
	if o.rank > 0 && o.rank <= 10 {
		f.RecallAt10 = 1
	}
	return f
}

func mean(outcomes []outcome) Figures {
	var sum Figures
	for _, o := range outcomes {
		f := o.figures()
		sum.RecallAt10 += f.RecallAt10
		sum.MRR += f.MRR
	}
	n := float64(max(len(outcomes), 1))
	return Figures{sum.RecallAt10 / n, sum.MRR / n}
}

// block is how many texts are embedded between two looks at the context.
const block = 512

// search ranks all passages for each question as the vector leg of a turn does: by
// cosine once the passages' mean is taken off both. Passages that are equally near
// to a question share the worst of their places.
func search(ctx context.Context, e embed.Embedder, passages []string, asked []Pair, told func(done, total int)) ([]outcome, error) {
	total := len(passages) + len(asked)
	vectors, err := embedAll(ctx, e, passages, func(done int) { told(done, total) })
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(asked))
	for i, p := range asked {
		texts[i] = p.Q
	}
	questions, err := embedAll(ctx, e, texts, func(int) {})
	if err != nil {
		return nil, err
	}
	if m := meanOf(vectors, e.Dim()); m != nil {
		centre(vectors, m)
		centre(questions, m)
	}
	out := make([]outcome, len(asked))
	for i, q := range questions {
		if i%64 == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			told(len(passages)+i, total)
		}
		out[i] = outcome{asked[i].File, asked[i].Src, asked[i].Weak, rank(q, vectors, asked[i].Passages)}
	}
	told(total, total)
	return out, nil
}

// meanOf is the mean of the vectors that there are, nil when there are none.
func meanOf(vectors [][]float32, dim int) []float32 {
	m := make([]float32, dim)
	n := 0
	for _, v := range vectors {
		if v != nil {
			vek32.Add_Inplace(m, v)
			n++
		}
	}
	if n == 0 {
		return nil
	}
	vek32.DivNumber_Inplace(m, float32(n))
	return m
}

// centre replaces each vector by its unit difference from m; what has no direction
// then has no vector. The vectors given stay as they are: they are shared.
func centre(vectors [][]float32, m []float32) {
	for i, v := range vectors {
		if v == nil {
			continue
		}
		d := vek32.Sub(v, m)
		if embed.Unit(d) != nil {
			d = nil
		}
		vectors[i] = d
	}
}

// rank is the place of the best of the wanted vectors, 0 when it can't be found.
func rank(q []float32, vectors [][]float32, wanted []int) int {
	best := float32(math.Inf(-1))
	for _, i := range wanted {
		if vectors[i] != nil && q != nil {
			best = max(best, vek32.Dot(q, vectors[i]))
		}
	}
	if math.IsInf(float64(best), -1) {
		return 0
	}
	place := 1
	for i, v := range vectors {
		if v != nil && vek32.Dot(q, v) >= best && !slices.Contains(wanted, i) {
			place++
		}
	}
	return place
}

func embedAll(ctx context.Context, e embed.Embedder, texts []string, told func(done int)) ([][]float32, error) {
	out := make([][]float32, 0, len(texts))
	for part := range slices.Chunk(texts, block) {
		v, err := e.Embed(ctx, part)
		if err == nil {
			err = embed.Check(v, len(part), e.Dim())
		}
		if err != nil {
			return nil, fmt.Errorf("embed with %s: %w", e.Model(), err)
		}
		out = append(out, v...)
		told(len(out))
	}
	return out, nil
}

// Interval is a mean difference, adapted less base, and where 95 % of its
// bootstrap lie.
type Interval struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// resamples of the bootstrap.
const resamples = 2000

// bootstrap compares outcomes of the same questions, pair by pair. It draws whole
// files, not questions: those of one file are alike, and drawing them singly would
// promise more than the data holds. Percentile interval, Efron 1979.
func bootstrap(base, adapted []outcome, seed uint64, value func(Figures) float64) Interval {
	type group struct{ sum, n float64 }
	var groups []group
	place := map[string]int{}
	var all group
	for i := range base {
		d := value(adapted[i].figures()) - value(base[i].figures())
		at, ok := place[base[i].file]
		if !ok {
			at = len(groups)
			place[base[i].file] = at
			groups = append(groups, group{})
		}
		groups[at].sum += d
		groups[at].n++
		all.sum += d
		all.n++
	}
	if len(groups) == 0 {
		return Interval{}
	}
	rng := rand.New(rand.NewPCG(seed, 0xb007))
	means := make([]float64, resamples)
	for i := range means {
		var g group
		for range groups {
			drawn := groups[rng.IntN(len(groups))]
			g.sum += drawn.sum
			g.n += drawn.n
		}
		means[i] = g.sum / g.n
	}
	slices.Sort(means)
	return Interval{all.sum / all.n, means[resamples*25/1000], means[resamples*975/1000-1]}
}
