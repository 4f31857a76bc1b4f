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

// Outcome is what came of a turn.
type Outcome struct {
	Ranking *ken.Ranking // nil where nothing could be ordered
	Used    []ken.Use
	// Shown are the items that count for their entity's aspect; constraints and what
	// is in every turn are shown whether they are of use or not, and are not among
	// them.
	Shown []Shown
}

// Shown is an item as it is counted.
type Shown struct {
	ID     string
	Entity string // the primary one; "" for none
	Aspect string
}

// ShownOf are the items of a block that count.
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

// changes are what one transaction makes of the counters; nil values are deleted.
type changes struct {
	records map[string]*tally
	slots   map[uint64]*tally
}

// Learn is Take in a transaction of its own, which also runs also, unless that is nil.
// Errors: the shelf's, and also's; nothing is learned then.
func (l *Learner) Learn(ctx context.Context, outcomes []Outcome, also func(store.ShelfTx) error) error {
	if err := l.Load(ctx); err != nil {
		return err
	}
	var taken func()
	err := l.shelf.Update(ctx, func(tx store.ShelfTx) (err error) {
		if taken, err = l.Take(tx, outcomes); err != nil || also == nil {
			return err
		}
		return also(tx)
	})
	if err != nil {
		return fmt.Errorf("learn what was of use: %w", err)
	}
	taken()
	return nil
}

// Take learns what came of turns, in their order, within the caller's own transaction.
// Only what is judged is learned from: an outcome without Used changes nothing. Call
// what it returns once the transaction is durable: turns go by it from then on.
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

// count counts one outcome.
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
		if was := t; was.entity != 0 && was.slot() != pair(entity, aspect) { // it was filed anew
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

// recordOf reads a record's counters as they are at now; false for what can't be read.
func (l *Learner) recordOf(tx store.ShelfReader, id string, now time.Time, ch *changes) (tally, bool) {
	if t, ok := ch.records[id]; ok && t != nil {
		return *t, true
	}
	b := tx.Get(prefixClaim + id)
	if b == nil {
		return tally{at: now.Unix()}, true
	}
	t, ok := decodeTally(b)
	return t.faded(now, l.o.HalfLife), ok
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
		t = t.faded(now, l.o.HalfLife)
	}
	t = t.plus(shown, used)
	ch.slots[slot] = &t
}

// evict adds to the changes the counters that there is no room for.
func (l *Learner) evict(ch *changes) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	evict(l.records, ch.records, l.o.Records)
	evict(l.slots, ch.slots, l.o.Slots)
}

// evict deletes the least recently touched of have and changed once there are more
// than most, a sixteenth more than need be, so that it is rare.
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
		if t != nil && t.shown < least {
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

// apply takes over written changes. l.mu is held.
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

// Learned orders by a model as it was when it was made. It is safe for concurrent
// use.
type Learned struct{ w *[width]float64 }

var _ Scorer = (*Learned)(nil)

// NewLearned returns the order of a model, which may go on learning.
func NewLearned(m *Model) *Learned { return &Learned{m.weights()} }

// Order implements Scorer: the likeliest to be used first, equal ones in the plain
// order. It does not look at turn and never fails.
func (l *Learned) Order(_ context.Context, _ Turn, c []Features) ([]int, error) {
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
	return order, nil
}

// Rate is in how many turns the two candidates at the cut are swapped.
const Rate = 0.05

// Explorer decides whether a turn explores. The zero value explores in Rate of all
// turns.
type Explorer struct {
	Rate float64 // 0..1; 0 means Rate
	// Chance is where the decision falls for a turn, 0 to below 1: below Rate, it
	// explores. The same turn must always have the same. Nil: by a hash of the turn's
	// id.
	Chance func(turn string) float64
}

// Explore reports whether a turn swaps the two candidates at the cut, and how
// probable what it does was.
//
// Without it, what the order leaves out is never seen to be of use, and an order can
// only be judged by what another one showed. As the probability is known, what
// would have come of another order can be estimated without that bias: by inverse
// propensity (A. Swaminathan and T. Joachims, Counterfactual risk minimization, ICML
// 2015; T. Joachims, A. Swaminathan and T. Schnabel, Unbiased learning-to-rank with
// biased feedback, WSDM 2017). Swapping neighbours only costs next to nothing.
func (e Explorer) Explore(turn string) (swap bool, propensity float64) {
	rate := e.Rate
	if rate == 0 {
		rate = Rate
	}
	rate = clamp(rate, 0, 1)
	chance := e.Chance
	if chance == nil {
		chance = byID
	}
	if chance(turn) < rate {
		return true, rate
	}
	return false, 1 - rate
}

func byID(turn string) float64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(turn))
	return float64(mix(h.Sum64())>>11) / (1 << 53)
}
