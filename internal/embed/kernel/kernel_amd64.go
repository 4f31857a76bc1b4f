package kernel

import "golang.org/x/sys/cpu"

// level is an instruction set for which there are kernels.
type level int

const (
	portable level = iota
	avx2           // with FMA
	avx512         // with VNNI
)

func (l level) String() string { return [...]string{"portable", "avx2", "avx512"}[l] }

// active is the highest level that the processor supports. Tests change it.
var active = func() level {
	switch x := cpu.X86; {
	case x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL && x.HasAVX512VNNI && x.HasAVX2 && x.HasFMA:
		return avx512
	case x.HasAVX2 && x.HasFMA:
		return avx2
	}
	return portable
}()

func maxRowsFloats() int { return [...]int{4, len(floats256), len(floats512)}[active] }
func maxRowsBytes() int  { return [...]int{4, len(bytes256), len(bytes512)}[active] }

func floats(rows, k int, a []float32, lda int, b, c []float32, ldc int, start []float32, lds int) {
	_, _, _, _ = a[(rows-1)*lda+k-1], b[k*Width-1], c[(rows-1)*ldc+Width-1], start[(rows-1)*lds+Width-1]
	switch active {
	case avx512:
		floats512[rows-1](k, &a[0], 4*lda, &b[0], &c[0], 4*ldc, &start[0], 4*lds)
	case avx2:
		for j := 0; j < Width; j += 16 {
			floats256[rows-1](k, &a[0], 4*lda, &b[j], &c[j], 4*ldc, &start[j], 4*lds)
		}
	default:
		floatsGo(rows, k, a, lda, b, c, ldc, start, lds)
	}
}

func multiplyBytes(rows, k int, a []uint8, b []int8, c []float32, ldc int, start []int32, scale, rowScale, bias []float32) {
	_, _, _ = a[rows*k-1], b[k*Width-1], c[(rows-1)*ldc+Width-1]
	_, _, _, _ = start[Width-1], scale[Width-1], rowScale[rows-1], bias[Width-1]
	switch active {
	case avx512:
		bytes512[rows-1](k, &a[0], k, &b[0], &c[0], 4*ldc, &start[0], &scale[0], &rowScale[0], &bias[0])
	case avx2:
		for j := 0; j < Width; j += 16 {
			bytes256[rows-1](k, &a[0], k, &b[4*j], &c[j], 4*ldc, &start[j], &scale[j], &rowScale[0], &bias[j])
		}
	default:
		bytesGo(rows, k, a, b, c, ldc, start, scale, rowScale, bias)
	}
}

func size(x []float32) float32 {
	if active == portable || len(x) == 0 {
		return sizeGo(x)
	}
	return size256(&x[0], len(x))
}

func quantize(dst []uint8, x []float32, factor float32) {
	if active == portable || len(x) == 0 {
		quantizeGo(dst, x, factor)
		return
	}
	quantize256(&x[0], len(x), &dst[:len(x)][0], factor)
}

func maximum(x []float32) float32 {
	if active == portable {
		return maximumGo(x)
	}
	return maximum256(&x[0], len(x))
}

func exponents(x []float32, scale, shift float32) float32 {
	if active == portable {
		return exponentsGo(x, scale, shift)
	}
	return exponents256(&x[0], len(x), scale, shift)
}

func gelu(x []float32) {
	if active == portable {
		geluGo(x)
		return
	}
	gelu256(&x[0], len(x))
}

func normalize(x, residual, gamma, beta []float32, epsilon float32) {
	if active == portable {
		normalizeGo(x, residual, gamma, beta, epsilon)
		return
	}
	normalize256(&x[0], len(x), &residual[0], &gamma[0], &beta[0], epsilon)
}

// In assembly: n is a positive multiple of 8, for quantize256 of 32.

//go:noescape
func maximum256(x *float32, n int) (max float32)

//go:noescape
func size256(x *float32, n int) (max float32)

//go:noescape
func exponents256(x *float32, n int, scale, shift float32) (sum float32)

//go:noescape
func gelu256(x *float32, n int)

//go:noescape
func normalize256(x *float32, n int, residual, gamma, beta *float32, epsilon float32)

//go:noescape
func quantize256(x *float32, n int, dst *uint8, factor float32)
