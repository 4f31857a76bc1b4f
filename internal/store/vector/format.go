package vector

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
)

const (
	magic      = "KENVEC\r\n"
	version    = 1
	maxModel   = 1024
	fixedBytes = 20 // of a header before the model's name, and of a record before the vector
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// header says what a file holds.
type header struct {
	model string
	dim   int
}

func (h header) size() int64       { return int64(fixedBytes + len(h.model) + 4) }
func (h header) recordSize() int64 { return int64(fixedBytes + 4*h.dim) }

func (h header) validate() error {
	switch {
	case h.dim < 1 || h.dim > maxDim:
		return fmt.Errorf("%d dimensions; 1 to %d are possible", h.dim, maxDim)
	case len(h.model) < 1 || len(h.model) > maxModel:
		return fmt.Errorf("a model name of %d bytes; 1 to %d are possible", len(h.model), maxModel)
	}
	return nil
}

func (h header) encode() []byte {
	b := append(make([]byte, 0, h.size()), magic...)
	for _, v := range []int{version, h.dim, len(h.model)} {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	b = append(b, h.model...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// readHeader reads a header and leaves r behind it.
func readHeader(r io.Reader) (header, error) {
	var h header
	b := make([]byte, fixedBytes, fixedBytes+maxModel+4)
	if _, err := io.ReadFull(r, b); err != nil || !bytes.HasPrefix(b, []byte(magic)) {
		return h, errors.New("not a vector file")
	}
	if v := binary.LittleEndian.Uint32(b[8:]); v != version {
		return h, fmt.Errorf("version %d of the format, not %d", v, version)
	}
	n := binary.LittleEndian.Uint32(b[16:])
	if n > maxModel {
		return h, errors.New("damaged header")
	}
	b = b[:fixedBytes+int(n)+4]
	if _, err := io.ReadFull(r, b[fixedBytes:]); err != nil {
		return h, errors.New("header cut short")
	}
	body := b[:len(b)-4]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(b[len(body):]) {
		return h, errors.New("damaged header")
	}
	h = header{model: string(body[fixedBytes:]), dim: int(binary.LittleEndian.Uint32(b[12:]))}
	return h, h.validate()
}

// appendRecord appends a record's bytes. A nil vec makes an erased record.
func (h header) appendRecord(b []byte, hash Hash, vec []float32) []byte {
	start := len(b)
	b = append(b, hash[:]...)
	b = append(b, 0, 0, 0, 0)
	if vec == nil {
		b = append(b, make([]byte, 4*h.dim)...)
	}
	for _, v := range vec {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	binary.LittleEndian.PutUint32(b[start+16:], recordSum(b[start:]))
	return b
}

// recordSum is the checksum that belongs into bytes 16 to 20 of a record.
func recordSum(record []byte) uint32 {
	return crc32.Update(crc32.Checksum(record[:16], castagnoli), castagnoli, record[fixedBytes:])
}

// decode reads a record's hash; ok is false when the checksum is wrong.
func decode(record []byte) (hash Hash, ok bool) {
	copy(hash[:], record)
	return hash, binary.LittleEndian.Uint32(record[16:]) == recordSum(record)
}

// vectorOf reads a record's vector into dst, which has the right length.
func vectorOf(dst []float32, record []byte) {
	b := record[fixedBytes:]
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
}
