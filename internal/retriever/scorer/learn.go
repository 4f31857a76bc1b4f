package scorer

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

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
