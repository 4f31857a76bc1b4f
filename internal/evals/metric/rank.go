package metric

import (
	"math"
	"slices"
)

// Hit returns 1 if there is a relevant record at one of the first k ranks, else 0.
func Hit(grades []int, k int) float64 {
	for _, g := range grades[:min(k, len(grades))] {
		if g > 0 {
			return 1
		}
	}
	return 0
}

// Recall returns the share of the relevant records that are at the first k ranks.
// relevant is the number of all relevant records.
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

// NDCG returns the normalised discounted cumulative gain of the first k ranks. Each
// rank adds its grade divided by log2(rank+1), and the sum is divided by that of the
// best possible order. The gain is linear, as in trec_eval and BEIR (Järvelin and
// Kekäläinen 2002), not 2^grade-1. ideal holds the grades of all relevant records, in
// any order; it is not changed.
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

// ReciprocalRank returns 1 divided by the rank of the first relevant record, or 0 when
// there is none.
func ReciprocalRank(grades []int) float64 {
	for i, g := range grades {
		if g > 0 {
			return 1 / float64(i+1)
		}
	}
	return 0
}

// Percentile returns the smallest value that at least p percent of the values don't
// exceed (nearest rank). It does not change values. It returns 0 for no values.
func Percentile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	at := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[min(max(at, 1), len(sorted))-1]
}

// Mean returns the arithmetic mean; 0 for no values.
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
