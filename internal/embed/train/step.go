package train

import (
	"context"
	"math"

	"github.com/viterin/vek/vek32"
)

// rowsApart is how many rows of a matrix one piece of parallel work has. It is
// constant, so that sums are added in the same order for any number of workers.
const rowsApart = 32

// trainer is a table in training with the working memory of a step.
type trainer struct {
	o     *Options
	table *rows
	batch batch

	sums  []float32 // of each text
	sumsT []float32 // the passages' transposed, then the queries'
	grad  []float32 // of the loss by each sum
	short int       // dimensions of the lesser level
	part  [2]level  // the lesser and the whole level
	low   []float32 // coefficients of the dimensions below short
	turn  []float32 // a matrix of coefficients transposed
	users users
}

// level is one length of the vectors: the loss is over the whole vectors and over
// their first dimensions, so that these can be used alone.
type level struct {
	weight  float32
	inverse []float32 // 1/length of each text
	cosine  []float32 // n x n: of query i and passage j
	prob    []float32 // n x n: exp((cosine-1)/temperature), then the gradient
	hard    []float32 // the cosine of each query's hard negative
	hardBy  []float32 // the gradient by it
	rowSum  []float32
	colSum  []float32
	alpha   []float32 // for each text: sum of gradient times cosine
}

func grow(s []float32, n int) []float32 {
	if cap(s) < n {
		return make([]float32, n)
	}
	return s[:n]
}

func (l *level) resize(n, texts int) {
	l.inverse, l.alpha = grow(l.inverse, texts), grow(l.alpha, texts)
	l.cosine, l.prob = grow(l.cosine, n*n), grow(l.prob, n*n)
	l.hard, l.hardBy = grow(l.hard, n), grow(l.hardBy, n)
	l.rowSum, l.colSum = grow(l.rowSum, n), grow(l.colSum, n)
}

// step trains on the batch and returns its mean loss in nats.
func (t *trainer) step(ctx context.Context, number int, rate float64) (float64, error) {
	d := t.table.dim
	t.short = d / 2
	if number%2 == 1 {
		t.short = d / 4
	}
	loss, err := t.gradients(ctx)
	if err != nil {
		return 0, err
	}
	t.users.collect(&t.batch, t.table.len())
	return loss, t.table.update(ctx, t, float32(rate))
}

// gradients computes the loss and its gradient by each text's sum.
func (t *trainer) gradients(ctx context.Context) (float64, error) {
	b, d := &t.batch, t.table.dim
	t.sums, t.grad = grow(t.sums, b.texts()*d), grow(t.grad, b.texts()*d)
	t.sumsT = grow(t.sumsT, 2*b.n*d)
	t.part[0].weight, t.part[1].weight = 0.5, 1
	for i := range t.part {
		t.part[i].resize(b.n, b.texts())
	}
	if err := t.pool(ctx); err != nil {
		return 0, err
	}
	if err := t.cosines(ctx); err != nil {
		return 0, err
	}
	loss := 0.0
	for i := range t.part {
		l, err := t.softmax(ctx, &t.part[i])
		if err != nil {
			return 0, err
		}
		loss += l
	}
	return loss, t.back(ctx)
}

func chunks(n int) int { return (n + rowsApart - 1) / rowsApart }

func chunk(i, n int) (from, to int) { return i * rowsApart, min((i+1)*rowsApart, n) }

// pool sums the rows of each text.
func (t *trainer) pool(ctx context.Context) error {
	b, d := &t.batch, t.table.dim
	return parallel(ctx, t.o.Workers, chunks(b.texts()), func(c int) {
		from, to := chunk(c, b.texts())
		for i := from; i < to; i++ {
			sum := t.sum(i)
			clear(sum)
			for _, id := range b.text(i) {
				vek32.Add_Inplace(sum, t.table.row(int(id)))
			}
			t.part[0].inverse[i] = inverse(sum[:t.short])
			t.part[1].inverse[i] = inverse(sum[:d])
		}
	})
}

func (t *trainer) sum(i int) []float32 { return t.sums[i*t.table.dim : (i+1)*t.table.dim] }

func inverse(v []float32) float32 {
	n := vek32.Dot(v, v)
	if n < 1e-30 {
		return 0
	}
	return float32(1 / math.Sqrt(float64(n)))
}

// cosines computes both levels' cosines of all queries and passages, and of each
// query and its hard negative.
func (t *trainer) cosines(ctx context.Context) error {
	n := t.batch.n
	lo, hi := &t.part[0], &t.part[1]
	cosine := func(i, j int) (short, whole float32) {
		u, v := t.sum(i), t.sum(j)
		short = vek32.Dot(u[:t.short], v[:t.short])
		whole = short + vek32.Dot(u[t.short:], v[t.short:])
		return short * lo.inverse[i] * lo.inverse[j], whole * hi.inverse[i] * hi.inverse[j]
	}
	return parallel(ctx, t.o.Workers, chunks(n), func(c int) {
		from, to := chunk(c, n)
		for block := 0; block < n; block += 24 { // passages that stay in the first cache
			for i := from; i < to; i++ {
				for j := block; j < min(block+24, n); j++ {
					lo.cosine[i*n+j], hi.cosine[i*n+j] = cosine(i, n+j)
				}
			}
		}
		for i := from; i < to; i++ {
			if h := t.batch.hard[i]; h >= 0 {
				lo.hard[i], hi.hard[i] = cosine(i, int(h))
			}
		}
	})
}
