package train

import (
	"context"
	"math"

	"github.com/viterin/vek/vek32"
)

// Adam's constants, as Kingma and Ba propose them, but for a second moment that
// forgets sooner: most rows are seen seldom.
const (
	beta1 = 0.9
	beta2 = 0.99
)

// rows is a table of float rows with the state of its optimiser: Adam with one
// second moment a row, which only the rows of a step's texts go through.
type rows struct {
	dim    int
	values []float32
	moment []float32
	square []float32 // one a row
	seen   []int32   // steps of each row
}

func newRows(n, dim int) *rows {
	return &rows{dim: dim, values: make([]float32, n*dim), moment: make([]float32, n*dim),
		square: make([]float32, n), seen: make([]int32, n)}
}

func (t *rows) len() int { return len(t.square) }

func (t *rows) row(i int) []float32 { return t.values[i*t.dim : (i+1)*t.dim] }

// update moves the rows of the step's tokens against their gradient.
func (t *rows) update(ctx context.Context, tr *trainer, rate float32) error {
	u := &tr.users
	const together = 64
	pieces := (len(u.tokens) + together - 1) / together
	return parallel(ctx, tr.o.Workers, pieces, func(c int) {
		g := make([]float32, t.dim)
		for k := c * together; k < min((c+1)*together, len(u.tokens)); k++ {
			clear(g)
			for _, text := range u.of(k) {
				vek32.Add_Inplace(g, tr.grad[int(text)*t.dim:(int(text)+1)*t.dim])
			}
			t.move(int(u.tokens[k]), g, rate)
		}
	})
}

// move is Adam's step of one row. g is used up.
func (t *rows) move(i int, g []float32, rate float32) {
	mean := vek32.Dot(g, g) / float32(t.dim)
	if mean == 0 {
		return
	}
	t.seen[i]++
	t.square[i] = beta2*t.square[i] + (1-beta2)*mean
	m := t.moment[i*t.dim : (i+1)*t.dim]
	vek32.MulNumber_Inplace(m, beta1)
	vek32.MulNumber_Inplace(g, 1-beta1)
	vek32.Add_Inplace(m, g)
	n := float64(t.seen[i])
	first := 1 - math.Pow(beta1, n)
	second := math.Sqrt(float64(t.square[i]) / (1 - math.Pow(beta2, n)))
	vek32.MulNumber_Into(g, m, float32(float64(rate)/(first*(second+1e-12))))
	vek32.Sub_Inplace(t.row(i), g)
}

// users lists for each token of a batch the texts that it is in.
type users struct {
	tokens []int32 // those of the batch, in the order of first use
	starts []int32 // where each token's texts begin in texts, and the end
	texts  []int32
	place  []int32 // of each token of the vocabulary in tokens, + 1
}

func (u *users) of(k int) []int32 { return u.texts[u.starts[k]:u.starts[k+1]] }

// collect reads a batch. A token that is twice in a text has that text twice.
func (u *users) collect(b *batch, vocabulary int) {
	if len(u.place) != vocabulary {
		u.place = make([]int32, vocabulary)
	}
	u.tokens, u.starts = u.tokens[:0], append(u.starts[:0], 0)
	for _, id := range b.ids {
		if u.place[id] == 0 {
			u.tokens = append(u.tokens, id)
			u.starts = append(u.starts, 0)
			u.place[id] = int32(len(u.tokens))
		}
		u.starts[u.place[id]]++
	}
	for k := 1; k < len(u.starts); k++ {
		u.starts[k] += u.starts[k-1]
	}
	if cap(u.texts) < len(b.ids) {
		u.texts = make([]int32, len(b.ids))
	}
	u.texts = u.texts[:len(b.ids)]
	for i := len(b.ends) - 1; i >= 0; i-- { // backwards, so that texts stand in order
		text := b.text(i)
		for j := len(text) - 1; j >= 0; j-- {
			k := u.place[text[j]]
			u.starts[k]--
			u.texts[u.starts[k]] = int32(i)
		}
	}
	// starts[k] is now where token k-1's texts begin: shift.
	copy(u.starts, u.starts[1:])
	u.starts[len(u.starts)-1] = int32(len(b.ids))
	for _, id := range u.tokens {
		u.place[id] = 0
	}
}
