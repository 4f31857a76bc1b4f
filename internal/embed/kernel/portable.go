//go:build !amd64

package kernel

func maxRowsFloats() int { return 4 }
func maxRowsBytes() int  { return 4 }

func floats(rows, k int, a []float32, lda int, b, c []float32, ldc int, start []float32, lds int) {
	floatsGo(rows, k, a, lda, b, c, ldc, start, lds)
}

func multiplyBytes(rows, k int, a []uint8, b []int8, c []float32, ldc int, start []int32, scale, rowScale, bias []float32) {
	bytesGo(rows, k, a, b, c, ldc, start, scale, rowScale, bias)
}

func size(x []float32) float32                            { return sizeGo(x) }
func quantize(dst []uint8, x []float32, factor float32)   { quantizeGo(dst, x, factor) }
func maximum(x []float32) float32                         { return maximumGo(x) }
func exponents(x []float32, scale, shift float32) float32 { return exponentsGo(x, scale, shift) }
func gelu(x []float32)                                    { geluGo(x) }
func normalize(x, residual, gamma, beta []float32, e float32) {
	normalizeGo(x, residual, gamma, beta, e)
}
