package scorer

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"
)

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
