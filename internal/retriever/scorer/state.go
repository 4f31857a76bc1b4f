package scorer

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// State is what a learner knows in addition to its counters: the model and the gate. The zero value
// is untrained.
type State struct {
	Model Model
	Gate  Gate
	Turns int // number of turns learned from, in total
}

// Take compares both orders in a turn and then learns from it.
func (s *State) Take(labels []Judged) Trial {
	t := s.Model.Try(labels)
	s.Gate.Record(t)
	s.Model.Learn(labels)
	if len(labels) > 0 {
		s.Turns++
	}
	return t
}

// An encoded state is a magic number, the CRC-32 of the rest, the length of a JSON header, the
// header, and the weights that are not zero: index, z and n.
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

// errNewer means that a later version of this package wrote the state. It must not be changed.
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
	h, err := json.Marshal(stateHead{stateVersion, featureVersion, s.Turns, s.Gate, count})
	if err != nil {
		return nil, err
	}
	rest := binary.LittleEndian.AppendUint32(nil, uint32(len(h)))
	rest = append(append(rest, h...), w...)
	return append(binary.LittleEndian.AppendUint32(magic[:], crc32.ChecksumIEEE(rest)), rest...), nil
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler. It keeps no reference to b, and leaves s
// unchanged after an error. It returns ErrCorrupt for invalid data and for another version of the
// features, and another error for a state of a newer version.
func (s *State) UnmarshalBinary(b []byte) error {
	bad := func(format string, args ...any) error {
		return &ken.Error{Code: ken.CodeCorrupt, Msg: "the scorer's state can't be read", Err: fmt.Errorf(format, args...),
			Try: "No action is needed: the state is kept aside, and learning starts again."}
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
	case h.Version > stateVersion || h.Features > featureVersion:
		return errNewer
	case h.Version != stateVersion || h.Features != featureVersion:
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

// settle rounds the weights as MarshalBinary does, so that a process which continues and one which
// reads the state learn the same.
func (s *State) settle() {
	for i := range s.Model.n {
		s.Model.z[i], s.Model.n[i] = float64(float32(s.Model.z[i])), float64(float32(s.Model.n[i]))
	}
}

// Counts returns how often records under an aspect of an entity were shown and used, with names in
// the form of analysis.Entity. The aspect "" stands for records without one. Both counts decay by
// half in Options.HalfLife. Counts implements structure.Utility; it reads only memory, so the
// counts are 0 before Load.
func (l *Learner) Counts(entity, aspect string) (shown, used float64) {
	e := Slot(entity)
	if e == 0 {
		return 0, 0
	}
	l.mu.RLock()
	t, ok := l.slots[pair(e, Slot(aspect))]
	l.mu.RUnlock()
	if !ok {
		return 0, 0
	}
	t = t.decayed(l.o.Now(), l.o.HalfLife)
	return float64(t.shown), float64(t.used)
}

// Earlier sets the counts of earlier turns in candidates, and the slots of those that have none but
// were shown before.
func (l *Learner) Earlier(c []Features, now time.Time) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for i := range c {
		f := &c[i]
		if t, ok := l.records[f.ID]; ok {
			if f.Entity == 0 {
				f.Entity, f.Aspect = t.entity, t.aspect
			}
			t = t.decayed(now, l.o.HalfLife)
			f.Shown, f.Used = float64(t.shown), float64(t.used)
		}
		if f.Entity == 0 {
			continue
		}
		if t, ok := l.slots[pair(f.Entity, f.Aspect)]; ok {
			t = t.decayed(now, l.o.HalfLife)
			f.SlotShown, f.SlotUsed = float64(t.shown), float64(t.used)
		}
	}
}

// Forget deletes the counters of records and subtracts them from those of their slots. Records
// without counters are no error.
func (l *Learner) Forget(ctx context.Context, ids ...string) error {
	if err := l.Load(ctx); err != nil {
		return err
	}
	now := l.o.Now()
	var ch changes
	err := l.shelf.Update(ctx, func(tx store.ShelfTx) error {
		ch = changes{map[string]*tally{}, map[uint64]*tally{}}
		for _, id := range ids {
			key := prefixClaim + id
			b := tx.Get(key)
			if b == nil {
				continue
			}
			if t, ok := decodeTally(b); ok && t.entity != 0 {
				t = t.decayed(now, l.o.HalfLife)
				l.move(tx, t.slot(), -t.shown, -t.used, now, &ch)
			}
			ch.records[id] = nil
		}
		return ch.write(tx)
	})
	if err != nil {
		return fmt.Errorf("forget the learned use of items: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.apply(&ch)
	return nil
}

// tally counts how often something was shown and used. Older counts decay.
type tally struct {
	shown, used float32
	at          int64 // Unix seconds to which shown and used are decayed
	entity      uint32
	aspect      uint32
}

// decayed returns a tally decayed to now: by half in each half-life. An earlier time changes nothing.
func (t tally) decayed(now time.Time, halfLife time.Duration) tally {
	age := time.Duration(now.Unix()-t.at) * time.Second
	if age <= 0 || halfLife <= 0 {
		return t
	}
	left := float32(math.Exp2(-float64(age) / float64(halfLife)))
	t.shown, t.used, t.at = t.shown*left, t.used*left, now.Unix()
	return t
}

func (t tally) plus(shown, used float32) tally {
	t.shown = max(0, t.shown+shown)
	t.used = min(max(0, t.used+used), t.shown)
	return t
}

// minShown is the value of shown below which a slot's tally is deleted.
const minShown = 0.01

func (t tally) slot() uint64 { return pair(t.entity, t.aspect) }

const tallyBytes = 24

func (t tally) encode() []byte {
	b := make([]byte, 0, tallyBytes)
	b = binary.LittleEndian.AppendUint32(b, math.Float32bits(t.shown))
	b = binary.LittleEndian.AppendUint32(b, math.Float32bits(t.used))
	b = binary.LittleEndian.AppendUint64(b, uint64(t.at))
	b = binary.LittleEndian.AppendUint32(b, t.entity)
	return binary.LittleEndian.AppendUint32(b, t.aspect)
}

// decodeTally decodes a tally; false if b is invalid.
func decodeTally(b []byte) (t tally, ok bool) {
	if len(b) != tallyBytes {
		return t, false
	}
	t.shown, t.used = math.Float32frombits(binary.LittleEndian.Uint32(b)), math.Float32frombits(binary.LittleEndian.Uint32(b[4:]))
	t.at = int64(binary.LittleEndian.Uint64(b[8:]))
	t.entity, t.aspect = binary.LittleEndian.Uint32(b[16:]), binary.LittleEndian.Uint32(b[20:])
	fine := func(f float32) bool { return f >= 0 && f < 1e9 } // NaN fails too
	return t, fine(t.shown) && fine(t.used) && t.used <= t.shown
}

const (
	keyState    = "scorer/state"
	prefixAside = "scorer/aside/"
	prefixClaim = "scorer/claim/"
	prefixSlot  = "scorer/slot/"
)

func keySlot(slot uint64) string { return fmt.Sprintf("%s%016x", prefixSlot, slot) }
