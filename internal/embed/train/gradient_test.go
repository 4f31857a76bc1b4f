package train

import (
	"math"
	"testing"
)

// The gradient of each text's sum must be what a small change of it does to the
// loss.
func TestGradient(t *testing.T) {
	for _, short := range []int{4, 8} {
		tr := tinyTrainer(16, short)
		loss := func() float64 {
			l, err := tr.gradients(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return l
		}
		loss()
		users := &tr.users
		users.collect(&tr.batch, tr.table.len())
		const h = 1e-3
		for k, id := range users.tokens {
			for x := range tr.table.dim {
				loss()
				var want float64 // by the chain rule: a row's gradient is the sum of its texts'
				for _, text := range users.of(k) {
					want += float64(tr.grad[int(text)*tr.table.dim+x])
				}
				at := &tr.table.row(int(id))[x]
				before := *at
				*at = before + h
				up := loss()
				*at = before - h
				down := loss()
				*at = before
				if got := (up - down) / (2 * h); math.Abs(got-want) > 2e-3+0.02*math.Abs(want) {
					t.Errorf("short %d, token %d, dimension %d: the loss changes by %.5f, the gradient says %.5f", short, id, x, got, want)
				}
			}
		}
	}
}

// tinyTrainer has 4 queries, their passages, hard negatives of two of them, and one
// passage that answers two queries.
func tinyTrainer(dim, short int) *trainer {
	o := Options{Seed: 3, Temperature: 0.2}.withDefaults()
	texts := [][]int32{{0, 1}, {2}, {3, 4, 4}, {5, 0}, {1, 6}, {2, 7, 8}, {4, 9}, {5, 10}, {1, 11}, {3, 9}}
	b := batch{n: 4, query: []uint64{1, 2, 3, 4}, passage: []uint64{1, 2, 3, 3}, hard: []int32{-1, 8, -1, 9}}
	for _, text := range texts {
		b.ids = append(b.ids, text...)
		b.ends = append(b.ends, int32(len(b.ids)))
	}
	rows := newRows(12, dim)
	r := draw(1, 1)
	for i := range rows.values {
		rows.values[i] = float32(r.NormFloat64())
	}
	return &trainer{o: &o, table: rows, batch: b, short: short}
}
