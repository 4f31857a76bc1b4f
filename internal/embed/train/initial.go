package train

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/viterin/vek/vek32"

	"github.com/kenlayer/ken/internal/analysis"
)

const (
	// common is the share of all tokens at which a token's weight is a half: SIF
	// weighting (Arora, Liang and Ma, 2017).
	common = 0.001
	// confident is the number of occurrences at which a token's own row counts as much
	// as the mean row of the words with its stem.
	confident = 30
	// noise is the length of the random part of each row of length 1.
	noise = 0.05
)

// initial returns the table with which training starts. Its rows are those of start, or
// if that is nil, tokens with the same neighbours have similar rows. Rows of rare words are mixed with those of words with the same stem, and
// frequent tokens have short rows.
func initial(ctx context.Context, c *corpus, tokens []string, start []float32, o *Options) (*rows, error) {
	t := newRows(len(tokens), o.Dim)
	frequencies := c.frequencies(len(tokens))
	if start != nil {
		t.values = start
	} else if m := ppmi(ctx, sequence(c, frequencies, o), len(tokens), o); ctx.Err() == nil {
		t.values = factor(ctx, m, o.Dim, o)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	smoothRows(t, tokens, frequencies, o.Seed)
	scale(t, frequencies)
	return t, nil
}

// smoothRows scales all rows to length 1 and mixes rows of rare words with the mean of the
// words with the same stem. A token with neither gets a random direction.
func smoothRows(t *rows, tokens []string, frequencies []int64, seed uint64) {
	own := make([]float32, len(tokens)) // how reliable a row is
	stems := make([]string, len(tokens))
	means := map[string][]float32{}
	term := make([]float32, t.dim)
	for i, w := range tokens {
		row := t.row(i)
		if n := vek32.Norm(row); n > 1e-6 {
			vek32.MulNumber_Inplace(row, 1/n)
			own[i] = float32(float64(frequencies[i]) / float64(frequencies[i]+confident))
		} else {
			clear(row)
		}
		stems[i] = w
		if len(w) > 3 && letters(w) {
			stems[i] = analysis.Stem(w)
		}
		if means[stems[i]] == nil {
			means[stems[i]] = make([]float32, t.dim)
		}
		vek32.MulNumber_Into(term, row, own[i])
		vek32.Add_Inplace(means[stems[i]], term)
	}
	for i, w := range tokens {
		row := t.row(i)
		vek32.MulNumber_Inplace(row, own[i])
		if mean := means[stems[i]]; vek32.Norm(mean) > 1e-6 {
			vek32.MulNumber_Into(term, mean, (1-own[i])/vek32.Norm(mean))
			vek32.Add_Inplace(row, term)
		}
		direction(term, w, seed)
		if vek32.Norm(row) > 1e-3 { // some noise: dimensions that are zero everywhere would stay zero
			vek32.MulNumber_Inplace(term, noise/float32(math.Sqrt(float64(t.dim))))
		}
		vek32.Add_Inplace(row, term)
	}
}

// direction fills dst with a random direction, determined by name and seed.
func direction(dst []float32, name string, seed uint64) {
	r := rand.New(rand.NewPCG(seed, hashText(name)))
	for i := range dst {
		dst[i] = float32(r.NormFloat64())
	}
}

// scale multiplies each row by its token's weight.
func scale(t *rows, frequencies []int64) {
	var all int64
	for _, f := range frequencies {
		all += f
	}
	for i, f := range frequencies {
		n := float64(vek32.Norm(t.row(i)))
		if n == 0 {
			continue
		}
		w := common / (common + float64(f)/math.Max(float64(all), 1))
		vek32.MulNumber_Inplace(t.row(i), float32(w/n))
	}
}

const (
	// window is the number of tokens on each side that count as neighbours.
	window = 6
	// maxNeighbours is the maximum number of tokens for the initial table; of a larger
	// corpus, every second, third … text is used.
	maxNeighbours = 24 << 20
	// frequent is the share of all tokens above which occurrences of a token are
	// randomly left out (Mikolov and others, 2013), so that neighbours are informative
	// words.
	frequent = 1e-4
	// minTogether is the minimum number of co-occurrences that count; fewer are chance.
	minTogether = 2
	// smoothing is the exponent of the context distribution (Levy, Goldberg and Dagan,
	// 2015).
	smoothing = 0.75
)

// sparse is a square matrix, row by row.
type sparse struct {
	starts []int64
	cols   []int32
	vals   []float32
}

// sequence returns the tokens in which neighbours are counted, with -1 between texts.
func sequence(c *corpus, frequencies []int64, o *Options) []int32 {
	all := float64(len(c.ids))
	often := max(frequent, 1/float64(len(frequencies))) // few tokens are all frequent
	keep := make([]float64, len(frequencies))
	for i, f := range frequencies {
		keep[i] = min(1, math.Sqrt(often*all/math.Max(float64(f), 1)))
	}
	r := draw(o.Seed, streamInitial)
	every := len(c.ids)/maxNeighbours + 1
	var seq []int32
	add := func(text []int32) {
		for _, id := range text {
			if keep[id] >= 1 || r.Float64() < keep[id] {
				seq = append(seq, id)
			}
		}
		seq = append(seq, -1)
	}
	last := uint64(0)
	for i := 0; i < c.len(); i += every {
		add(c.q(i))
		if h := c.passage[i]; h != last { // the same passage often occurs several times in a row
			add(c.p(i))
			last = h
		}
	}
	return seq
}

// neighbours calls f for each pair of neighbours for which wanted(a) is true.
func neighbours(seq []int32, wanted func(a int32) bool, f func(a, b int32)) {
	for i, a := range seq {
		if a < 0 || !wanted(a) {
			continue
		}
		for j := i - 1; j >= max(0, i-window) && seq[j] >= 0; j-- {
			f(a, seq[j])
		}
		for j := i + 1; j <= min(len(seq)-1, i+window) && seq[j] >= 0; j++ {
			f(a, seq[j])
		}
	}
}

// ppmi returns the positive pointwise mutual information of n tokens: the logarithm of
// how much more often two tokens are neighbours than by chance. It is symmetric.
func ppmi(ctx context.Context, seq []int32, n int, o *Options) *sparse {
	total := make([]float64, n)
	neighbours(seq, func(int32) bool { return true }, func(a, _ int32) { total[a]++ })
	all, smooth := 0.0, 0.0
	for _, f := range total {
		all += f
		smooth += math.Pow(f, smoothing)
	}
	logShare := make([]float64, n) // of the mean of both distributions
	for i, f := range total {
		logShare[i] = (math.Log(f/all) + math.Log(math.Pow(f, smoothing)/smooth)) / 2
	}
	const band = 1024 // rows that are counted at once, in a dense matrix
	bands := make([]sparse, (n+band-1)/band)
	parallel(ctx, o.Workers, len(bands), func(k int) {
		from, to := int32(k*band), int32(min((k+1)*band, n))
		count := make([]int32, int(to-from)*n)
		neighbours(seq, func(a int32) bool { return from <= a && a < to },
			func(a, b int32) { count[int(a-from)*n+int(b)]++ })
		var s sparse
		for a := from; a < to; a++ {
			for b, together := range count[int(a-from)*n : int(a-from+1)*n] {
				if together < minTogether {
					continue
				}
				if v := math.Log(float64(together)/all) - logShare[a] - logShare[b]; v > 0 {
					s.cols = append(s.cols, int32(b))
					s.vals = append(s.vals, float32(v))
				}
			}
			s.starts = append(s.starts, int64(len(s.cols)))
		}
		bands[k] = s
	})
	m := &sparse{starts: []int64{0}}
	for _, s := range bands {
		base := int64(len(m.cols))
		for _, end := range s.starts {
			m.starts = append(m.starts, base+end)
		}
		m.cols = append(m.cols, s.cols...)
		m.vals = append(m.vals, s.vals...)
	}
	return m
}

const (
	spare      = 16 // extra directions, which make the others converge faster
	iterations = 5
)

// factor returns n rows of dim numbers whose products approximate the symmetric
// matrix m: its strongest eigenvectors times the roots of their eigenvalues, by
// subspace iteration (Halko, Martinsson and Tropp, 2011). The strongest come first.
func factor(ctx context.Context, m *sparse, dim int, o *Options) []float32 {
	n := len(m.starts) - 1
	k := min(dim+spare, n)
	q, y, t := make([]float32, n*k), make([]float32, n*k), make([]float32, n*k)
	r := draw(o.Seed, streamInitial+1<<8)
	for i := range q {
		q[i] = float32(r.NormFloat64())
	}
	for i := range iterations {
		m.times(ctx, y, q, k, o)
		transpose(ctx, o.Workers, t, y, n, k)
		orthonormal(ctx, t, n, k, o)
		transpose(ctx, o.Workers, q, t, k, n)
		if ctx.Err() != nil {
			return nil
		}
		report(o.Progress, Progress{Stage: "initial table", Done: i + 1, Total: iterations + 1})
	}
	// The matrix within the subspace is small: m ≈ Q small Qᵀ.
	m.times(ctx, y, q, k, o)
	yt := make([]float32, n*k)
	transpose(ctx, o.Workers, yt, y, n, k)
	small := make([]float64, k*k)
	parallel(ctx, o.Workers, k, func(a int) {
		for b := range k {
			small[a*k+b] = float64(vek32.Dot(t[a*n:(a+1)*n], yt[b*n:(b+1)*n]))
		}
	})
	if ctx.Err() != nil {
		return nil
	}
	values, vectors := eigen(small, k)
	rows := make([]float32, n*dim)
	parallel(ctx, o.Workers, chunks(n), func(c int) {
		from, to := chunk(c, n)
		for i := from; i < to; i++ {
			for j := range min(dim, k) {
				root := float32(math.Sqrt(math.Abs(values[j])))
				rows[i*dim+j] = root * vek32.Dot(q[i*k:(i+1)*k], vectors[j*k:(j+1)*k])
			}
		}
	})
	report(o.Progress, Progress{Stage: "initial table", Done: iterations + 1, Total: iterations + 1})
	return rows
}

// times computes y = m q for a matrix q with k columns.
func (m *sparse) times(ctx context.Context, y, q []float32, k int, o *Options) {
	n := len(m.starts) - 1
	parallel(ctx, o.Workers, chunks(n), func(c int) {
		from, to := chunk(c, n)
		term := make([]float32, k)
		for i := from; i < to; i++ {
			sum := y[i*k : (i+1)*k]
			clear(sum)
			for e := m.starts[i]; e < m.starts[i+1]; e++ {
				col := int(m.cols[e])
				vek32.MulNumber_Into(term, q[col*k:(col+1)*k], m.vals[e])
				vek32.Add_Inplace(sum, term)
			}
		}
	})
}

// orthonormal makes the k rows of t, n numbers each, orthogonal and of length 1, with
// modified Gram-Schmidt.
func orthonormal(ctx context.Context, t []float32, n, k int, o *Options) {
	for j := range k {
		v := t[j*n : (j+1)*n]
		if l := vek32.Norm(v); l > 1e-12 {
			vek32.MulNumber_Inplace(v, 1/l)
		} else {
			clear(v) // the matrix has a lower rank
		}
		const together = 8
		later := k - j - 1
		parallel(ctx, o.Workers, (later+together-1)/together, func(c int) {
			term := make([]float32, n)
			for i := j + 1 + c*together; i < min(j+1+(c+1)*together, k); i++ {
				w := t[i*n : (i+1)*n]
				vek32.MulNumber_Into(term, v, vek32.Dot(v, w))
				vek32.Sub_Inplace(w, term)
			}
		})
	}
}

// eigen returns the eigenvalues of a symmetric k x k matrix, the largest absolute value
// first, and the eigenvectors as rows. It uses Jacobi's method and overwrites a.
func eigen(a []float64, k int) (values []float64, vectors []float32) {
	v := make([]float64, k*k) // eigenvectors as rows
	for i := range k {
		v[i*k+i] = 1
		for j := range i { // rounding made it slightly asymmetric
			mean := (a[i*k+j] + a[j*k+i]) / 2
			a[i*k+j], a[j*k+i] = mean, mean
		}
	}
	for range 12 {
		off := 0.0
		for i := range k {
			for j := range i {
				off += a[i*k+j] * a[i*k+j]
			}
		}
		if off < 1e-12 {
			break
		}
		for p := range k {
			for q := p + 1; q < k; q++ {
				rotate(a, v, k, p, q)
			}
		}
	}
	order := make([]int, k)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(math.Abs(a[y*k+y]), math.Abs(a[x*k+x])) })
	for _, i := range order {
		values = append(values, a[i*k+i])
		for _, x := range v[i*k : (i+1)*k] {
			vectors = append(vectors, float32(x))
		}
	}
	return values, vectors
}

// rotate applies a rotation that makes a[p][q] zero.
func rotate(a, v []float64, k, p, q int) {
	if math.Abs(a[p*k+q]) < 1e-15 {
		return
	}
	theta := (a[q*k+q] - a[p*k+p]) / (2 * a[p*k+q])
	t := 1 / (math.Abs(theta) + math.Sqrt(theta*theta+1))
	if theta < 0 {
		t = -t
	}
	c := 1 / math.Sqrt(t*t+1)
	s := t * c
	ap, aq := a[p*k:(p+1)*k], a[q*k:(q+1)*k]
	for i := range k {
		ap[i], aq[i] = c*ap[i]-s*aq[i], s*ap[i]+c*aq[i]
	}
	for i := range k {
		row := a[i*k : (i+1)*k]
		row[p], row[q] = c*row[p]-s*row[q], s*row[p]+c*row[q]
	}
	vp, vq := v[p*k:(p+1)*k], v[q*k:(q+1)*k]
	for i := range k {
		vp[i], vq[i] = c*vp[i]-s*vq[i], s*vp[i]+c*vq[i]
	}
}
