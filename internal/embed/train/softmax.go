package train

import (
	"context"
	"math"

	"github.com/viterin/vek/vek32"
)

// softmax turns a level's cosines into the gradient of its loss by each cosine,
// in l.prob and l.hardBy, and returns the loss: each query must find its passage
// among all passages and its hard negative, and each passage its query among all
// queries (InfoNCE, both ways). A passage that answers the query too, because it
// is the same text or belongs to the same query, is left out.
func (t *trainer) softmax(ctx context.Context, l *level) (float64, error) {
	b, n := &t.batch, t.batch.n
	sharp := float32(1 / t.o.Temperature)
	if err := parallel(ctx, t.o.Workers, chunks(n), func(c int) {
		from, to := chunk(c, n)
		for i := from; i < to; i++ {
			e := l.prob[i*n : (i+1)*n]
			vek32.MulNumber_Into(e, l.cosine[i*n:(i+1)*n], sharp)
			vek32.AddNumber_Inplace(e, -sharp)
			vek32.Exp_Inplace(e)
			q, p := b.query[i], b.passage[i]
			for j := range e {
				if j != i && (b.query[j] == q || b.passage[j] == p) {
					e[j] = 0
				}
			}
			l.rowSum[i], l.hardBy[i] = vek32.Sum(e), 0
			if b.hard[i] >= 0 {
				l.hardBy[i] = float32(math.Exp(float64((l.hard[i] - 1) * sharp)))
				l.rowSum[i] += l.hardBy[i]
			}
		}
	}); err != nil {
		return 0, err
	}
	clear(l.colSum)
	for i := range n {
		vek32.Add_Inplace(l.colSum, l.prob[i*n:(i+1)*n])
	}
	loss := 0.0
	for i := range n {
		own := float64(l.prob[i*n+i])
		loss -= (math.Log(own/float64(l.rowSum[i])) + math.Log(own/float64(l.colSum[i]))) / float64(2*n)
	}
	return float64(l.weight) * loss, t.byCosine(ctx, l)
}

// byCosine makes gradients of the exponentials and their sums, and l.alpha.
func (t *trainer) byCosine(ctx context.Context, l *level) error {
	b, n := &t.batch, t.batch.n
	half := l.weight / float32(t.o.Temperature) / float32(2*n)
	for j := range l.colSum {
		l.colSum[j] = half / l.colSum[j]
	}
	clear(l.alpha)
	partial := make([]float32, chunks(n)*n) // what each chunk of queries adds to the passages' alpha
	err := parallel(ctx, t.o.Workers, chunks(n), func(c int) {
		from, to := chunk(c, n)
		mine := partial[c*n : (c+1)*n]
		factor := make([]float32, n)
		for i := from; i < to; i++ {
			g, cos := l.prob[i*n:(i+1)*n], l.cosine[i*n:(i+1)*n]
			vek32.AddNumber_Into(factor, l.colSum, half/l.rowSum[i])
			vek32.Mul_Inplace(g, factor)
			g[i] -= 2 * half
			l.alpha[i] = vek32.Dot(g, cos)
			vek32.Mul_Into(factor, g, cos)
			vek32.Add_Inplace(mine, factor)
			if h := b.hard[i]; h >= 0 {
				l.hardBy[i] *= half / l.rowSum[i]
				l.alpha[h] = l.hardBy[i] * l.hard[i]
				l.alpha[i] += l.alpha[h]
			}
		}
	})
	for c := range chunks(n) {
		vek32.Add_Inplace(l.alpha[n:2*n], partial[c*n:(c+1)*n])
	}
	return err
}
