package table

import (
	"encoding/binary"
	"math"
)

// scratch is the working memory of one text. Rows are added as integers, two in each
// 64-bit word, which takes half the time of floats: lanes[8k+j] holds the bytes j and
// j+4 of word k of all rows, each plus 128 and times the row's weight in 16 bits. 255
// rows fit; then the lanes are added to sum and cleared.
type scratch struct {
	ids     []int32
	weights []float32 // of ids, in a weighted query
	pieces  []int32

	sum   []float32
	lanes []uint64
	added uint64  // sum of the weights in the lanes
	rows  int     // number of rows in the lanes
	unit  float32 // the value of a weight of 1 in the lanes
	any   bool
}

const (
	low       = 0x000000FF000000FF // two lanes of one byte
	signs     = 0x8080808080808080 // turns int8 into uint8 plus 128
	maxWeight = 1<<16 - 1
	maxRows   = 255 // 255 rows of 255 times maxWeight are less than 2^32
)

func newScratch(dim int) *scratch {
	return &scratch{sum: make([]float32, dim), lanes: make([]uint64, (dim+7)/8*4)}
}

// reset starts a text; most is its largest weight.
func (s *scratch) reset(most float32) {
	clear(s.sum)
	clear(s.lanes)
	s.added, s.rows, s.any = 0, 0, false
	s.unit = most / maxWeight
}

// add adds a row with a weight.
func (m *Model) add(s *scratch, id int32, weight float32) {
	if s.unit == 0 {
		return // no row of the text counts
	}
	w := uint64(m.scales[id]*weight/s.unit + 0.5)
	if w == 0 {
		return
	}
	if s.rows == maxRows {
		s.empty()
	}
	s.any = true
	s.rows++
	s.added += w
	row := m.rows[int(id)*m.dim:][:m.dim]
	lanes := s.lanes
	for len(row) >= 8 && len(lanes) >= 4 {
		x := binary.LittleEndian.Uint64(row) ^ signs
		lanes[0] += (x & low) * w
		lanes[1] += (x >> 8 & low) * w
		lanes[2] += (x >> 16 & low) * w
		lanes[3] += (x >> 24 & low) * w
		row, lanes = row[8:], lanes[4:]
	}
	for i, b := range row { // at most 7
		lanes[i%4] += uint64(b^0x80) * w << (i / 4 * 32)
	}
}

// empty adds the lanes to sum and clears them.
func (s *scratch) empty() {
	bias := int64(128 * s.added)
	for i := range s.sum {
		lane := s.lanes[i/8*4+i%4] >> (i / 4 % 2 * 32) & 0xFFFFFFFF
		s.sum[i] += float32(int64(lane)-bias) * s.unit
	}
	clear(s.lanes)
	s.added, s.rows = 0, 0
}

// vector returns the sum scaled to unit length, nil when it has no direction.
func (s *scratch) vector() []float32 {
	if !s.any {
		return nil
	}
	s.empty()
	var squares float64
	for _, x := range s.sum {
		squares += float64(x) * float64(x)
	}
	if !(squares > 0) || math.IsInf(squares, 0) {
		return nil
	}
	v := make([]float32, len(s.sum))
	by := 1 / math.Sqrt(squares)
	for i, x := range s.sum {
		v[i] = float32(float64(x) * by)
	}
	return v
}
