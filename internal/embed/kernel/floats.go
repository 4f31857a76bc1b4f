package kernel

// Width divides the number of columns of every packed matrix.
const Width = 32

// depth is the number of rows of a packed matrix that are multiplied at once. With 12 rows of the left
// side and 32 columns, they fit into the first two caches.
const depth = 384

// Padded returns n rounded up to a multiple of Width.
func Padded(n int) int { return (n + Width - 1) / Width * Width }

// Floats is a matrix of float32 numbers, packed for the right side of a product.
type Floats struct {
	rows, columns int       // columns padded
	data          []float32 // by panel of 32 columns, by row
}

// Pack packs the transpose of w, which has out rows of in numbers, the layout of a linear layer. in
// must be a multiple of 4.
func Pack(w []float32, out, in int) *Floats {
	m := &Floats{}
	m.Reset(in, out)
	for o := range out {
		m.SetColumn(o, w[o*in:][:in])
	}
	return m
}

// Reset sets m to a zero matrix with the given number of rows, a multiple of 4, and columns. It reuses
// m's memory.
func (m *Floats) Reset(rows, columns int) {
	m.rows, m.columns = rows, Padded(columns)
	n := rows * m.columns
	if cap(m.data) < n {
		m.data = make([]float32, n)
		return
	}
	m.data = m.data[:n]
	clear(m.data)
}

// SetColumn sets the first len(v) numbers of column j.
func (m *Floats) SetColumn(j int, v []float32) {
	panel := m.data[j/Width*Width*m.rows:][:m.rows*Width]
	for i, x := range v {
		panel[i*Width+j%Width] = x
	}
}

// SetRow sets the first len(v) numbers of row i.
func (m *Floats) SetRow(i int, v []float32) {
	for j := 0; j < len(v); j += Width {
		copy(m.data[j*m.rows+i*Width:][:Width], v[j:])
	}
}

// Bytes returns the memory size of the matrix.
func (m *Floats) Bytes() int { return 4 * len(m.data) }

// Multiply sets the n rows of c to a times m plus start. The rows of a and c start every lda and ldc
// numbers. c and start have as many columns as m, padded.
func (m *Floats) Multiply(c []float32, ldc int, a []float32, lda, n int, start []float32) {
	if n == 0 || m.columns == 0 {
		return
	}
	_ = a[(n-1)*lda+m.rows-1]
	_ = c[(n-1)*ldc+m.columns-1]
	_ = start[m.columns-1]
	for from := 0; from < m.rows; from += depth {
		k := min(depth, m.rows-from)
		for j := 0; j < m.columns; j += Width {
			b := m.data[j*m.rows+from*Width:][:k*Width]
			eachBlock(n, maxRowsFloats(), func(row, rows int) {
				if from == 0 {
					floats(rows, k, a[row*lda:], lda, b, c[row*ldc+j:], ldc, start[j:], 0)
				} else {
					at := c[row*ldc+j:]
					floats(rows, k, a[row*lda+from:], lda, b, at, ldc, at, ldc)
				}
			})
		}
	}
}

// eachBlock splits n rows into blocks of nearly equal size, of at most limit rows.
func eachBlock(n, limit int, do func(row, rows int)) {
	blocks := (n + limit - 1) / limit
	for row := 0; blocks > 0; blocks-- {
		rows := (n - row + blocks - 1) / blocks
		do(row, rows)
		row += rows
	}
}

// floatsGo multiplies k columns of a with a panel, for the given number of rows; 4 columns at a time
// stay in registers.
func floatsGo(rows, k int, a []float32, lda int, b, c []float32, ldc int, start []float32, lds int) {
	for r := range rows {
		left := a[r*lda:][:k]
		for j := 0; j < Width; j += 8 {
			s := start[r*lds+j:][:8:8]
			s0, s1, s2, s3, s4, s5, s6, s7 := s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7]
			right := b[j:]
			for i, x := range left {
				y := right[i*Width:][:8:8]
				s0 += x * y[0]
				s1 += x * y[1]
				s2 += x * y[2]
				s3 += x * y[3]
				s4 += x * y[4]
				s5 += x * y[5]
				s6 += x * y[6]
				s7 += x * y[7]
			}
			d := c[r*ldc+j:][:8:8]
			d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7] = s0, s1, s2, s3, s4, s5, s6, s7
		}
	}
}
