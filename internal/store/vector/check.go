package vector

import (
	"fmt"
	"math"

	"github.com/viterin/vek/vek32"

	"github.com/kenlayer/ken"
)

// maxDim is what a file's header and a distance in bits have room for.
const maxDim = 1<<16 - 1

// unitTolerance is how far a squared length may be from 1: float32 rounding over
// some thousand dimensions, with room to spare.
const unitTolerance = 2e-3

// check reports a vector that can't be compared by dot product: of another
// dimension, not of unit length, or with numbers that are none.
func check(vec []float32, dim int) error {
	if len(vec) != dim {
		return &ken.Error{Code: ken.CodeInvalid, Field: "vector", Msg: fmt.Sprintf("%d dimensions instead of %d", len(vec), dim),
			Try: "Use the model that the other vectors came from."}
	}
	if l := float64(vek32.Dot(vec, vec)); !(math.Abs(l-1) <= unitTolerance) { // NaN fails too
		return &ken.Error{Code: ken.CodeInvalid, Field: "vector", Msg: fmt.Sprintf("length %.4g instead of 1", math.Sqrt(l)),
			Try: "Scale the vector to unit length."}
	}
	return nil
}
