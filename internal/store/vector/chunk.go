package vector

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"

	"github.com/viterin/vek/vek32"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/durable"
)

// chunkRows is the number of rows that are stored, locked and passed to a worker
// together: a megabyte of 256-dimensional vectors, scanned in some tens of
// microseconds.
const chunkRows = 1024

// chunk is a block of rows. Rows never move; a deleted row leaves a hole that the next
// new row fills.
type chunk struct {
	rows  []float32 // chunkRows vectors, one after another
	refs  [chunkRows]uint32
	live  [chunkRows / 64]uint64 // a bit per row
	signs []uint64               // the rows' bits, above center or not
	// center is the vector that the signs are relative to: an earlier mean of all rows.
	// Chunks may have different centers for a while.
	center []float32
}

func newChunk(dim int, center []float32) *chunk {
	return &chunk{
		rows:   make([]float32, chunkRows*dim),
		signs:  make([]uint64, chunkRows*signWords(dim)),
		center: center,
	}
}

func (c *chunk) row(i int) []float32 {
	dim := len(c.center)
	return c.rows[i*dim : (i+1)*dim : (i+1)*dim]
}

func (c *chunk) alive(i int) bool { return c.live[i/64]>>(i%64)&1 == 1 }

func (c *chunk) set(i int, ref uint32, vec []float32) {
	copy(c.row(i), vec)
	c.refs[i] = ref
	c.live[i/64] |= 1 << (i % 64)
	w := signWords(len(vec))
	signsOf(c.signs[i*w:(i+1)*w], vec, c.center)
}

// remove also clears the row, so that the vector of a forgotten text does not stay in
// memory.
func (c *chunk) remove(i int) {
	c.live[i/64] &^= 1 << (i % 64)
	clear(c.row(i))
}

// recenter computes all signs again.
func (c *chunk) recenter(center []float32) {
	c.center = center
	w := signWords(len(center))
	for i := range chunkRows {
		if c.alive(i) {
			signsOf(c.signs[i*w:(i+1)*w], c.row(i), center)
		}
	}
}

// each calls f for every live row.
func (c *chunk) each(f func(i int)) {
	for w, word := range c.live {
		for ; word != 0; word &= word - 1 {
			f(64*w + bits.TrailingZeros64(word))
		}
	}
}

// exact offers all rows to t. The filter is called last, so only for the few rows that
// would be among the best.
func (c *chunk) exact(q *query, t *top) {
	c.each(func(i int) {
		if s := c.score(i, q); wouldKeep(t, s) && (q.accept == nil || q.accept(s.ref)) {
			t.Offer(c.finish(s, i, q))
		}
	})
}

// score computes the value by which candidates are ordered.
func (c *chunk) score(i int, q *query) scored {
	return scored{ref: c.refs[i], score: vek32.Dot(q.toward, c.row(i))}
}

// finish adds the values that only kept rows need.
func (c *chunk) finish(s scored, i int, q *query) scored {
	s.mean = vek32.Dot(q.mean, c.row(i))
	s.cosine = s.score + s.mean // toward is vec less the mean
	return s
}

// OpenFile opens the file, or creates it when there is none, and reads it completely.
// An incomplete record at the end is cut off, and records with a wrong checksum are
// dropped. If records were dropped, or more than half of them are dead, the file is
// rewritten without them. File.Report returns what was done. A file of another format,
// model or dimension is an ErrCorrupt and is left unchanged.
func OpenFile(path string, o FileOptions) (*File, error) {
	head := header{model: o.Model, dim: o.Dim}
	if err := head.validate(); err != nil {
		return nil, &ken.Error{Code: ken.CodeInvalid, Field: "model", Msg: err.Error()}
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		if err = durable.WriteFile(path, head.encode(), 0o600); err == nil {
			file, err = os.OpenFile(path, os.O_RDWR, 0)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open vector file: %w", err)
	}
	f := &File{path: path, head: head, f: file}
	if err := f.load(o.Each); err != nil {
		return nil, errors.Join(err, f.f.Close())
	}
	return f, nil
}

func (f *File) load(each func(Hash, []float32)) error {
	info, err := f.f.Stat()
	if err != nil {
		return fmt.Errorf("open vector file: %w", err)
	}
	r := bufio.NewReaderSize(io.NewSectionReader(f.f, 0, info.Size()), writeBytes)
	got, err := readHeader(r)
	if err == nil && got != f.head {
		err = fmt.Errorf("it holds %d dimensions of model %q, not %d of %q", got.dim, got.model, f.head.dim, f.head.model)
	}
	if err != nil {
		return &ken.Error{Code: ken.CodeCorrupt, Field: f.path, Msg: "not a vector file of this model",
			Try: "Move the file away; its vectors will be computed again.", Err: err}
	}
	if err := f.scan(r, info.Size(), each); err != nil {
		return fmt.Errorf("read vector file: %w", err)
	}
	f.report.TornBytes = info.Size() - f.end
	f.report.Live = len(f.at)
	if f.report.Dropped > 0 || f.report.Dead > f.report.Live {
		if err := f.compact(); err != nil {
			return fmt.Errorf("compact vector file: %w", err)
		}
		return nil
	}
	if f.report.TornBytes > 0 {
		if err := f.f.Truncate(f.end); err != nil {
			return fmt.Errorf("cut off torn record: %w", err)
		}
	}
	return nil
}

// scan reads all complete records.
func (f *File) scan(r *bufio.Reader, size int64, each func(Hash, []float32)) error {
	step := f.head.recordSize()
	count := (size - f.head.size()) / step
	f.at = make(map[Hash]int64, count)
	vec := make([]float32, f.head.dim)
	long := make([]byte, 0) // for a record larger than the buffer
	for f.end = f.head.size(); count > 0; count-- {
		record, err := r.Peek(int(step)) // no copy
		if errors.Is(err, bufio.ErrBufferFull) {
			long = append(long[:0], make([]byte, step)...)
			_, err = io.ReadFull(r, long)
			record = long
		} else if err == nil {
			_, err = r.Discard(int(step))
		}
		if err != nil {
			return err
		}
		h, sound := decode(record)
		_, twice := f.at[h]
		switch {
		case !sound || twice:
			f.report.Dropped++
		case h == Hash{}:
			f.report.Dead++
		default:
			f.at[h] = f.end
			if each != nil {
				each(h, vectorOf(vec, record))
			}
		}
		f.end += step
	}
	return nil
}

// compact writes the live records, in the old order, into a new file, which replaces
// the old one when it is complete and durable.
func (f *File) compact() error {
	kept := make(map[Hash]int64, len(f.at))
	end := f.head.size()
	old := io.NewSectionReader(f.f, end, f.end-end)
	err := durable.Replace(f.path, 0o600, func(w io.Writer) error {
		if _, err := w.Write(f.head.encode()); err != nil {
			return err
		}
		record := make([]byte, f.head.recordSize())
		r := bufio.NewReaderSize(old, writeBytes)
		for from := end; from < f.end; from += int64(len(record)) {
			if _, err := io.ReadFull(r, record); err != nil {
				return err
			}
			h, _ := decode(record)
			if at, ok := f.at[h]; !ok || at != from {
				continue
			}
			if _, err := w.Write(record); err != nil {
				return err
			}
			kept[h] = end
			end += int64(len(record))
		}
		return f.f.Close() // Windows replaces no open file
	})
	_ = f.f.Close() // after an error, it may still be open
	file, again := os.OpenFile(f.path, os.O_RDWR, 0)
	if f.f = file; err != nil || again != nil {
		return errors.Join(err, again)
	}
	f.at, f.end = kept, end
	f.report.Compacted = true
	return nil
}
