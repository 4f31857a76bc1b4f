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

// maxInline is how many events are processed while a page waits. Each may cost reading a
// claim: a few microseconds in this process, and a tenth of a millisecond from
// another one.
const maxInline = 512

// Progress is the progress of reading an owner's claims.
type Progress struct {
	// Done is how many of Total claims or events the background work has read. Total
	// is an upper estimate until they are equal, which they are when no work is
	// running.
	Done, Total int
	// Ready reports whether Select can be used. While Done is below Total, its
	// results may be outdated.
	Ready bool
}

type owner struct {
	name string
	turn chan struct{} // a lock: whoever changes the columns holds its token
	ctx  context.Context
	stop context.CancelFunc

	mu   sync.RWMutex // guards the fields below
	t    *table       // nil until the claims were read
	mark mark
	busy *task // running background work; nil for none
	err  error // error of the last task, until a Catch returns it
}

// mark is the position up to which the log was processed.
type mark struct {
	seq   uint64
	hash  [sha256.Size]byte // of that event
	blind bool              // the event could not be read
}

// task is background work in progress.
type task struct {
	done  atomic.Int64
	total int
}

func (t *task) step() {
	if t != nil {
		t.done.Add(1)
	}
}

// errReplaced means that the log is not the one that was processed before.
var errReplaced = &ken.Error{Code: ken.CodeUnavailable, Msg: "the log was replaced by another one", Try: "Try again: the claims are read anew."}

// Catch updates the columns of a store's owner from its log. It processes a few
// events before it returns, so that a page after a write shows the write. More events
// are processed in the background, and later calls return the progress. Errors: those
// of the store, including those of background work, which the next call starts again;
// ErrUnavailable once the index is closed. After an error the columns stay as they
// were.
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
	if seq <= maxInline {
		err = o.load(ctx, s, nil)
	} else {
		err = x.begin(o, s, &task{total: int(seq)}, o.load)
	}
	return o.progress(), err
}

// follow processes new events, here or in the background. It returns false if all
// claims have to be read again.
func (x *Index) follow(ctx context.Context, o *owner, s Store, at mark) (bool, error) {
	seq := s.Seq()
	switch {
	case at.blind && seq == at.seq:
		return true, nil
	case at.blind || seq < at.seq:
		o.drop()
		return false, nil
	case seq-at.seq > maxInline:
		if o.size() < int(seq-at.seq) {
			return false, nil // reading all claims is cheaper
		}
		return true, x.begin(o, s, &task{total: int(seq - at.seq)}, o.fold)
	}
	err := o.fold(ctx, s, nil)
	if errors.Is(err, errReplaced) || errors.Is(err, ken.ErrCorrupt) {
		o.drop()
		return false, nil
	}
	return true, err
}

// begin starts background work. The caller holds o.turn.
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
		err := caught.Run(func() error { return x.withStore(o, s, func(s Store) error { return run(o.ctx, s, t) }) })
		if o.ctx.Err() != nil {
			err = nil // no caller waits for it
		}
		if err != nil {
			x.o.Log.Warn("counting claims failed", "owner", o.name, "cause", err)
		}
		if errors.Is(err, errReplaced) || errors.Is(err, ken.ErrCorrupt) {
			o.drop()
			err = nil // the next Catch reads everything again
		}
		o.mu.Lock()
		o.busy, o.err = nil, err
		o.mu.Unlock()
	})
	return nil
}

// withStore calls fn with a store that stays open.
func (x *Index) withStore(o *owner, s Store, fn func(Store) error) error {
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
		p.Done, p.Total = len(o.t.slots), len(o.t.slots)
	}
	return p
}

func (o *owner) size() int {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return len(o.t.slots)
}

// drop removes the columns of a replaced log, because they may contain forgotten
// claims.
func (o *owner) drop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.t, o.mark = nil, mark{}
}

// load reads all claims. Events that arrive meanwhile are processed by the next
// Catch. It may process some of them twice, which changes nothing.
func (o *owner) load(ctx context.Context, s Store, work *task) error {
	at, err := markOf(ctx, s)
	if err != nil {
		return err
	}
	t, err := readAll(ctx, s, work)
	const tries = 3
	for i := 1; i < tries && errors.Is(err, ken.ErrNotFound); i++ { // it was forgotten while it was being read
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
	t.shrink()
	return t, ctx.Err()
}

// markOf returns the end of the log.
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

// fold processes the events after the mark, and reads the claims that they concern.
// It begins with the event at the mark, whose hash shows whether the log is the same.
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
				return errReplaced
			}
			known = true
			continue
		}
		work.step()
		if err := concern(concerned, ev); err != nil {
			return err
		}
		at.seq, at.hash = ev.Seq, ev.Hash
		if len(concerned) >= maxInline {
			if err := o.refresh(ctx, s, concerned, at); err != nil {
				return err
			}
			clear(concerned)
		}
	}
	if !known {
		return errReplaced
	}
	return o.refresh(ctx, s, concerned, at)
}

// concern adds the claims that an event changes. Claims derived from a forgotten
// claim have events of their own.
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
