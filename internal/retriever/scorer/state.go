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

// Counts returns how often what is filed under an entity's aspect was shown, and how
// often it was used, names as analysis.Entity takes them; the aspect "" is that of
// what has none. Both fade: half of it is gone after Options.HalfLife. It is
// structure.Utility, from memory: nothing before Load.
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
	t = t.faded(l.o.Now(), l.o.HalfLife)
	return float64(t.shown), float64(t.used)
}

// Earlier fills in what came of candidates in earlier turns, and the slots of those
// that have none and were shown before.
func (l *Learner) Earlier(c []Features, now time.Time) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for i := range c {
		f := &c[i]
		if t, ok := l.records[f.ID]; ok {
			if f.Entity == 0 {
				f.Entity, f.Aspect = t.entity, t.aspect
			}
			t = t.faded(now, l.o.HalfLife)
			f.Shown, f.Used = float64(t.shown), float64(t.used)
		}
		if f.Entity == 0 {
			continue
		}
		if t, ok := l.slots[pair(f.Entity, f.Aspect)]; ok {
			t = t.faded(now, l.o.HalfLife)
			f.SlotShown, f.SlotUsed = float64(t.shown), float64(t.used)
		}
	}
}

// Forget deletes the counters of records, and takes them off those of their slots.
// Records that were never counted are no error.
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
				t = t.faded(now, l.o.HalfLife)
				l.move(tx, t.slot(), -t.shown, -t.used, now, &ch)
			}
			ch.records[id] = nil
		}
		return ch.write(tx)
	})
	if err != nil {
		return fmt.Errorf("forget what was of use: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.apply(&ch)
	return nil
}

// tally is how often something was shown and used. What lies back counts less.
type tally struct {
	shown, used float32
	at          int64 // Unix seconds that shown and used are of
	entity      uint32
	aspect      uint32
}

// faded is what is left of a tally at a time: half of it after each half-life. A time
// before it changes nothing.
func (t tally) faded(now time.Time, halfLife time.Duration) tally {
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

// least is what a tally is not worth keeping below.
const least = 0.01

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

// decodeTally reports false for what is none; it is left alone.
func decodeTally(b []byte) (t tally, ok bool) {
	if len(b) != tallyBytes {
		return t, false
	}
	t.shown, t.used = math.Float32frombits(binary.LittleEndian.Uint32(b)), math.Float32frombits(binary.LittleEndian.Uint32(b[4:]))
	t.at = int64(binary.LittleEndian.Uint64(b[8:]))
	t.entity, t.aspect = binary.LittleEndian.Uint32(b[16:]), binary.LittleEndian.Uint32(b[20:])
	fine := func(f float32) bool { return f >= 0 && f < 1e9 } // no number is not either
	return t, fine(t.shown) && fine(t.used) && t.used <= t.shown
}

const (
	keyState    = "scorer/state"
	prefixAside = "scorer/aside/"
	prefixClaim = "scorer/claim/"
	prefixSlot  = "scorer/slot/"
)

func keySlot(slot uint64) string { return fmt.Sprintf("%s%016x", prefixSlot, slot) }
