package remote

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

const (
	frameHead = 5 // length 4, kind 1
	// maxFrame bounds a frame's body, so that garbage is not taken for a length. The
	// largest true ones are lists of all files of a repository.
	maxFrame = 256 << 20
	// maxHello bounds it before the other side has shown who it is.
	maxHello = 64 << 10
	// frameStep is how much of a body is made room for before more of it has come.
	frameStep = 256 << 10
)

// frame is one message.
type frame struct {
	kind byte
	body []byte
}

// startFrame returns b, emptied, with room for a frame's head.
func startFrame(b []byte) []byte { return append(b[:0], 0, 0, 0, 0, 0) }

// sendFrame writes what was appended to startFrame's result.
func sendFrame(w io.Writer, kind byte, b []byte) error {
	if len(b)-frameHead > maxFrame {
		return errTooLarge
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)-frameHead))
	b[4] = kind
	_, err := w.Write(b)
	return err
}

var errTooLarge = errors.New("the message is too large")

// readFrame reads one frame whose body has at most limit bytes. Memory is taken as
// the body comes, whatever the head says. io.EOF: there is none, and nothing of one.
func readFrame(r io.Reader, limit int) (frame, error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return frame{}, err
	}
	n := int(binary.BigEndian.Uint32(head[:]))
	if n > limit {
		return frame{}, fmt.Errorf("%w: %d bytes", errTooLarge, n)
	}
	f := frame{kind: head[4]}
	for have := 0; have < n; have = len(f.body) {
		f.body = slices.Grow(f.body, min(n-have, max(frameStep, have)))
		f.body = f.body[:min(n, cap(f.body))]
		if _, err := io.ReadFull(r, f.body[have:]); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return frame{}, err
		}
	}
	return f, nil
}
