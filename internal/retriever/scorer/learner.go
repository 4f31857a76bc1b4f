package scorer

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// Mode says when the learned order is in force.
type Mode string

// Modes.
const (
	ModeAuto Mode = "auto" // once it has proved to be better: see Gate
	ModeOff  Mode = "off"  // never, and nothing is explored; it still learns what is of use
	ModeOn   Mode = "on"   // always
)

// Options configures a Learner; the zero value works.
type Options struct {
	Mode     Mode          // default ModeAuto
	Deadline time.Duration // of a turn's order; default DefaultDeadline
	// HalfLife is after what time a use counts half; default 30 days.
	HalfLife time.Duration
	// Records and Slots are how many counters are kept of each sort; those that were
	// not touched for longest go first. Default 8192.
	Records, Slots int
	Now            func() time.Time // default time.Now
	Log            *slog.Logger     // hears of a state that can't be read; default nobody
}

func (o Options) withDefaults() Options {
	if o.Mode == "" {
		o.Mode = ModeAuto
	}
	if o.HalfLife <= 0 {
		o.HalfLife = 30 * 24 * time.Hour
	}
	if o.Records <= 0 {
		o.Records = 8192
	}
	if o.Slots <= 0 {
		o.Slots = 8192
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Learner is an owner's memory of what was of use, and the built-in order made of
// it. What it knows is on the owner's shelf, where any number of processes learn
// into the same state; reading it costs no access to the shelf once it was loaded.
// It is safe for concurrent use.
type Learner struct {
	shelf store.Shelf
	o     Options

	loading sync.Mutex   // one at a time
	mu      sync.RWMutex // guards the rest
	loaded  bool
	gate    Gate
	turns   int
	guard   *Guard // of the model as it is now; nil while it knows nothing
	records map[string]tally
	slots   map[uint64]tally
}

// NewLearner returns the learner of a shelf. It reads nothing yet.
func NewLearner(shelf store.Shelf, o Options) *Learner {
	return &Learner{shelf: shelf, o: o.withDefaults(), records: map[string]tally{}, slots: map[uint64]tally{}}
}

// Load reads what is known, once; later calls return at once. A state that can't be
// read is logged, and as good as none. Errors are the shelf's.
func (l *Learner) Load(ctx context.Context) error {
	if l.isLoaded() {
		return nil
	}
	l.loading.Lock()
	defer l.loading.Unlock()
	if l.isLoaded() {
		return nil
	}
	return l.Refresh(ctx)
}

func (l *Learner) isLoaded() bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.loaded
}

// Refresh reads what is known anew, as other processes left it.
func (l *Learner) Refresh(ctx context.Context) error {
	var st State
	var fault error
	records, slots := map[string]tally{}, map[uint64]tally{}
	err := l.shelf.View(ctx, func(r store.ShelfReader) error {
		st, fault = State{}, nil
		clear(records)
		clear(slots)
		if b := r.Get(keyState); b != nil {
			fault = st.UnmarshalBinary(b)
		}
		for key, b := range r.Scan(prefixClaim) {
			if t, ok := decodeTally(b); ok {
				records[key[len(prefixClaim):]] = t
			}
		}
		for _, b := range r.Scan(prefixSlot) {
			if t, ok := decodeTally(b); ok {
				slots[t.slot()] = t
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read what was of use: %w", err)
	}
	if fault != nil {
		l.o.Log.Warn("the learned order starts anew", "cause", fault, "try", ken.Hint(fault))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.loaded, l.records, l.slots = true, records, slots
	l.adopt(&st)
	return nil
}

// adopt takes over a state. l.mu is held.
func (l *Learner) adopt(st *State) {
	l.gate, l.turns, l.guard = st.Gate, st.Turns, nil
	if st.Turns > 0 {
		l.guard = NewGuard(NewLearned(&st.Model), l.o.Deadline)
	}
}

// Standing is where a learner stands.
type Standing struct {
	Mode    Mode `json:"mode"`
	InForce bool `json:"in_force"` // the learned order decides
	Turns   int  `json:"turns"`    // learned from
	Gate    Gate `json:"gate"`
}

// Standing returns where the learner stands, as of what was loaded.
func (l *Learner) Standing() Standing {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return Standing{l.o.Mode, l.inForce(l.o.Mode), l.turns, l.gate}
}

func (l *Learner) inForce(m Mode) bool {
	return l.guard != nil && (m == ModeOn || m == ModeAuto && l.gate.On)
}

// InForce returns the learned order when it is to decide, else nil.
func (l *Learner) InForce() *Guard { return l.InForceAs(l.o.Mode) }

// InForceAs is InForce for another mode than the learner's, to try it.
func (l *Learner) InForceAs(m Mode) *Guard {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if !l.inForce(m) {
		return nil
	}
	return l.guard
}

// Explores reports whether turns may explore.
func (l *Learner) Explores() bool { return l.o.Mode != ModeOff }

// maxAside bounds the states kept aside: when there are that many, learning stops
// until somebody looks.
const maxAside = 4

// restore reads the state within a transaction, and puts one that can't be read
// aside. ok is false where the state must be left alone.
func (l *Learner) restore(tx store.ShelfTx) (st State, ok bool, err error) {
	b := tx.Get(keyState)
	if b == nil {
		return st, true, nil
	}
	fault := st.UnmarshalBinary(b)
	if fault == nil {
		return st, true, nil
	}
	if errors.Is(fault, errNewer) {
		return State{}, false, nil
	}
	key := fmt.Sprintf("%s%08x", prefixAside, crc32.ChecksumIEEE(b))
	if tx.Get(key) == nil {
		n := 0
		for range tx.Scan(prefixAside) {
			n++
		}
		if n >= maxAside {
			return State{}, false, nil
		}
		if err := tx.Put(key, b); err != nil {
			return State{}, false, err
		}
	}
	return State{}, true, nil
}
