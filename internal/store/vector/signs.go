package vector

import (
	"math"
	"math/bits"
)

// signWords is how many words the bits of one vector take.
func signWords(dim int) int { return (dim + 63) / 64 }

// signsOf sets bit i of dst when vec[i] is above center[i], without a branch: it
// is the sign bit of their difference.
func signsOf(dst []uint64, vec, center []float32) {
	center = center[:len(vec)]
	for w := range dst {
		var word uint64
		lo, hi := 64*w, min(64*w+64, len(vec))
		c := center[lo:hi]
		for i, v := range vec[lo:hi] {
			word |= uint64(math.Float32bits(c[i]-v)>>31) << i
		}
		dst[w] = word
	}
}

// hole is the distance of a row that is none.
const hole = 1<<16 - 1

// distances writes how many bits of each row differ from q's. A distance is
// below maxDim < hole.
func (c *chunk) distances(dst []uint16, q []uint64) {
	switch len(q) {
	case 4: // 256 dimensions
		q0, q1, q2, q3 := q[0], q[1], q[2], q[3]
		for i := range dst {
			s := c.signs[4*i : 4*i+4 : 4*i+4]
			dst[i] = uint16(bits.OnesCount64(q0^s[0]) + bits.OnesCount64(q1^s[1]) +
				bits.OnesCount64(q2^s[2]) + bits.OnesCount64(q3^s[3]))
		}
	default:
		for i := range dst {
			s := c.signs[i*len(q) : (i+1)*len(q)]
			n := 0
			for j, w := range q {
				n += bits.OnesCount64(w ^ s[j])
			}
			dst[i] = uint16(n)
		}
	}
	for w, word := range c.live {
		for dead := ^word; dead != 0; dead &= dead - 1 {
			dst[64*w+bits.TrailingZeros64(dead)] = hole
		}
	}
}
