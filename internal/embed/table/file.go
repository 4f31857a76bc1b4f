package table

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/embed/safetensors"
)

const (
	magic    = "KENTABLE"
	version  = 1
	header   = 40 // bytes before the information
	checked  = 32 // start of the bytes that the CRC covers
	maxDim   = 4096
	maxInfo  = 1 << 20
	maxVocab = 1 << 28
	maxFile  = 1 << 30
)

// Info describes a table. It is part of the content whose hash is the model's name.
type Info struct {
	// About is one line: what the table was trained on, and for which purpose.
	About string `json:"about,omitempty"`
	// Licence is one line: the terms under which the table may be distributed.
	Licence string `json:"licence,omitempty"`
	// Base is the name of the model that this one was tuned from, if any.
	Base string `json:"base,omitempty"`
	// Recipe describes the training: the options in short form, with the seed.
	Recipe string `json:"recipe,omitempty"`
}

// Open returns the model in a file's bytes. The model keeps data, which must not be
// changed. Errors are *ken.Error of code corrupt.
func Open(data []byte) (*Model, error) {
	m, err := parse(data)
	if err != nil {
		return nil, &ken.Error{Code: ken.CodeCorrupt, Msg: "read embedding table", Err: err,
			Try: "Copy the file again, or train the table again with ken embed train."}
	}
	return m, nil
}

// Read opens the file at path and keeps it in memory. Errors are *ken.Error: not found,
// invalid for a file that is not a table, or as in Open.
func Read(path string) (*Model, error) {
	data, err := safetensors.ReadFile(path, maxFile)
	if err != nil {
		code, try := ken.CodeInvalid, "Name a file that ken embed train has written."
		if errors.Is(err, fs.ErrNotExist) {
			code, try = ken.CodeNotFound, "Check the path."
		}
		return nil, &ken.Error{Code: code, Msg: "read embedding table " + path, Err: err, Try: try}
	}
	return Open(data)
}

// parse checks everything that later code relies on.
func parse(data []byte) (*Model, error) {
	if len(data) < header || string(data[:8]) != magic {
		return nil, errors.New("it does not start like an embedding table")
	}
	at := func(offset int) int { return int(binary.LittleEndian.Uint32(data[offset:])) }
	if v := at(8); v != version {
		return nil, fmt.Errorf("version %d, this program reads %d", v, version)
	}
	dim, n, info, vocab := at(12), at(16), at(20), at(24)
	if dim < 1 || dim > maxDim || n < 1 || n > maxTokens || info > maxInfo || vocab > maxVocab {
		return nil, fmt.Errorf("impossible sizes: %d tokens of %d dimensions", n, dim)
	}
	if want := header + info + n + vocab + 4*n + dim*n; len(data) != want {
		return nil, fmt.Errorf("%d bytes instead of %d", len(data), want)
	}
	if crc32.Checksum(data[checked:], castagnoli) != uint32(at(28)) {
		return nil, errors.New("the checksum differs")
	}
	m := &Model{name: "ken:" + hex.EncodeToString(data[32:40]), data: data, dim: dim}
	rest := data[header:]
	if err := json.Unmarshal(rest[:info], &m.info); err != nil {
		return nil, fmt.Errorf("information: %w", err)
	}
	rest = rest[info:]
	var err error
	if m.vocabulary, err = newVocabulary(rest[:n], rest[n:n+vocab]); err != nil {
		return nil, err
	}
	rest = rest[n+vocab:]
	m.scales = make([]float32, n)
	for i := range m.scales {
		s := math.Float32frombits(binary.LittleEndian.Uint32(rest[4*i:]))
		if !(s >= 0 && s <= math.MaxFloat32/256) {
			return nil, fmt.Errorf("row %d has the scale %v", i, s)
		}
		m.scales[i] = s
	}
	m.most, m.rows = slices.Max(m.scales), rest[4*n:]
	m.scratch.New = func() any { return newScratch(m.dim) }
	return m, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// New returns a model made from float rows: token i has rows[i*dim:(i+1)*dim]. A row is
// quantised in steps of 1/127 of its largest number. Errors are *ken.Error of code
// invalid. The same arguments give the same bytes.
func New(tokens []string, rows []float32, dim int, info Info) (*Model, error) {
	data, err := encode(tokens, rows, dim, info)
	if err != nil {
		return nil, &ken.Error{Code: ken.CodeInvalid, Msg: "make embedding table", Err: err, Try: "Train it anew with other options."}
	}
	return Open(data)
}

func encode(tokens []string, rows []float32, dim int, info Info) ([]byte, error) {
	if dim < 1 || dim > maxDim || len(rows) != dim*len(tokens) {
		return nil, fmt.Errorf("%d numbers for %d tokens of %d dimensions", len(rows), len(tokens), dim)
	}
	v, err := NewVocabulary(tokens)
	if err != nil {
		return nil, err
	}
	about, err := json.Marshal(info)
	if err != nil {
		return nil, err
	}
	data := make([]byte, header, header+len(about)+len(v.blob)+len(tokens)*(dim+5))
	copy(data, magic)
	for i, x := range []int{version, dim, len(tokens), len(about), len(v.blob)} {
		binary.LittleEndian.PutUint32(data[8+4*i:], uint32(x))
	}
	data = append(data, about...)
	for _, t := range tokens {
		data = append(data, byte(len(t)))
	}
	data = append(data, v.blob...)
	for i := range tokens {
		scale, err := rowScale(rows[i*dim : (i+1)*dim])
		if err != nil {
			return nil, fmt.Errorf("token %q: %w", tokens[i], err)
		}
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(scale))
	}
	scales := data[len(data)-4*len(tokens):]
	for i := range tokens {
		scale := math.Float32frombits(binary.LittleEndian.Uint32(scales[4*i:]))
		for _, x := range rows[i*dim : (i+1)*dim] {
			q := 0.0
			if scale > 0 {
				q = math.RoundToEven(float64(x) / float64(scale))
			}
			data = append(data, byte(int8(min(max(q, -127), 127))))
		}
	}
	sum := sha256.Sum256(data[header:])
	copy(data[32:], sum[:8])
	binary.LittleEndian.PutUint32(data[28:], crc32.Checksum(data[checked:], castagnoli))
	return data, nil
}

// rowScale returns the size of one quantisation step of a row.
func rowScale(row []float32) (float32, error) {
	var most float64
	for _, x := range row {
		a := math.Abs(float64(x))
		if math.IsNaN(a) || a > math.MaxFloat32/512 {
			return 0, fmt.Errorf("its row holds %v", x)
		}
		most = max(most, a)
	}
	return float32(most / 127), nil
}
