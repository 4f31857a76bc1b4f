// Package safetensors reads files of tensors in Hugging Face's format.
//
// A file is the header's length (8 bytes, little endian), the header (JSON: name to type, shape
// and byte range), and the bytes of the tensors.
package safetensors

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
)

// ErrUnsupported is wrapped by the error for a tensor whose number type is not supported.
var ErrUnsupported = errors.New("not supported")

// MaxBytes is the maximum size of a file: the largest published models that Ken can use are well
// below.
const MaxBytes = 2 << 30

// maxHeader is the maximum size of the header; a real one has a few hundred bytes.
const maxHeader = 16 << 20

// Tensor is an array of numbers in a file.
type Tensor struct {
	Shape []int // nil if the type is unknown

	dtype string
	data  []byte // of the file
}

var dtypeSize = map[string]int{"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I8": 1}

// ReadFile reads a regular file of at most limit bytes, of tensors or of what comes with them.
func ReadFile(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > limit {
		return nil, fmt.Errorf("%s: not a file of at most %d MiB", filepath.Base(path), limit>>20)
	}
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return data, nil
}

// Parse reads a file's header. Every returned tensor has exactly the bytes that its type and shape
// require. Tensors share memory with file, which must not be changed while they are in use.
func Parse(file []byte) (map[string]Tensor, error) {
	if len(file) < 8 {
		return nil, errors.New("shorter than its header")
	}
	n, file := binary.LittleEndian.Uint64(file), file[8:]
	if n > maxHeader || n > uint64(len(file)) {
		return nil, fmt.Errorf("a header of %d bytes", n)
	}
	header, data := file[:n], file[n:]
	var entries map[string]json.RawMessage
	if err := json.Unmarshal(header, &entries); err != nil {
		return nil, fmt.Errorf("read header: %w", err)
	}
	tensors := make(map[string]Tensor, len(entries))
	for name, raw := range entries {
		if name == "__metadata__" {
			continue
		}
		t, err := parseEntry(raw, data)
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		tensors[name] = t
	}
	return tensors, nil
}

func parseEntry(raw []byte, data []byte) (Tensor, error) {
	var e struct {
		Dtype   string   `json:"dtype"`
		Shape   []uint64 `json:"shape"`
		Offsets []uint64 `json:"data_offsets"`
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		return Tensor{}, err
	}
	if len(e.Offsets) != 2 || e.Offsets[0] > e.Offsets[1] || e.Offsets[1] > uint64(len(data)) {
		return Tensor{}, fmt.Errorf("range %v in %d bytes", e.Offsets, len(data))
	}
	t := Tensor{dtype: e.Dtype, data: data[e.Offsets[0]:e.Offsets[1]]}
	size, known := dtypeSize[e.Dtype]
	if !known { // an unknown type is an error only when the tensor is read
		return t, nil
	}
	want := uint64(size)
	for _, d := range e.Shape {
		if d > MaxBytes || want*d > MaxBytes { // both factors are below 2^32
			return Tensor{}, fmt.Errorf("shape %v", e.Shape)
		}
		want *= d
		t.Shape = append(t.Shape, int(d))
	}
	if want != uint64(len(t.data)) {
		return Tensor{}, fmt.Errorf("%d bytes for %s %v", len(t.data), e.Dtype, e.Shape)
	}
	return t, nil
}

// Floats decodes the tensor to float32. It returns an error for NaN and infinite numbers. Types:
// F64, F32, F16, BF16 and I8.
func (t Tensor) Floats() ([]float32, error) {
	var at func(b []byte) float32
	le := binary.LittleEndian
	switch t.dtype {
	case "F64":
		at = func(b []byte) float32 { return float32(math.Float64frombits(le.Uint64(b))) }
	case "F32":
		at = func(b []byte) float32 { return math.Float32frombits(le.Uint32(b)) }
	case "F16":
		at = func(b []byte) float32 { return halfFloat(le.Uint16(b)) }
	case "BF16":
		at = func(b []byte) float32 { return math.Float32frombits(uint32(le.Uint16(b)) << 16) }
	case "I8":
		at = func(b []byte) float32 { return float32(int8(b[0])) }
	default:
		return nil, fmt.Errorf("numbers of type %q: %w", t.dtype, ErrUnsupported)
	}
	size := dtypeSize[t.dtype]
	out := make([]float32, len(t.data)/size)
	for i := range out {
		v := at(t.data[i*size:])
		if v-v != 0 { // NaN or infinite
			return nil, errors.New("a number that is NaN or infinite")
		}
		out[i] = v
	}
	return out, nil
}

// Rows decodes a tensor of I32 or I64 to row numbers, which must be from 0 to n-1.
func (t Tensor) Rows(n int) ([]int32, error) {
	size := dtypeSize[t.dtype]
	if t.dtype != "I32" && t.dtype != "I64" {
		return nil, fmt.Errorf("a mapping of type %q: %w", t.dtype, ErrUnsupported)
	}
	out := make([]int32, len(t.data)/size)
	for i := range out {
		b := t.data[i*size:]
		row := int64(int32(binary.LittleEndian.Uint32(b)))
		if size == 8 {
			row = int64(binary.LittleEndian.Uint64(b))
		}
		if row < 0 || row >= int64(n) {
			return nil, fmt.Errorf("row %d of %d", row, n)
		}
		out[i] = int32(row)
	}
	return out, nil
}

// halfFloat converts an IEEE 754 half: 1 sign, 5 exponent, 10 fraction bits.
func halfFloat(h uint16) float32 {
	sign, exp, frac := uint32(h>>15)<<31, uint32(h>>10)&31, uint32(h)&1023
	switch exp {
	case 0: // zero and subnormal: frac * 2^-24
		return math.Float32frombits(sign | math.Float32bits(float32(frac)/(1<<24)))
	case 31:
		return math.Float32frombits(sign | 0xff<<23 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}
