package scorer

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/kenlayer/ken"
)

// State is what a learner knows besides its counters: the model, and whether it is in
// force. The zero value knows nothing.
type State struct {
	Model Model
	Gate  Gate
	Turns int // learned from, ever
}

// Take compares both orders on a turn and then learns from it.
func (s *State) Take(labels []Judged) Trial {
	t := s.Model.Try(labels)
	s.Gate.Tell(t)
	s.Model.Learn(labels)
	if len(labels) > 0 {
		s.Turns++
	}
	return t
}

// A written state is a magic number, the CRC-32 of the rest, the length of a header
// in JSON, the header, and the weights that learned something: place, z and n.
var magic = [4]byte{'K', 'S', 'C', '1'}

const (
	stateVersion = 1
	oneWeight    = 2 + 4 + 4
)

type stateHead struct {
	Version  int  `json:"version"`
	Features int  `json:"features"`
	Turns    int  `json:"turns"`
	Gate     Gate `json:"gate"`
	Weights  int  `json:"weights"`
}

// errNewer is a state of a later version of this package: not to be touched.
var errNewer = errors.New("written by a newer version")

// MarshalBinary implements encoding.BinaryMarshaler. A weight takes ten bytes.
func (s *State) MarshalBinary() ([]byte, error) {
	var w []byte
	count := 0
	for i := range s.Model.n {
		if n := float32(s.Model.n[i]); n > 0 {
			w = binary.LittleEndian.AppendUint16(w, uint16(i))
			w = binary.LittleEndian.AppendUint32(w, math.Float32bits(float32(s.Model.z[i])))
			w = binary.LittleEndian.AppendUint32(w, math.Float32bits(n))
			count++
		}
	}
	h, err := json.Marshal(stateHead{stateVersion, FeatureVersion, s.Turns, s.Gate, count})
	if err != nil {
		return nil, err
	}
	rest := binary.LittleEndian.AppendUint32(nil, uint32(len(h)))
	rest = append(append(rest, h...), w...)
	return append(binary.LittleEndian.AppendUint32(magic[:], crc32.ChecksumIEEE(rest)), rest...), nil
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler. It keeps nothing of b, and
// s is as before when it fails: with ErrCorrupt for what is none, or of another
// version of the features, and otherwise for what a newer version wrote.
func (s *State) UnmarshalBinary(b []byte) error {
	bad := func(format string, args ...any) error {
		return &ken.Error{Code: ken.CodeCorrupt, Msg: "the scorer's state can't be read", Err: fmt.Errorf(format, args...),
			Try: "Go on: it is kept aside, and learning starts anew."}
	}
	if len(b) < 12 || !bytes.Equal(b[:4], magic[:]) {
		return bad("it does not start as one")
	}
	rest := b[8:]
	if crc32.ChecksumIEEE(rest) != binary.LittleEndian.Uint32(b[4:]) {
		return bad("its checksum differs")
	}
	n := binary.LittleEndian.Uint32(rest)
	rest = rest[4:]
	if uint64(n) > uint64(len(rest)) {
		return bad("its header is cut off")
	}
	var h stateHead
	if err := json.Unmarshal(rest[:n], &h); err != nil {
		return bad("its header: %w", err)
	}
	rest = rest[n:]
	switch {
	case h.Version > stateVersion || h.Features > FeatureVersion:
		return errNewer
	case h.Version != stateVersion || h.Features != FeatureVersion:
		return bad("version %d of features %d", h.Version, h.Features)
	case h.Weights < 0 || h.Weights > width || len(rest) != h.Weights*oneWeight:
		return bad("%d weights in %d bytes", h.Weights, len(rest))
	case !h.Gate.sound() || h.Turns < 0:
		return bad("its figures are out of range")
	}
	out := State{Gate: h.Gate, Turns: h.Turns}
	for ; len(rest) > 0; rest = rest[oneWeight:] {
		i := int(binary.LittleEndian.Uint16(rest))
		z := float64(math.Float32frombits(binary.LittleEndian.Uint32(rest[2:])))
		n := float64(math.Float32frombits(binary.LittleEndian.Uint32(rest[6:])))
		if i >= width || math.IsNaN(z) || math.IsInf(z, 0) || !(n > 0) || math.IsInf(n, 0) {
			return bad("weight %d is out of range", i)
		}
		out.Model.z[i], out.Model.n[i] = z, n
	}
	*s = out
	return nil
}

// settle rounds the weights as MarshalBinary writes them, so that a process that goes
// on and one that reads the state learn the same.
func (s *State) settle() {
	for i := range s.Model.n {
		s.Model.z[i], s.Model.n[i] = float64(float32(s.Model.z[i])), float64(float32(s.Model.n[i]))
	}
}
