package scorer

import (
	"context"
	"fmt"
	"time"

	"github.com/kenlayer/ken/store"
)

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
