package metric

import (
	"math"
	"testing"
)

// Computed by hand: the relevant records are at ranks 2 and 4, out of three.
func TestRankings(t *testing.T) {
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
	grades, ideal := []int{0, 2, 0, 1, 0}, []int{1, 2, 1}
	for _, tt := range []struct {
		name      string
		got, want float64
	}{
		{"hit@1", Hit(grades, 1), 0},
		{"hit@2", Hit(grades, 2), 1},
		{"hit beyond the list", Hit(grades, 100), 1},
		{"hit of nothing", Hit(nil, 5), 0},
		{"recall@1", Recall(grades, 3, 1), 0},
		{"recall@3", Recall(grades, 3, 3), 1.0 / 3},
		{"recall@10", Recall(grades, 3, 10), 2.0 / 3},
		{"recall without relevant records", Recall(grades, 0, 10), 0},
		{"reciprocal rank", ReciprocalRank(grades), .5},
		{"reciprocal rank of nothing", ReciprocalRank([]int{0, 0}), 0},
		// gained 2/log2(3) + 1/log2(5), of at most 2/log2(2) + 1/log2(3) + 1/log2(4)
		{"ndcg@10", NDCG(grades, ideal, 10), (2/math.Log2(3) + 1/math.Log2(5)) / (2 + 1/math.Log2(3) + .5)},
		// gained 2/log2(3), of at most 2 + 1/log2(3)
		{"ndcg@2", NDCG(grades, ideal, 2), 2 / math.Log2(3) / (2 + 1/math.Log2(3))},
		{"ndcg of the best order", NDCG([]int{2, 1, 1}, ideal, 10), 1},
		{"ndcg without relevant records", NDCG(grades, nil, 10), 0},
	} {
		if !near(tt.got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, tt.got, tt.want)
		}
	}
	if ideal[0] != 1 || ideal[1] != 2 {
		t.Error("NDCG sorted its argument")
	}
}

func TestPercentile(t *testing.T) {
	values := []float64{5, 1, 4, 2, 3}
	for _, tt := range []struct{ p, want float64 }{{0, 1}, {20, 1}, {21, 2}, {50, 3}, {99, 5}, {100, 5}} {
		if got := Percentile(values, tt.p); got != tt.want {
			t.Errorf("percentile %v: %v, want %v", tt.p, got, tt.want)
		}
	}
	if values[0] != 5 {
		t.Error("Percentile sorted its argument")
	}
	if Percentile(nil, 50) != 0 || Mean(nil) != 0 {
		t.Error("no values are not 0")
	}
}
