package facet

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/caught"
	"github.com/kenlayer/ken/store"
)

// little is how many events are folded while a page waits: each may cost a claim
// read, a few microseconds at hand and a tenth of a millisecond from another process.
const little = 512

// Progress is how far an owner's columns are.
type Progress struct {
	// Done is how many claims, or events, of Total have been read by the work in the
	// background. Total is an estimate from above until they are equal, which they are
	// when nothing is under way.
	Done, Total int
	// Ready is whether Select has something to select from, be it somewhat old while
	// Done is below Total.
	Ready bool
}

// owner is what is kept of one.
type owner struct {
	name string
	used uint64        // guarded by Index.mu
	turn chan struct{} // whoever changes the columns has it
	ctx  context.Context
	stop context.CancelFunc

	mu   sync.RWMutex // guards what follows
	t    *table       // nil until it is whole
	mark mark
	busy *task // in the background; nil for none
	err  error // of the last task, until a Catch tells it
}

// mark is how far the log is folded.
type mark struct {
	seq   uint64
	hash  [sha256.Size]byte // of that event
	blind bool              // the event could not be read
}

// task is work in the background.
type task struct {
	done  atomic.Int64
	total int
}

func (t *task) step() {
	if t != nil {
		t.done.Add(1)
	}
}

// errOther is met when the log is not the one that was folded.
var errOther = &ken.Error{Code: ken.CodeUnavailable, Msg: "the log was replaced by another one", Try: "Try again: the claims are read anew."}

// Catch brings the columns of a store's owner up to its log. What is little is done
// before it returns, so that who writes and then asks finds what was written; what is
// much goes on in the background, and later calls say how far it is. Errors: those of
// the store, also of work in the background that failed since, which the next call
// begins again; ErrUnavailable once the index is closed. What was known before an
// error stays.
func (x *Index) Catch(ctx context.Context, s Store) (Progress, error) {
	o, err := x.owner(s.Owner())
	if err != nil {
		return Progress{}, err
	}
	select {
	case o.turn <- struct{}{}:
		defer func() { <-o.turn }()
	case <-ctx.Done():
		return o.progress(), ctx.Err()
	}
	o.mu.Lock()
	busy, t, at := o.busy, o.t, o.mark
	err, o.err = o.err, nil
	o.mu.Unlock()
	if busy != nil || err != nil {
		return o.progress(), err
	}
	if t != nil {
		done, err := x.follow(ctx, o, s, at)
		if done || err != nil {
			return o.progress(), err
		}
	}
	seq := s.Seq()
	if seq <= little {
		err = o.load(ctx, s, nil)
	} else {
		err = x.begin(o, s, &task{total: int(seq)}, o.load)
	}
	return o.progress(), err
}

// follow folds what is new, here or in the background, and reports false when the
// claims have to be read anew.
func (x *Index) follow(ctx context.Context, o *owner, s Store, at mark) (bool, error) {
	seq := s.Seq()
	switch {
	case at.blind && seq == at.seq:
		return true, nil
	case at.blind || seq < at.seq:
		o.drop()
		return false, nil
	case seq-at.seq > little:
		if o.size() < int(seq-at.seq) {
			return false, nil // to read all is less
		}
		return true, x.begin(o, s, &task{total: int(seq - at.seq)}, o.fold)
	}
	err := o.fold(ctx, s, nil)
	if errors.Is(err, errOther) || errors.Is(err, ken.ErrCorrupt) {
		o.drop()
		return false, nil
	}
	return true, err
}

// begin starts work in the background. o.turn is held.
func (x *Index) begin(o *owner, s Store, t *task, run func(context.Context, Store, *task) error) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return errClosed
	}
	o.mu.Lock()
	o.busy = t
	o.mu.Unlock()
	x.work.Go(func() {
		err := caught.Run(func() error { return x.held(o, s, func(s Store) error { return run(o.ctx, s, t) }) })
		if o.ctx.Err() != nil {
			err = nil // nobody waits for it
		}
		if err != nil {
			x.o.Log.Warn("counting claims failed", "owner", o.name, "cause", err)
		}
		if errors.Is(err, errOther) || errors.Is(err, ken.ErrCorrupt) {
			o.drop()
			err = nil // the next Catch reads all anew
		}
		o.mu.Lock()
		o.busy, o.err = nil, err
		o.mu.Unlock()
	})
	return nil
}

// held runs fn with a store that stays open.
func (x *Index) held(o *owner, s Store, fn func(Store) error) error {
	if x.o.Open == nil {
		return fn(s)
	}
	e, release, err := x.o.Open(o.ctx, o.name)
	if err != nil {
		return err
	}
	defer release()
	return fn(e)
}

func (o *owner) progress() Progress {
	o.mu.RLock()
	defer o.mu.RUnlock()
	p := Progress{Ready: o.t != nil}
	switch {
	case o.busy != nil:
		p.Total = o.busy.total
		p.Done = min(int(o.busy.done.Load()), p.Total-1)
	case o.t != nil:
		p.Done, p.Total = o.t.at.n, o.t.at.n
	}
	return p
}

func (o *owner) size() int {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.t.at.n
}

// drop gives up columns of a log that is gone: they may hold what was forgotten.
func (o *owner) drop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.t, o.mark = nil, mark{}
}

// load reads all claims. Events that come meanwhile are folded by the next Catch,
// which may see some of them for the second time: that changes nothing.
func (o *owner) load(ctx context.Context, s Store, work *task) error {
	at, err := markOf(ctx, s)
	if err != nil {
		return err
	}
	t, err := readAll(ctx, s, work)
	const tries = 3
	for i := 1; i < tries && errors.Is(err, ken.ErrNotFound); i++ { // forgotten while it was its turn
		t, err = readAll(ctx, s, work)
	}
	if err != nil {
		return err
	}
	o.mu.Lock()
	o.t, o.mark = t, at
	o.mu.Unlock()
	if at.blind {
		return nil
	}
	return o.fold(ctx, s, work)
}

func readAll(ctx context.Context, s Store, work *task) (*table, error) {
	t := newTable()
	for c, err := range s.Claims(ctx) {
		if err != nil {
			return nil, err
		}
		t.put(&c)
		work.step()
	}
	t.fit()
	return t, ctx.Err()
}

// markOf is where the log ends.
func markOf(ctx context.Context, s Store) (mark, error) {
	at := mark{seq: s.Seq()}
	if at.seq == 0 {
		return at, nil
	}
	for ev, err := range s.Events(ctx, at.seq) {
		switch {
		case errors.Is(err, ken.ErrCorrupt):
			at.blind = true
			return at, nil
		case err != nil:
			return at, err
		case ev.Seq != at.seq:
			at.blind = true
		}
		at.hash = ev.Hash
		return at, nil
	}
	at.blind = true
	return at, nil
}

// fold reads the events after the mark and the claims that they concern. It begins
// with the event at the mark: its hash says whether the log is still the same.
func (o *owner) fold(ctx context.Context, s Store, work *task) error {
	o.mu.RLock()
	at, known := o.mark, o.mark.seq == 0
	o.mu.RUnlock()
	concerned := map[uuid.UUID]bool{}
	for ev, err := range s.Events(ctx, max(at.seq, 1)) {
		if err != nil {
			return err
		}
		if !known {
			if ev.Seq != at.seq || ev.Hash != at.hash {
				return errOther
			}
			known = true
			continue
		}
		work.step()
		if err := concern(concerned, ev); err != nil {
			return err
		}
		at.seq, at.hash = ev.Seq, ev.Hash
		if len(concerned) >= little {
			if err := o.refresh(ctx, s, concerned, at); err != nil {
				return err
			}
			clear(concerned)
		}
	}
	if !known {
		return errOther
	}
	return o.refresh(ctx, s, concerned, at)
}

// concern adds the claims that an event changes. Whatever is derived from a forgotten
// claim is forgotten by an event of its own.
func concern(ids map[uuid.UUID]bool, ev *store.Event) error {
	ids[ev.Claim] = true
	if ev.Type != ken.EventSuperseded {
		return nil
	}
	p, err := ev.Decode()
	if err != nil {
		return err
	}
	if id, err := uuid.Parse(p.Other); err == nil {
		ids[id] = true
	}
	return nil
}

// refresh reads claims again and moves the mark.
func (o *owner) refresh(ctx context.Context, s Store, ids map[uuid.UUID]bool, at mark) error {
	claims := make(map[uuid.UUID]*ken.Claim, len(ids))
	for id := range ids {
		c, err := s.Get(ctx, id.String())
		switch {
		case errors.Is(err, ken.ErrNotFound):
			claims[id] = nil
		case err != nil:
			return err
		default:
			claims[id] = &c
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.t == nil {
		return nil
	}
	for id, c := range claims {
		if c == nil {
			o.t.remove(id)
		} else {
			o.t.put(c)
		}
	}
	o.mark = at
	return nil
}
