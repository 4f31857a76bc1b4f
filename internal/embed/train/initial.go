package train

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/viterin/vek/vek32"

	"github.com/kenlayer/ken/internal/analysis"
)

const (
	// common is the share of all tokens at which a token counts half: SIF weighting
	// (Arora, Liang and Ma, 2017).
	common = 0.001
	// confident is how often a token occurs for its own row to count as much as
	// what it has in common with the words of its stem.
	confident = 30
	// noise is the length of the random part of each row of length 1.
	noise = 0.05
)

// initial returns the table that contrastive training starts from: tokens with
// the same neighbours have similar rows, rare words lean on the words of their
// stem, and frequent tokens have short rows.
func initial(ctx context.Context, c *corpus, tokens []string, o *Options) (*rows, error) {
	t := newRows(len(tokens), o.Dim)
	frequencies := c.frequencies(len(tokens))
	m, err := ppmi(ctx, sequence(c, frequencies, o), len(tokens), o)
	if err != nil {
		return nil, err
	}
	if t.values, err = factor(ctx, m, o.Dim, o); err != nil {
		return nil, err
	}
	lean(t, tokens, frequencies, o.Seed)
	scale(t, frequencies)
	return t, ctx.Err()
}

// lean brings all rows to length 1 and mixes rare words' with the mean of the
// words of the same stem; what has neither gets a random direction.
func lean(t *rows, tokens []string, frequencies []int64, seed uint64) {
	own := make([]float32, len(tokens)) // how far a row can be trusted
	stems := make([]string, len(tokens))
	means := map[string][]float32{}
	term := make([]float32, t.dim)
	for i, w := range tokens {
		row := t.row(i)
		if n := vek32.Norm(row); n > 1e-6 {
			vek32.MulNumber_Inplace(row, 1/n)
			own[i] = float32(float64(frequencies[i]) / float64(frequencies[i]+confident))
		} else {
			clear(row)
		}
		stems[i] = w
		if len(w) > 3 && letters(w) {
			stems[i] = analysis.Stem(w)
		}
		if means[stems[i]] == nil {
			means[stems[i]] = make([]float32, t.dim)
		}
		vek32.MulNumber_Into(term, row, own[i])
		vek32.Add_Inplace(means[stems[i]], term)
	}
	for i, w := range tokens {
		row := t.row(i)
		vek32.MulNumber_Inplace(row, own[i])
		if mean := means[stems[i]]; vek32.Norm(mean) > 1e-6 {
			vek32.MulNumber_Into(term, mean, (1-own[i])/vek32.Norm(mean))
			vek32.Add_Inplace(row, term)
		}
		direction(term, w, seed)
		if vek32.Norm(row) > 1e-3 { // some noise: dimensions that are zero throughout would stay so
			vek32.MulNumber_Inplace(term, noise/float32(math.Sqrt(float64(t.dim))))
		}
		vek32.Add_Inplace(row, term)
	}
}

// direction fills dst with a random direction that belongs to a name.
func direction(dst []float32, name string, seed uint64) {
	r := rand.New(rand.NewPCG(seed, hashText(name)))
	for i := range dst {
		dst[i] = float32(r.NormFloat64())
	}
}

// scale gives each row the length that its token's weight is.
func scale(t *rows, frequencies []int64) {
	var all int64
	for _, f := range frequencies {
		all += f
	}
	for i, f := range frequencies {
		n := float64(vek32.Norm(t.row(i)))
		if n == 0 {
			continue
		}
		w := common / (common + float64(f)/math.Max(float64(all), 1))
		vek32.MulNumber_Inplace(t.row(i), float32(w/n))
	}
}
