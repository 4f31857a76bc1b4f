package scip

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// maxDocument is how many bytes one document of an index may have.
const maxDocument = 64 << 20

// stream reads an index field by field. The slice that visit gets is good until it
// returns.
func stream(r io.Reader, visit func(num protowire.Number, v []byte) error) error {
	in := &counter{r: bufio.NewReaderSize(r, 1<<16)}
	var buf bytes.Buffer
	for {
		start := in.n
		tag, err := binary.ReadUvarint(in)
		if errors.Is(err, io.EOF) && in.n == start {
			return nil
		}
		if err != nil {
			return broken(start, err)
		}
		num, typ := protowire.DecodeTag(tag)
		if num < protowire.MinValidNumber {
			return broken(start, errWire)
		}
		switch typ {
		case protowire.VarintType:
			_, err = binary.ReadUvarint(in)
		case protowire.Fixed32Type:
			_, err = io.CopyN(io.Discard, in, 4)
		case protowire.Fixed64Type:
			_, err = io.CopyN(io.Discard, in, 8)
		case protowire.BytesType:
			var size uint64
			if size, err = binary.ReadUvarint(in); err != nil {
				break
			}
			if size > maxDocument {
				return broken(start, fmt.Errorf("a document of %d bytes", size))
			}
			buf.Reset()
			if _, err = io.CopyN(&buf, in, int64(size)); err == nil { // grows with what comes, not with what is promised
				if err = visit(num, buf.Bytes()); errors.Is(err, errWire) {
					return broken(start, err)
				} else if err != nil {
					return err
				}
			}
		default:
			err = errWire
		}
		if err != nil {
			return broken(start, err)
		}
	}
}

func broken(at int64, err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("at byte %d: %w", at, err)
}

// counter counts what is read.
type counter struct {
	r *bufio.Reader
	n int64
}

// Read implements io.Reader.
func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// ReadByte implements io.ByteReader.
func (c *counter) ReadByte() (byte, error) {
	b, err := c.r.ReadByte()
	if err == nil {
		c.n++
	}
	return b, err
}
