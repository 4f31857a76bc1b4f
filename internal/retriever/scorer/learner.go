package scorer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// Mode says when the learned order takes effect.
type Mode string

// Modes.
const (
	ModeAuto Mode = "auto" // after it has proved to be better: see Gate
	ModeOff  Mode = "off"  // never, and nothing is explored; it still learns
	ModeOn   Mode = "on"   // always
)

// Options configures a Learner. The zero value works.
type Options struct {
	Mode Mode // the default is ModeAuto
	// HalfLife is the time after which a use counts half; the default is 30 days.
	HalfLife time.Duration
	// Records and Slots are the maximum numbers of counters for records and for slots. The least
	// recently changed ones are deleted first. The default is 8192.
	Records, Slots int
	Now            func() time.Time // nil means time.Now
	Log            *slog.Logger     // receives errors of reading the state; nil discards them
}

func (o Options) withDefaults() Options {
	o.Mode = cmp.Or(o.Mode, ModeAuto)
	o.HalfLife = cmp.Or(max(o.HalfLife, 0), 30*24*time.Hour)
	o.Records = cmp.Or(max(o.Records, 0), 8192)
	o.Slots = cmp.Or(max(o.Slots, 0), 8192)
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return o
}

// Learner stores the use of an owner's items and computes the learned order from it. Its data is on
// the owner's shelf, and several processes may update the same state. After Load, reading needs no
// access to the shelf. It is safe for concurrent use.
type Learner struct {
	shelf store.Shelf
	o     Options

	loading sync.Mutex   // held while loading
	mu      sync.RWMutex // guards the rest
	loaded  bool
	gate    Gate
	turns   int
	learned *Learned // the current model; nil before the first turn
	records map[string]tally
	slots   map[uint64]tally
}

// NewLearner returns the learner of a shelf. It does not read the shelf.
func NewLearner(shelf store.Shelf, o Options) *Learner {
	return &Learner{shelf: shelf, o: o.withDefaults(), records: map[string]tally{}, slots: map[uint64]tally{}}
}

// Load reads the state from the shelf on the first call. If the state can't be decoded, Load logs
// that and uses an empty one. It returns the errors of the shelf.
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

// Refresh reads the state from the shelf again, to get the changes of other processes.
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
		return fmt.Errorf("read the learned use of items: %w", err)
	}
	if fault != nil {
		l.o.Log.Warn("the learned order is reset", "cause", fault, "try", ken.Hint(fault))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.loaded, l.records, l.slots = true, records, slots
	l.adopt(&st)
	return nil
}

// adopt replaces the current state. The caller holds l.mu.
func (l *Learner) adopt(st *State) {
	l.gate, l.turns, l.learned = st.Gate, st.Turns, nil
	if st.Turns > 0 {
		l.learned = NewLearned(&st.Model)
	}
}

// Standing describes the state of a learner.
type Standing struct {
	Mode    Mode `json:"mode"`
	InForce bool `json:"in_force"` // the learned order takes effect
	Turns   int  `json:"turns"`    // number of turns learned from
	Gate    Gate `json:"gate"`
}

// Standing returns the learner's state as of the last load.
func (l *Learner) Standing() Standing {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return Standing{l.o.Mode, l.inForce(l.o.Mode), l.turns, l.gate}
}

func (l *Learner) inForce(m Mode) bool {
	return l.learned != nil && (m == ModeOn || m == ModeAuto && l.gate.On)
}

// InForce returns the learned order if it takes effect; nil otherwise.
func (l *Learner) InForce() *Learned { return l.InForceAs(l.o.Mode) }

// InForceAs is InForce for another mode than the learner's, for dry runs.
func (l *Learner) InForceAs(m Mode) *Learned {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if !l.inForce(m) {
		return nil
	}
	return l.learned
}

// Explores reports whether turns may explore.
func (l *Learner) Explores() bool { return l.o.Mode != ModeOff }

// maxAside is the maximum number of unreadable states that are kept aside. When it is reached,
// learning stops until somebody removes them.
const maxAside = 4

// restore reads the state in a transaction. It moves an unreadable state aside. ok is false if the
// state must not be changed.
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

// Outcome is the result of a turn.
type Outcome struct {
	Ranking *ken.Ranking // nil if nothing could be ordered
	Used    []ken.Use
	// Shown are the items that count for the aspect of their entity. Constraints, and items that
	// are in every turn, are shown whether they are useful or not, so they are not in it.
	Shown []Shown
}

// Shown identifies an item and the slot in which it is counted.
type Shown struct {
	ID     string
	Entity string // its primary entity; "" for none
	Aspect string
}

// ShownOf returns the items of a block that count.
func ShownOf(items []ken.Item) (out []Shown) {
	for i := range items {
		it := &items[i]
		if it.Constraint || it.Memory || it.ID == "" {
			continue
		}
		s := Shown{ID: it.ID, Aspect: it.Aspect}
		if len(it.Entities) > 0 {
			s.Entity = it.Entities[0]
		}
		out = append(out, s)
	}
	return out
}

// changes holds the new counters of one transaction; a nil value means that the counter is deleted.
type changes struct {
	records map[string]*tally
	slots   map[uint64]*tally
}

// Take learns from outcomes, in order, within the caller's transaction. It ignores an outcome
// without Used. Call taken once the transaction is durable: it updates the state in memory, which
// turns use.
func (l *Learner) Take(tx store.ShelfTx, outcomes []Outcome) (taken func(), err error) {
	now := l.o.Now()
	ch := changes{map[string]*tally{}, map[uint64]*tally{}}
	st, kept, err := l.restore(tx)
	if err != nil {
		return nil, err
	}
	before := st.Turns
	for i := range outcomes {
		if o := &outcomes[i]; len(o.Used) > 0 {
			st.Take(Labels(o.Ranking, o.Used))
			l.count(tx, o, now, &ch)
		}
	}
	if kept && st.Turns > before {
		st.settle()
		b, err := st.MarshalBinary()
		if err != nil {
			return nil, err
		}
		if err := tx.Put(keyState, b); err != nil {
			return nil, err
		}
	}
	l.evict(&ch)
	if err := ch.write(tx); err != nil {
		return nil, err
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if kept {
			l.adopt(&st)
		}
		l.apply(&ch)
	}, nil
}

// count adds one outcome to the counters.
func (l *Learner) count(tx store.ShelfTx, o *Outcome, now time.Time, ch *changes) {
	for _, s := range o.Shown {
		at := slices.IndexFunc(o.Used, func(u ken.Use) bool { return u.ID == s.ID })
		if at < 0 {
			continue
		}
		key := prefixClaim + s.ID
		if len(key) > store.MaxShelfKey {
			continue
		}
		t, ok := l.recordOf(tx, s.ID, now, ch)
		if !ok {
			continue
		}
		used := float32(is(o.Used[at].Helped()))
		entity, aspect := Slot(s.Entity), Slot(s.Aspect)
		if entity == 0 {
			aspect = 0
		}
		if was := t; was.entity != 0 && was.slot() != pair(entity, aspect) { // its entity or aspect has changed
			l.move(tx, was.slot(), -was.shown, -was.used, now, ch)
			if entity != 0 {
				l.move(tx, pair(entity, aspect), was.shown, was.used, now, ch)
			}
		}
		t.entity, t.aspect = entity, aspect
		t = t.plus(1, used)
		ch.records[s.ID] = &t
		if entity != 0 {
			l.move(tx, pair(entity, aspect), 1, used, now, ch)
		}
	}
}

// recordOf returns a record's counters, decayed to now; false if they can't be decoded.
func (l *Learner) recordOf(tx store.ShelfReader, id string, now time.Time, ch *changes) (tally, bool) {
	if t, ok := ch.records[id]; ok && t != nil {
		return *t, true
	}
	b := tx.Get(prefixClaim + id)
	if b == nil {
		return tally{at: now.Unix()}, true
	}
	t, ok := decodeTally(b)
	return t.decayed(now, l.o.HalfLife), ok
}

// move adds to a slot's counters.
func (l *Learner) move(tx store.ShelfReader, slot uint64, shown, used float32, now time.Time, ch *changes) {
	t := tally{at: now.Unix(), entity: uint32(slot >> 32), aspect: uint32(slot)}
	if have, ok := ch.slots[slot]; ok && have != nil {
		t = *have
	} else if b := tx.Get(keySlot(slot)); b != nil {
		var ok bool
		if t, ok = decodeTally(b); !ok {
			return
		}
		t = t.decayed(now, l.o.HalfLife)
	}
	t = t.plus(shown, used)
	ch.slots[slot] = &t
}

// evict adds deletions to ch if there are too many counters.
func (l *Learner) evict(ch *changes) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	evict(l.records, ch.records, l.o.Records)
	evict(l.slots, ch.slots, l.o.Slots)
}

// evict deletes the least recently changed counters if there would be more than most. It deletes a
// sixteenth more than necessary, so that it is rarely needed.
func evict[K cmp.Ordered](have map[K]tally, changed map[K]*tally, most int) {
	n := len(have)
	for k, t := range changed {
		if _, ok := have[k]; !ok && t != nil {
			n++
		}
	}
	if n <= most {
		return
	}
	type old struct {
		key K
		at  int64
	}
	all := make([]old, 0, len(have))
	for k, t := range have {
		if _, ok := changed[k]; !ok {
			all = append(all, old{k, t.at})
		}
	}
	slices.SortFunc(all, func(a, b old) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.key, b.key)) })
	for _, o := range all[:min(len(all), n-most+most/16)] {
		changed[o.key] = nil
	}
}

func (ch *changes) write(tx store.ShelfTx) error {
	for _, id := range slices.Sorted(maps.Keys(ch.records)) {
		if err := put(tx, prefixClaim+id, ch.records[id]); err != nil {
			return err
		}
	}
	for _, slot := range slices.Sorted(maps.Keys(ch.slots)) {
		t := ch.slots[slot]
		if t != nil && t.shown < minShown {
			ch.slots[slot], t = nil, nil
		}
		if err := put(tx, keySlot(slot), t); err != nil {
			return err
		}
	}
	return nil
}

func put(tx store.ShelfTx, key string, t *tally) error {
	if t == nil {
		return tx.Delete(key)
	}
	return tx.Put(key, t.encode())
}

// apply updates the state in memory with written changes. The caller holds l.mu.
func (l *Learner) apply(ch *changes) {
	merge(l.records, ch.records)
	merge(l.slots, ch.slots)
}

func merge[K comparable](have map[K]tally, changed map[K]*tally) {
	for k, t := range changed {
		if t == nil {
			delete(have, k)
		} else {
			have[k] = *t
		}
	}
}

// Learned orders candidates by a copy of a model. It is safe for concurrent use.
type Learned struct{ w *[width]float64 }

// NewLearned returns the order of a model's current weights. The model may continue to learn.
func NewLearned(m *Model) *Learned { return &Learned{m.weights()} }

// Order returns the indices of c, those with the highest probability of use first; equal ones stay in
// the plain order. c contains no constraint.
func (l *Learned) Order(c []Features) []int {
	order, score := identity(len(c)), make([]float64, len(c))
	for i := range c {
		v := vectorOf(&c[i])
		for j, x := range v.x {
			score[i] += x * l.w[j]
		}
		for _, j := range v.slots[:v.n] {
			score[i] += l.w[j]
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(score[b], score[a]) })
	return order
}

// Rate is the share of turns in which the two candidates at the cut are swapped.
const Rate = 0.05

// Explore reports whether a turn swaps the two candidates at the cut, and the probability of that
// choice.
//
// Without exploration, items that the order leaves out are never seen to be useful, and an order
// can only be judged on what another one showed. Because the probability is known, the result of
// another order can be estimated without that bias, by inverse propensity (A. Swaminathan and T.
// Joachims, Counterfactual risk minimization, ICML 2015; T. Joachims, A. Swaminathan and T.
// Schnabel, Unbiased learning-to-rank with biased feedback, WSDM 2017). Swapping only neighbours
// costs almost nothing.
func Explore(turn string) (swap bool, propensity float64) {
	if byID(turn) < Rate {
		return true, Rate
	}
	return false, 1 - Rate
}

func byID(turn string) float64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(turn))
	return float64(mix(h.Sum64())>>11) / (1 << 53)
}
