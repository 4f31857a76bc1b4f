package scorer

import (
	"cmp"
	"context"
	"slices"
)

// Learned orders by a model as it was when it was made. It is safe for concurrent
// use.
type Learned struct{ w *[width]float64 }

var _ Scorer = (*Learned)(nil)

// NewLearned returns the order of a model, which may go on learning.
func NewLearned(m *Model) *Learned { return &Learned{m.weights()} }

// Order implements Scorer: the likeliest to be used first, equal ones in the plain
// order. It does not look at turn and never fails.
func (l *Learned) Order(_ context.Context, _ Turn, c []Features) ([]int, error) {
	order, score := identity(len(c)), make([]float64, len(c))
	for i := range c {
		v := vectorOf(&c[i])
		for j, x := range v.x {
			score[i] += x * l.w[j]
		}
		for _, j := range v.slots[:v.n] {
			score[i] += l.w[j]
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(score[b], score[a]) })
	return order, nil
}
