package topk_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kenlayer/ken/internal/seed"
	"github.com/kenlayer/ken/internal/topk"
)

type number int

func (n number) Better(than number) bool { return n > than }

func TestHeapKeepsTheBest(t *testing.T) {
	r := rand.New(rand.NewPCG(seed.Of(t), 0))
	for range 200 {
		n, all := 1+r.IntN(20), make([]number, r.IntN(60))
		a, b := topk.New[number](n), topk.New[number](n)
		for i := range all {
			all[i] = number(r.IntN(30))
			h := a
			if i%2 == 0 {
				h = b
			}
			full, worst := h.Full(), number(0)
			if full {
				worst = h.Worst()
			}
			if took := h.Offer(all[i]); took != (!full || all[i] > worst) {
				t.Fatalf("offered %d to a heap of %d with worst %d: %v", all[i], n, worst, took)
			}
		}
		a.Merge(b)
		slices.SortFunc(all, func(x, y number) int { return int(y - x) })
		if want, got := all[:min(n, len(all))], a.Sorted(); !slices.Equal(got, want) {
			t.Fatalf("kept %v of %v", got, want)
		}
	}
}
