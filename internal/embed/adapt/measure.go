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

// Figures holds means over the held-out questions, each in 0..1.
type Figures struct {
	RecallAt10 float64 `json:"recall@10"` // a passage of the pair is among the first ten
	MRR        float64 `json:"mrr"`       // 1/rank of the pair's first passage
}

// outcome is the rank of one question's first passage.
type outcome struct {
	file string
	src  string
	weak bool
	rank int // from 1; 0 if not found
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

// block is the number of texts that are embedded between two checks of the context.
const block = 512

// search ranks all passages for each question as the vector leg of a turn does: by
// cosine after the passages' mean is subtracted from both. Passages with the same
// cosine all get the lowest of their ranks.
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

// meanOf returns the mean of the non-nil vectors, nil when there are none.
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

// centre replaces each vector by its normalized difference from m, or by nil if the
// difference has no direction. The given vectors are not changed, because they are
// shared.
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

// rank returns the best rank of the wanted vectors, 0 when none can be found.
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

// Interval is the mean difference, adapted minus base, and its 95 % bootstrap interval.
type Interval struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// resamples is the number of bootstrap resamples.
const resamples = 2000

// bootstrap compares outcomes of the same questions, pair by pair. It resamples whole
// files instead of questions: questions of one file are similar, so resampling them
// individually would give intervals that are too narrow. Percentile interval, Efron
// 1979.
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
