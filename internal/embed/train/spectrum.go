package train

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/viterin/vek/vek32"
)

const (
	spare      = 16 // directions beyond those wanted, which makes the others exact sooner
	iterations = 5
)

// factor returns n rows of dim numbers whose products approximate the symmetric
// matrix m: its strongest eigenvectors times the roots of their eigenvalues, by
// subspace iteration (Halko, Martinsson and Tropp, 2011). The strongest come first.
func factor(ctx context.Context, m *sparse, dim int, o *Options) ([]float32, error) {
	n := len(m.starts) - 1
	k := min(dim+spare, n)
	q, y, t := make([]float32, n*k), make([]float32, n*k), make([]float32, n*k)
	r := draw(o.Seed, streamInitial+1<<8)
	for i := range q {
		q[i] = float32(r.NormFloat64())
	}
	for i := range iterations {
		if err := m.times(ctx, y, q, k, o); err != nil {
			return nil, err
		}
		if err := transpose(ctx, o.Workers, t, y, n, k); err != nil {
			return nil, err
		}
		if err := orthonormal(ctx, t, n, k, o); err != nil {
			return nil, err
		}
		if err := transpose(ctx, o.Workers, q, t, k, n); err != nil {
			return nil, err
		}
		report(o.Progress, Progress{Stage: "initial table", Done: i + 1, Total: iterations + 1})
	}
	// The matrix within the subspace is small: m ≈ Q small Qᵀ.
	if err := m.times(ctx, y, q, k, o); err != nil {
		return nil, err
	}
	yt := make([]float32, n*k)
	if err := transpose(ctx, o.Workers, yt, y, n, k); err != nil {
		return nil, err
	}
	small := make([]float64, k*k)
	if err := parallel(ctx, o.Workers, k, func(a int) {
		for b := range k {
			small[a*k+b] = float64(vek32.Dot(t[a*n:(a+1)*n], yt[b*n:(b+1)*n]))
		}
	}); err != nil {
		return nil, err
	}
	values, vectors := eigen(small, k)
	rows := make([]float32, n*dim)
	err := parallel(ctx, o.Workers, chunks(n), func(c int) {
		from, to := chunk(c, n)
		for i := from; i < to; i++ {
			for j := range min(dim, k) {
				root := float32(math.Sqrt(math.Abs(values[j])))
				rows[i*dim+j] = root * vek32.Dot(q[i*k:(i+1)*k], vectors[j*k:(j+1)*k])
			}
		}
	})
	report(o.Progress, Progress{Stage: "initial table", Done: iterations + 1, Total: iterations + 1})
	return rows, err
}

// times computes y = m q for a matrix q of k columns.
func (m *sparse) times(ctx context.Context, y, q []float32, k int, o *Options) error {
	n := len(m.starts) - 1
	return parallel(ctx, o.Workers, chunks(n), func(c int) {
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

// orthonormal makes the k rows of t, n numbers each, orthogonal and of length 1:
// Gram and Schmidt, modified.
func orthonormal(ctx context.Context, t []float32, n, k int, o *Options) error {
	for j := range k {
		v := t[j*n : (j+1)*n]
		if l := vek32.Norm(v); l > 1e-12 {
			vek32.MulNumber_Inplace(v, 1/l)
		} else {
			clear(v) // the matrix has a lower rank
		}
		const together = 8
		later := k - j - 1
		if err := parallel(ctx, o.Workers, (later+together-1)/together, func(c int) {
			term := make([]float32, n)
			for i := j + 1 + c*together; i < min(j+1+(c+1)*together, k); i++ {
				w := t[i*n : (i+1)*n]
				vek32.MulNumber_Into(term, v, vek32.Dot(v, w))
				vek32.Sub_Inplace(w, term)
			}
		}); err != nil {
			return err
		}
	}
	return nil
}

// eigen returns the eigenvalues of a symmetric k x k matrix, the largest by amount
// first, and their eigenvectors as rows: Jacobi's method, which uses a up.
func eigen(a []float64, k int) (values []float64, vectors []float32) {
	v := make([]float64, k*k) // eigenvectors as rows
	for i := range k {
		v[i*k+i] = 1
		for j := range i { // rounding has made it a little asymmetric
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

// rotate makes a[p][q] zero.
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
