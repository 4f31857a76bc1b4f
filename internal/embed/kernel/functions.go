package kernel

import "math"

// The lengths of the slices below must be a multiple of 8.

// Softmax replaces each number of x by exp(scale*x), divided by the sum of these.
func Softmax(x []float32, scale float32) {
	shift := maximum(x) * scale
	factor := 1 / exponents(x, scale, shift)
	for i := range x {
		x[i] *= factor
	}
}

// GELU replaces every number x by x/2 (1 + erf(x/√2)). The error of erf is at most 1.5e-7.
func GELU(x []float32) { gelu(x) }

// Normalize replaces x by x + residual, shifted and scaled to a mean of 0 and a variance of 1,
// times gamma, plus beta. epsilon is added to the variance.
func Normalize(x, residual, gamma, beta []float32, epsilon float32) {
	n := len(x)
	normalize(x, residual[:n], gamma[:n], beta[:n], epsilon)
}

func maximumGo(x []float32) float32 {
	largest := x[0]
	for _, v := range x {
		largest = max(largest, v)
	}
	return largest
}

func exponentsGo(x []float32, scale, shift float32) float32 {
	sum := float32(0)
	for i, v := range x {
		x[i] = float32(math.Exp(float64(v*scale - shift)))
		sum += x[i]
	}
	return sum
}

func geluGo(x []float32) {
	for i, v := range x {
		x[i] = float32(float64(v) / 2 * (1 + math.Erf(float64(v)/math.Sqrt2)))
	}
}

func normalizeGo(x, residual, gamma, beta []float32, epsilon float32) {
	sum := float32(0)
	for i := range x {
		x[i] += residual[i]
		sum += x[i]
	}
	mean, squares := sum/float32(len(x)), float32(0)
	for i := range x {
		x[i] -= mean
		squares += x[i] * x[i]
	}
	factor := 1 / float32(math.Sqrt(float64(squares/float32(len(x))+epsilon)))
	for i := range x {
		x[i] = x[i]*factor*gamma[i] + beta[i]
	}
}
