package train

import (
	"context"
	"hash/fnv"
	"io"

	"github.com/viterin/vek/vek32"

	"github.com/kenlayer/ken/internal/embed/table"
)

// HoldOut splits pairs into those to train on and about one in n to measure with,
// by a hash of the passage, so that all pairs of a passage are on one side. n <= 1
// holds nothing out.
func HoldOut(pairs []Pair, n int) (rest, held []Pair) {
	const remainder = 7 // any would do
	for _, p := range pairs {
		h := fnv.New32a()
		_, _ = io.WriteString(h, p.P) // a hash never fails
		if n > 1 && int64(h.Sum32())%int64(n) == remainder%int64(n) {
			held = append(held, p)
		} else {
			rest = append(rest, p)
		}
	}
	return rest, held
}

// Score is how well a table finds passages.
type Score struct {
	Pairs int `json:"pairs"`
	// MRR is the mean over the queries of 1/rank of their own passage among all
	// passages of the pairs, 0..1.
	MRR float64 `json:"mrr"`
	// Recall10 is the share of the queries whose passage is among the first ten.
	Recall10 float64 `json:"recall10"`
}

// maxScored is how many pairs Measure uses at most: its work grows with the square.
const maxScored = 20_000

// Measure scores a table with pairs that it was not trained on. Of very many
// pairs it takes evenly spaced ones. A query without a vector counts as not found.
func Measure(ctx context.Context, m *table.Model, pairs []Pair, o Options) (Score, error) {
	o = o.common()
	if every := len(pairs)/maxScored + 1; every > 1 {
		var some []Pair
		for i := 0; i < len(pairs); i += every {
			some = append(some, pairs[i])
		}
		pairs = some
	}
	place := map[string]int{}
	var texts []string
	for _, p := range pairs {
		if _, ok := place[p.P]; !ok {
			place[p.P] = len(texts)
			texts = append(texts, p.P)
		}
	}
	vectors, err := m.Embed(ctx, texts)
	if err != nil {
		return Score{}, err
	}
	ranks := make([]int, len(pairs))
	if err := parallel(ctx, o.Workers, len(pairs), func(i int) {
		ranks[i] = rank(m.EmbedQuery(pairs[i].Q, nil), vectors, place[pairs[i].P])
	}); err != nil {
		return Score{}, err
	}
	reciprocal, found := 0.0, 0
	for _, r := range ranks {
		if r > 0 {
			reciprocal += 1 / float64(r)
		}
		if r > 0 && r <= 10 {
			found++
		}
	}
	n := float64(max(len(pairs), 1))
	return Score{Pairs: len(pairs), MRR: reciprocal / n, Recall10: float64(found) / n}, nil
}

// rank is the place of vectors[own] by cosine to q, from 1, the best of equals
// last; 0 when there is no vector.
func rank(q []float32, vectors [][]float32, own int) int {
	if q == nil || vectors[own] == nil {
		return 0
	}
	score := vek32.Dot(q, vectors[own])
	r := 1
	for i, v := range vectors {
		if i != own && v != nil && vek32.Dot(q, v) >= score {
			r++
		}
	}
	return r
}
