package kernel

import "math"

// maxWeight is the maximum absolute value of a quantised weight. With values of 0 to 255 on the
// left side, the sum of two products then fits in 16 bits, which AVX2 needs. All processors
// compute the same, so that vectors can be compared.
const maxWeight = 64

// middle represents zero in the left matrix.
const middle = 128

// Bytes is a matrix of 8-bit numbers with a scale for each column, packed for the right side of
// a product.
type Bytes struct {
	rows, columns int // columns padded
	data          []int8
	start         []int32   // by column: the correction for middle
	scale         []float32 // by column
}

// PackBytes quantises and packs the transpose of w, which has out rows of in numbers. in must be
// a multiple of 32.
func PackBytes(w []float32, out, in int) *Bytes {
	m := &Bytes{rows: in, columns: Padded(out)}
	m.data = make([]int8, in*m.columns)
	m.start, m.scale = make([]int32, m.columns), make([]float32, m.columns)
	for o := range out {
		column := w[o*in:][:in]
		largest := float32(0)
		for _, x := range column {
			largest = max(largest, x, -x)
		}
		if largest == 0 {
			continue
		}
		m.scale[o] = largest / maxWeight
		panel := m.data[o/Width*Width*in:][:in*Width]
		for i, x := range column {
			q := int8(math.RoundToEven(float64(x / m.scale[o])))
			panel[i/4*4*Width+o%Width*4+i%4] = q
			m.start[o] -= middle * int32(q)
		}
	}
	return m
}

// Bytes returns the memory size of the matrix.
func (m *Bytes) Bytes() int { return len(m.data) + 4*len(m.start) + 4*len(m.scale) }

// Left is the left side of a product in 8 bits: numbers from 0 to 255, with 128 for zero, and a
// scale for each row.
type Left struct {
	columns int
	data    []uint8
	scale   []float32
}

// Quantize sets l to the n consecutive rows of x, with the given number of columns, which must
// be a multiple of 32. It reuses l's memory.
func (l *Left) Quantize(x []float32, n, columns int) {
	l.columns = columns
	if cap(l.data) < n*columns {
		l.data = make([]uint8, n*columns)
	}
	if cap(l.scale) < n {
		l.scale = make([]float32, n)
	}
	l.data, l.scale = l.data[:n*columns], l.scale[:n]
	for i := range n {
		row := x[i*columns:][:columns]
		largest := size(row)
		factor := float32(0)
		if largest > 0 {
			factor = 127 / largest
		}
		l.scale[i] = largest / 127
		quantize(l.data[i*columns:][:columns], row, factor)
	}
}

// Multiply sets the rows of c, which start every ldc numbers, to l times m plus bias. c and bias
// have as many columns as m, padded.
func (m *Bytes) Multiply(c []float32, ldc int, l *Left, bias []float32) {
	n := len(l.scale)
	if n == 0 || m.columns == 0 {
		return
	}
	if l.columns != m.rows {
		panic("kernel: a product of matrices that don't fit")
	}
	_ = c[(n-1)*ldc+m.columns-1]
	_ = bias[m.columns-1]
	for j := 0; j < m.columns; j += Width {
		b := m.data[j*m.rows:][:m.rows*Width]
		eachBlock(n, maxRowsBytes(), func(row, rows int) {
			multiplyBytes(rows, m.rows, l.data[row*m.rows:], b, c[row*ldc+j:], ldc, m.start[j:][:Width], m.scale[j:][:Width], l.scale[row:], bias[j:])
		})
	}
}

func bytesGo(rows, k int, a []uint8, b []int8, c []float32, ldc int, start []int32, scale, rowScale, bias []float32) {
	for r := range rows {
		left := a[r*k:][:k]
		for j := range Width {
			sum := start[j]
			for i := 0; i < k; i += 4 {
				x, y := left[i:][:4:4], b[i*Width+4*j:][:4:4]
				sum += int32(x[0])*int32(y[0]) + int32(x[1])*int32(y[1]) + int32(x[2])*int32(y[2]) + int32(x[3])*int32(y[3])
			}
			c[r*ldc+j] = float32(sum)*(scale[j]*rowScale[r]) + bias[j]
		}
	}
}

func sizeGo(x []float32) float32 {
	largest := float32(0)
	for _, v := range x {
		largest = max(largest, v, -v)
	}
	return largest
}

func quantizeGo(dst []uint8, x []float32, factor float32) {
	for i, v := range x {
		dst[i] = uint8(int(math.RoundToEven(float64(v*factor))) + middle)
	}
}
