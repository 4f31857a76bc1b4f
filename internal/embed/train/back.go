package train

import (
	"context"

	"github.com/viterin/vek/vek32"
)

// back carries the gradients by the cosines over to the texts' sums. With the
// cosine s of u and v, ds/du = v/(|u||v|) - s u/|u|².
func (t *trainer) back(ctx context.Context) error {
	n, d := t.batch.n, t.table.dim
	if err := t.coefficients(ctx); err != nil {
		return err
	}
	passagesT, queriesT := t.sumsT[:n*d], t.sumsT[n*d:]
	if err := transpose(ctx, t.o.Workers, passagesT, t.sums[n*d:2*n*d], n, d); err != nil {
		return err
	}
	if err := transpose(ctx, t.o.Workers, queriesT, t.sums[:n*d], n, d); err != nil {
		return err
	}
	for _, s := range []struct {
		by       []float32
		from, to int // dimensions
	}{{t.low, 0, t.short}, {t.part[1].prob, t.short, d}} {
		if err := t.multiply(ctx, 0, s.by, passagesT, s.from, s.to); err != nil {
			return err
		}
		if err := transpose(ctx, t.o.Workers, t.turn, s.by, n, n); err != nil {
			return err
		}
		if err := t.multiply(ctx, n, t.turn, queriesT, s.from, s.to); err != nil {
			return err
		}
	}
	t.hardNegatives()
	return t.project(ctx)
}

// coefficients makes what each query's sum is to be multiplied with for each
// passage's gradient, and the other way round: part[1].prob for the dimensions from
// short on, low for those below, which belong to both levels.
func (t *trainer) coefficients(ctx context.Context) error {
	n := t.batch.n
	lo, hi := &t.part[0], &t.part[1]
	t.low, t.turn = grow(t.low, n*n), grow(t.turn, n*n)
	return parallel(ctx, t.o.Workers, chunks(n), func(c int) {
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

// multiply sets the dimensions from … to of the gradients of n texts, the first one
// given, to coefficients times vectors; vectorsT holds one dimension of them a row.
func (t *trainer) multiply(ctx context.Context, first int, by, vectorsT []float32, from, to int) error {
	n, d := t.batch.n, t.table.dim
	return parallel(ctx, t.o.Workers, chunks(n), func(k int) {
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

// hardNegatives adds what they and their queries owe each other.
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

// project takes the part along each sum out of its gradient.
func (t *trainer) project(ctx context.Context) error {
	d := t.table.dim
	lo, hi := &t.part[0], &t.part[1]
	texts := t.batch.texts()
	return parallel(ctx, t.o.Workers, chunks(texts), func(c int) {
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

// transpose writes the n x m matrix src as m x n into dst.
func transpose(ctx context.Context, workers int, dst, src []float32, n, m int) error {
	return parallel(ctx, workers, (m+31)/32, func(c int) {
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
