package codegraph

import (
	"encoding/binary"
	"errors"
)

// errDamaged is what a decoder ends with, whatever is wrong.
var errDamaged = errors.New("damaged")

// encoder writes numbers in as few bytes as they need, and texts with their lengths.
type encoder struct{ b []byte }

func (e *encoder) u(n uint64)    { e.b = binary.AppendUvarint(e.b, n) }
func (e *encoder) i(n int64)     { e.b = binary.AppendVarint(e.b, n) }
func (e *encoder) n(n int)       { e.u(uint64(n)) }
func (e *encoder) text(s string) { e.n(len(s)); e.b = append(e.b, s...) }
func (e *encoder) flag(b bool)   { e.u(map[bool]uint64{true: 1}[b]) }
func (e *encoder) texts(s []string) {
	e.n(len(s))
	for _, x := range s {
		e.text(x)
	}
}

// decoder reads what an encoder wrote. After a fault everything is zero, and bad is set.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) u() uint64 {
	if len(d.b) > 0 && d.b[0] < 0x80 {
		x := uint64(d.b[0])
		d.b = d.b[1:]
		return x
	}
	x, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.b = d.b[n:]
	return x
}

func (d *decoder) fail() { d.b, d.bad = nil, true }

func (d *decoder) i() int64 {
	x := d.u()
	return int64(x>>1) ^ -int64(x&1)
}

// upTo is a number of at most max.
func (d *decoder) upTo(max uint64) uint64 {
	x := d.u()
	if x > max {
		d.fail()
		return 0
	}
	return x
}

// n is the number of things that follow, which have a byte each at least.
func (d *decoder) n() int {
	x := d.u()
	if x > uint64(len(d.b)) {
		d.fail()
		return 0
	}
	return int(x)
}

func (d *decoder) flag() bool { return d.upTo(1) == 1 }

// text shares the memory that is decoded.
func (d *decoder) text() string {
	n := d.n()
	s := string(d.b[:n])
	d.b = d.b[n:]
	return s
}

func (d *decoder) texts() []string {
	var out []string
	for range d.n() {
		out = append(out, d.text())
	}
	return out
}
