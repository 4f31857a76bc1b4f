package metric

import (
	"math"
	"slices"
)

// Hit is 1 when something relevant stands at one of the first k ranks.
func Hit(grades []int, k int) float64 {
	for _, g := range grades[:min(k, len(grades))] {
		if g > 0 {
			return 1
		}
	}
	return 0
}

// Recall is the part of all relevant records that stands at the first k ranks.
// relevant is how many there are.
func Recall(grades []int, relevant, k int) float64 {
	if relevant == 0 {
		return 0
	}
	found := 0
	for _, g := range grades[:min(k, len(grades))] {
		if g > 0 {
			found++
		}
	}
	return float64(found) / float64(relevant)
}

// NDCG is the normalised discounted cumulative gain of the first k ranks: each
// gives its grade divided by log2(rank+1), and the sum is divided by that of the
// best order there is. The gain is linear, as trec_eval and BEIR have it (Järvelin
// and Kekäläinen 2002), not 2^grade-1. ideal are the grades of all relevant
// records, in any order; it is not changed.
func NDCG(grades, ideal []int, k int) float64 {
	best := slices.Clone(ideal)
	slices.SortFunc(best, func(a, b int) int { return b - a })
	most := dcg(best, k)
	if most == 0 {
		return 0
	}
	return dcg(grades, k) / most
}

func dcg(grades []int, k int) (sum float64) {
	for i, g := range grades[:min(k, len(grades))] {
		sum += float64(g) / math.Log2(float64(i+2))
	}
	return sum
}

// ReciprocalRank is 1 over the rank of the first relevant record, 0 when there is
// none.
func ReciprocalRank(grades []int) float64 {
	for i, g := range grades {
		if g > 0 {
			return 1 / float64(i+1)
		}
	}
	return 0
}

// Percentile is the smallest value that at least p of 100 values don't exceed
// (nearest rank). values is not changed. 0 for no values.
func Percentile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	at := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[min(max(at, 1), len(sorted))-1]
}

// Mean is the arithmetic mean; 0 for no values.
func Mean(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
