package embed

import (
	"fmt"
	"math"

	"github.com/kenlayer/ken"
)

// unitTolerance is how far a vector's length may be from 1: float32 rounding over
// some thousand dimensions, with room to spare.
const unitTolerance = 1e-3

// Unit scales v to length 1, in place. A vector without a direction (all zero,
// NaN or infinite numbers) is an error of code unavailable.
func Unit(v []float32) error {
	n := norm(v)
	switch {
	case len(v) == 0:
		return broken("it has no dimensions")
	case math.IsNaN(n) || math.IsInf(n, 0):
		return broken("it holds NaN or an infinite number")
	case n == 0:
		return broken("it is all zeros")
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / n)
	}
	return nil
}

// Check reports what is wrong with an embedder's answer for n texts: the count,
// a dimension other than dim (0: other than the first vector's), numbers that are
// no numbers, a length other than 1. A nil vector is right: see [Embedder].
func Check(vectors [][]float32, n, dim int) error {
	if len(vectors) != n {
		return &ken.Error{Code: ken.CodeUnavailable, Msg: fmt.Sprintf("the embedder answered %d vectors for %d texts", len(vectors), n)}
	}
	for i, v := range vectors {
		if v == nil {
			continue
		}
		if dim == 0 {
			dim = len(v)
		}
		l := norm(v)
		switch {
		case len(v) != dim || dim == 0:
			return broken(fmt.Sprintf("vector %d has %d dimensions instead of %d", i, len(v), dim))
		case math.IsNaN(l) || math.IsInf(l, 0):
			return broken(fmt.Sprintf("vector %d holds NaN or an infinite number", i))
		case math.Abs(l-1) > unitTolerance:
			return broken(fmt.Sprintf("vector %d has length %.3g instead of 1", i, l))
		}
	}
	return nil
}

func broken(detail string) error {
	return &ken.Error{
		Code: ken.CodeUnavailable,
		Msg:  "the embedder answered an unusable vector: " + detail,
		Try:  "Try the model by hand with a short text; ken doctor shows what it answers.",
	}
}

// norm adds in float64: the squares of some models' raw vectors overflow float32.
func norm(v []float32) float64 {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum)
}
