package vector

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"sync"

	"github.com/kenlayer/ken"
)

// Hash identifies a vector by the embedded text: 16 bytes of a cryptographic hash. The
// zero value is invalid.
type Hash [16]byte

// Record is one vector of a file.
type Record struct {
	Hash Hash
	Vec  []float32 // unit length; nil if the model has none for the content
}

// FileOptions describes the content of a file.
type FileOptions struct {
	Model string // its full name, 1 to 1024 bytes
	Dim   int    // 1 to 65535
	// Each is called by OpenFile for every record, in the file's order. vec is only
	// valid during the call, and nil if the model has none for the content. If Each is
	// nil, only the hashes are read.
	Each func(h Hash, vec []float32)
}

// openReport describes what opening a file found and did.
type openReport struct {
	Live      int   // number of vectors
	Dead      int   // erased records
	Dropped   int   // records with a wrong checksum, and duplicates
	TornBytes int64 // size of an incomplete record at the end, which was cut off
	Compacted bool  // the file was rewritten without dead and dropped records
}

// File is the durable cache of one model's vectors. It is safe for concurrent
// use.
type File struct {
	path   string
	head   header
	report openReport

	mu sync.RWMutex // guards the fields below, and the records against Erase
	f  *os.File
	at map[Hash]int64 // offset of the record
	// end is the offset of the next record. Bytes after it come from a failed write;
	// the next write overwrites them, or the next open cuts them off.
	end int64
}

// Len returns the number of vectors.
func (f *File) Len() int {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return len(f.at)
}

// Hashes returns the hashes of all vectors, in no particular order.
func (f *File) Hashes() []Hash {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return slices.AppendSeq(make([]Hash, 0, len(f.at)), maps.Keys(f.at))
}

// Has reports whether the file has a vector.
func (f *File) Has(h Hash) bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	_, ok := f.at[h]
	return ok
}

// Get reads a vector into dst, which it grows when needed; ok is false when the file
// does not have it. The vector is nil if the model has none for the content. A record that
// was damaged since the file was opened is an ErrCorrupt.
func (f *File) Get(dst []float32, h Hash) (vec []float32, ok bool, err error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	at, ok := f.at[h]
	if !ok {
		return dst, false, nil
	}
	record := make([]byte, f.head.recordSize())
	if _, err := f.f.ReadAt(record, at); err != nil {
		return dst, false, fmt.Errorf("read vector file: %w", err)
	}
	if got, sound := decode(record); !sound || got != h {
		return dst, false, &ken.Error{Code: ken.CodeCorrupt, Field: f.path, Msg: "a vector's checksum is wrong", Try: "Reopen the store."}
	}
	return vectorOf(slices.Grow(dst[:0], f.head.dim)[:f.head.dim], record), true, nil
}

// writeBytes is the number of bytes that Append writes at once.
const writeBytes = 1 << 20

// Append adds vectors. Vectors that the file already has are skipped: the same model
// and content give the same vector. All are checked before any is written, and after an
// error none of them is in the file. Append does not sync.
func (f *File) Append(recs ...Record) error {
	for i, r := range recs {
		if r.Hash == (Hash{}) {
			return &ken.Error{Code: ken.CodeInvalid, Field: fmt.Sprintf("record %d", i), Msg: "no hash"}
		}
		if r.Vec == nil {
			continue
		}
		if err := check(r.Vec, f.head.dim); err != nil {
			return fmt.Errorf("record %d: %w", i, err)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	added := make(map[Hash]int64, len(recs))
	var buf []byte
	end := f.end
	flush := func() error {
		_, err := f.f.WriteAt(buf, end)
		end += int64(len(buf))
		buf = buf[:0]
		return err
	}
	for _, r := range recs {
		_, has := f.at[r.Hash]
		if _, twice := added[r.Hash]; has || twice {
			continue
		}
		added[r.Hash] = end + int64(len(buf))
		if buf = f.head.appendRecord(buf, r.Hash, r.Vec); len(buf) >= writeBytes {
			if err := flush(); err != nil {
				return fmt.Errorf("append to vector file: %w", err)
			}
		}
	}
	if err := flush(); err != nil {
		return fmt.Errorf("append to vector file: %w", err)
	}
	maps.Copy(f.at, added)
	f.end = end
	return nil
}

// Erase overwrites the vectors on disk and syncs. Hashes that the file does not
// have are skipped, so an Erase that failed can be repeated.
func (f *File) Erase(hs ...Hash) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	blank := f.head.appendRecord(nil, Hash{}, nil)
	for _, h := range hs {
		at, ok := f.at[h]
		if !ok {
			continue
		}
		if _, err := f.f.WriteAt(blank, at); err != nil {
			return fmt.Errorf("erase from vector file: %w", err)
		}
	}
	if err := f.f.Sync(); err != nil {
		return fmt.Errorf("erase from vector file: %w", err)
	}
	for _, h := range hs {
		delete(f.at, h)
	}
	return nil
}

// Sync makes all appended vectors durable.
func (f *File) Sync() error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.f.Sync()
}

// Close syncs and closes the file. Closing twice is no error.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := errors.Join(f.f.Sync(), f.f.Close())
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

const (
	magic      = "KENVEC\r\n"
	version    = 1
	maxModel   = 1024
	fixedBytes = 20 // of a header before the model's name, and of a record before the vector
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// header describes the content of a file.
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

// readHeader reads a header and leaves r after it.
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

// appendRecord appends a record's bytes. A nil vec becomes zeros.
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

// recordSum computes the checksum for bytes 16 to 20 of a record.
func recordSum(record []byte) uint32 {
	return crc32.Update(crc32.Checksum(record[:16], castagnoli), castagnoli, record[fixedBytes:])
}

// decode reads a record's hash; ok is false when the checksum is wrong.
func decode(record []byte) (hash Hash, ok bool) {
	copy(hash[:], record)
	return hash, binary.LittleEndian.Uint32(record[16:]) == recordSum(record)
}

// vectorOf reads a record's vector into dst, which has the right length. It returns nil if the record
// has no vector.
func vectorOf(dst []float32, record []byte) []float32 {
	b, any := record[fixedBytes:], uint32(0)
	for i := range dst {
		bits := binary.LittleEndian.Uint32(b[4*i:])
		any |= bits
		dst[i] = math.Float32frombits(bits)
	}
	if any == 0 {
		return nil
	}
	return dst
}
