package train

import (
	"context"
	"math"
	"sync"
	"sync/atomic"

	"github.com/viterin/vek/vek32"
)

// back computes the gradients of the texts' sums from those of the cosines. With the
// cosine s of u and v, ds/du = v/(|u||v|) - s u/|u|².
func (t *trainer) back(ctx context.Context) {
	n, d := t.batch.n, t.table.dim
	t.coefficients(ctx)
	passagesT, queriesT := t.sumsT[:n*d], t.sumsT[n*d:]
	transpose(ctx, t.o.Workers, passagesT, t.sums[n*d:2*n*d], n, d)
	transpose(ctx, t.o.Workers, queriesT, t.sums[:n*d], n, d)
	for _, s := range []struct {
		by       []float32
		from, to int // dimensions
	}{{t.low, 0, t.short}, {t.part[1].prob, t.short, d}} {
		t.multiply(ctx, 0, s.by, passagesT, s.from, s.to)
		transpose(ctx, t.o.Workers, t.turn, s.by, n, n)
		t.multiply(ctx, n, t.turn, queriesT, s.from, s.to)
	}
	t.hardNegatives()
	t.project(ctx)
}

// coefficients computes the factors by which each query's sum is multiplied for each
// passage's gradient, and vice versa: part[1].prob for the dimensions from short on,
// low for those below, which belong to both levels.
func (t *trainer) coefficients(ctx context.Context) {
	n := t.batch.n
	lo, hi := &t.part[0], &t.part[1]
	t.low, t.turn = grow(t.low, n*n), grow(t.turn, n*n)
	parallel(ctx, t.o.Workers, chunks(n), func(c int) {
		from, to := chunk(c, n)
		for i := from; i < to; i++ {
			g, low := hi.prob[i*n:(i+1)*n], t.low[i*n:(i+1)*n]
			vek32.Mul_Inplace(g, hi.inverse[n:2*n])
			vek32.MulNumber_Inplace(g, hi.inverse[i])
			vek32.Mul_Into(low, lo.prob[i*n:(i+1)*n], lo.inverse[n:2*n])
			vek32.MulNumber_Inplace(low, lo.inverse[i])
			vek32.Add_Inplace(low, g)
		}
	})
}

// multiply sets dimensions from … to of the gradients of n texts, starting with text
// first, to by times the vectors. vectorsT holds one dimension of them per row.
func (t *trainer) multiply(ctx context.Context, first int, by, vectorsT []float32, from, to int) {
	n, d := t.batch.n, t.table.dim
	parallel(ctx, t.o.Workers, chunks(n), func(k int) {
		a, z := chunk(k, n)
		for block := from; block < to; block += 16 { // dimensions that stay in the cache
			for i := a; i < z; i++ {
				g := t.grad[(first+i)*d:]
				for x := block; x < min(block+16, to); x++ {
					g[x] = vek32.Dot(by[i*n:(i+1)*n], vectorsT[x*n:(x+1)*n])
				}
			}
		}
	})
}

// hardNegatives adds the gradients between hard negatives and their queries.
func (t *trainer) hardNegatives() {
	d := t.table.dim
	lo, hi := &t.part[0], &t.part[1]
	term := make([]float32, d)
	for i, h := range t.batch.hard {
		if h < 0 {
			continue
		}
		h := int(h)
		whole := hi.hardBy[i] * hi.inverse[i] * hi.inverse[h]
		low := whole + lo.hardBy[i]*lo.inverse[i]*lo.inverse[h]
		times := func(v []float32) {
			vek32.MulNumber_Into(term[:t.short], v[:t.short], low)
			vek32.MulNumber_Into(term[t.short:], v[t.short:], whole)
		}
		times(t.sum(h))
		vek32.Add_Inplace(t.grad[i*d:(i+1)*d], term)
		times(t.sum(i))
		copy(t.grad[h*d:(h+1)*d], term)
	}
}

// project removes the component along each sum from its gradient.
func (t *trainer) project(ctx context.Context) {
	d := t.table.dim
	lo, hi := &t.part[0], &t.part[1]
	texts := t.batch.texts()
	parallel(ctx, t.o.Workers, chunks(texts), func(c int) {
		from, to := chunk(c, texts)
		along := make([]float32, d)
		for i := from; i < to; i++ {
			u, g := t.sum(i), t.grad[i*d:(i+1)*d]
			vek32.MulNumber_Into(along, u, hi.alpha[i]*hi.inverse[i]*hi.inverse[i])
			vek32.Sub_Inplace(g, along)
			vek32.MulNumber_Into(along[:t.short], u[:t.short], lo.alpha[i]*lo.inverse[i]*lo.inverse[i])
			vek32.Sub_Inplace(g[:t.short], along[:t.short])
		}
	})
}

// transpose writes the n x m matrix src transposed into dst.
func transpose(ctx context.Context, workers int, dst, src []float32, n, m int) {
	parallel(ctx, workers, (m+31)/32, func(c int) {
		from, to := c*32, min(c*32+32, m)
		for block := 0; block < n; block += 32 {
			for j := from; j < to; j++ {
				out := dst[j*n : (j+1)*n]
				for i := block; i < min(block+32, n); i++ {
					out[i] = src[i*m+j]
				}
			}
		}
	})
}

// softmax computes a level's loss and its gradient by each cosine, in l.prob and
// l.hardBy. Each query must find its passage among all passages and its hard negative,
// and each passage its query among all queries (InfoNCE, both ways). A passage that
// also answers the query, because it has the same text or belongs to the same query, is
// left out.
func (t *trainer) softmax(ctx context.Context, l *level) float64 {
	b, n := &t.batch, t.batch.n
	sharp := float32(1 / t.o.Temperature)
	parallel(ctx, t.o.Workers, chunks(n), func(c int) {
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
	})
	clear(l.colSum)
	for i := range n {
		vek32.Add_Inplace(l.colSum, l.prob[i*n:(i+1)*n])
	}
	loss := 0.0
	for i := range n {
		own := float64(l.prob[i*n+i])
		loss -= (math.Log(own/float64(l.rowSum[i])) + math.Log(own/float64(l.colSum[i]))) / float64(2*n)
	}
	t.byCosine(ctx, l)
	return float64(l.weight) * loss
}

// byCosine converts the exponentials and their sums to gradients, and computes l.alpha.
func (t *trainer) byCosine(ctx context.Context, l *level) {
	b, n := &t.batch, t.batch.n
	half := l.weight / float32(t.o.Temperature) / float32(2*n)
	for j := range l.colSum {
		l.colSum[j] = half / l.colSum[j]
	}
	clear(l.alpha)
	partial := make([]float32, chunks(n)*n) // what each chunk of queries adds to the passages' alpha
	parallel(ctx, t.o.Workers, chunks(n), func(c int) {
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
}

// Adam's constants, as Kingma and Ba propose them, except for a shorter second moment,
// because most rows are updated rarely.
const (
	beta1 = 0.9
	beta2 = 0.99
)

// rows is a table of float rows with its optimiser state: Adam with one second moment
// per row. Only the rows of a step's texts are updated.
type rows struct {
	dim    int
	values []float32
	moment []float32
	square []float32 // one per row
	seen   []int32   // number of steps of each row
}

func newRows(n, dim int) *rows {
	return &rows{dim: dim, values: make([]float32, n*dim), moment: make([]float32, n*dim),
		square: make([]float32, n), seen: make([]int32, n)}
}

func (t *rows) len() int { return len(t.square) }

// restart forgets the state of the optimiser.
func (t *rows) restart() {
	clear(t.moment)
	clear(t.square)
	clear(t.seen)
}

func (t *rows) row(i int) []float32 { return t.values[i*t.dim : (i+1)*t.dim] }

// update moves the rows of the step's tokens against their gradient.
func (t *rows) update(ctx context.Context, tr *trainer, rate float32) {
	u := &tr.users
	const together = 64
	pieces := (len(u.tokens) + together - 1) / together
	parallel(ctx, tr.o.Workers, pieces, func(c int) {
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

// move applies Adam's step to one row. It overwrites g.
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

// users lists the texts that contain each token of a batch.
type users struct {
	tokens []int32 // those of the batch, in the order of first use
	starts []int32 // where each token's texts begin in texts, and the end
	texts  []int32
	place  []int32 // of each token of the vocabulary in tokens, + 1
}

func (u *users) of(k int) []int32 { return u.texts[u.starts[k]:u.starts[k+1]] }

// collect indexes a batch. A token that occurs twice in a text lists the text twice.
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
	for i := len(b.ends) - 1; i >= 0; i-- { // backwards, so that texts are in order
		text := b.text(i)
		for j := len(text) - 1; j >= 0; j-- {
			k := u.place[text[j]]
			u.starts[k]--
			u.texts[u.starts[k]] = int32(i)
		}
	}
	// starts[k] is now the start of token k-1's texts, so shift it.
	copy(u.starts, u.starts[1:])
	u.starts[len(u.starts)-1] = int32(len(b.ids))
	for _, id := range u.tokens {
		u.place[id] = 0
	}
}

const (
	// dropPassage is the probability that a token of a passage is left out in a step,
	// so that a match depends on many words.
	dropPassage = 0.15
	// sampled is the share of queries that are replaced by some words of their passage,
	// like queries of users who remember some words.
	sampled = 0.05
)

// batch holds the texts of a step: n queries, then n passages in the same order, then
// the hard negatives of some queries.
type batch struct {
	n       int
	ids     []int32  // tokens of all texts
	ends    []int32  // where each text ends
	query   []uint64 // hash of each query
	passage []uint64 // hash of each passage
	hard    []int32  // the number of each query's hard negative among the texts, or -1
}

func (b *batch) texts() int { return len(b.ends) }

func (b *batch) text(i int) []int32 {
	from := int32(0)
	if i > 0 {
		from = b.ends[i-1]
	}
	return b.ids[from:b.ends[i]]
}

// fill selects the texts of a step.
func (b *batch) fill(c *corpus, pairs []int32, hard [][]int32, step uint64, o *Options) {
	r := draw(o.Seed, streamStep+step)
	b.ids, b.ends = b.ids[:0], b.ends[:0]
	b.query, b.passage, b.hard = b.query[:0], b.passage[:0], b.hard[:0]
	b.n = len(pairs)
	for _, i := range pairs {
		b.query = append(b.query, c.query[i])
		b.passage = append(b.passage, c.passage[i])
		if p := c.p(int(i)); r.Float64() < sampled && len(p) >= 8 {
			for range 3 + r.IntN(5) {
				b.ids = append(b.ids, p[r.IntN(len(p))])
			}
		} else {
			b.ids = append(b.ids, c.q(int(i))...)
		}
		b.ends = append(b.ends, int32(len(b.ids)))
	}
	add := func(i int32) {
		start := len(b.ids)
		for _, id := range c.p(int(i)) {
			if r.Float64() >= dropPassage {
				b.ids = append(b.ids, id)
			}
		}
		if len(b.ids) == start {
			b.ids = append(b.ids, c.p(int(i))[0])
		}
		b.ends = append(b.ends, int32(len(b.ids)))
	}
	for _, i := range pairs {
		add(i)
	}
	for _, i := range pairs {
		if len(hard) == 0 || len(hard[i]) == 0 {
			b.hard = append(b.hard, -1)
			continue
		}
		b.hard = append(b.hard, int32(len(b.ends)))
		add(hard[i][r.IntN(len(hard[i]))])
	}
}

// parallel calls f(0) … f(n-1), each once, from several goroutines until ctx ends. The
// calls must be independent, so that the number of workers doesn't affect the result.
// Before a caller uses the result, it checks that ctx has not ended.
func parallel(ctx context.Context, workers, n int, f func(i int)) {
	var next atomic.Int64
	work := func() {
		for ctx.Err() == nil {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			f(i)
		}
	}
	var wg sync.WaitGroup
	for range min(workers, n) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
}
