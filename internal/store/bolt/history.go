package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"

	"github.com/google/uuid"
	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// Get returns one claim by its id or a unique prefix or suffix of at least six
// characters, as blocks and tables show them. Repository chunks are found too.
func (s *Store) Get(ctx context.Context, id string) (ken.Claim, error) {
	ref, err := s.resolve(id)
	if err != nil {
		return ken.Claim{}, err
	}
	return s.Claim(ctx, ref)
}

const minShortID = 6

func (s *Store) resolve(id string) (store.Ref, error) {
	if u, err := uuid.Parse(id); err == nil {
		if ref, _, ok := s.find(u); ok {
			return ref, nil
		}
		return 0, notFound(id)
	}
	if len(id) < minShortID {
		return 0, notFound(id)
	}
	s.t.mu.RLock()
	defer s.t.mu.RUnlock()
	var found []store.Ref
	for u, ref := range s.t.byID {
		text := u.String()
		if len(id) < len(text) && (text[:len(id)] == id || text[len(text)-len(id):] == id) {
			found = append(found, ref)
		}
	}
	switch len(found) {
	case 0:
		return 0, notFound(id)
	case 1:
		return found[0], nil
	}
	return 0, &ken.Error{Code: ken.CodeInvalid, Field: "id", Msg: fmt.Sprintf("%q fits %d records", id, len(found)), Try: "Give more characters of the id."}
}

func notFound(id string) error {
	return &ken.Error{Code: ken.CodeNotFound, Field: "id", Msg: fmt.Sprintf("no claim %q", id),
		Try: "Find it with ken recall, and check --owner."}
}

// History implements ken.Store. A forgotten claim still has its events, erased.
func (s *Store) History(ctx context.Context, id string) ([]ken.ClaimEvent, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	u, err := uuid.Parse(id)
	if err != nil {
		return nil, notFound(id)
	}
	var out []ken.ClaimEvent
	err = s.view(func(tx *bbolt.Tx) error {
		return trail(tx, u, func(ev *store.Event) error {
			entries, err := store.View(ev, u.String())
			out = append(out, entries...)
			return err
		})
	})
	if err == nil && out == nil {
		err = notFound(id)
	}
	return out, err
}

// trail calls fn for every event of a claim, oldest first.
func trail(tx *bbolt.Tx, id uuid.UUID, fn func(*store.Event) error) error {
	cur := tx.Bucket(bTrail).Cursor()
	for k, _ := cur.Seek(id[:]); bytes.HasPrefix(k, id[:]); k, _ = cur.Next() {
		ev, err := eventAt(tx, k[16:])
		if err != nil {
			return err
		}
		if err := fn(ev); err != nil {
			return err
		}
	}
	return nil
}

func eventAt(tx *bbolt.Tx, key []byte) (*store.Event, error) {
	return decodeEvent(key, tx.Bucket(bEvents).Get(key))
}

func decodeEvent(key, v []byte) (*store.Event, error) {
	ev := &store.Event{Seq: binary.BigEndian.Uint64(key)}
	if err := ev.UnmarshalBinary(v); err != nil {
		return nil, &ken.Error{Code: ken.CodeCorrupt, Msg: fmt.Sprintf("read event %d", ev.Seq), Err: err,
			Try: "Run ken verify-log to see how far the log is good."}
	}
	return ev, nil
}

// eventPage is how many events are read in one transaction: short ones, so that
// a slow reader neither holds pages back nor waits on its own writes.
const eventPage = 512

// Events yields the log from a sequence number on, oldest first. It ends after
// the last event that is there when it gets to it, or after an error.
func (s *Store) Events(ctx context.Context, from uint64) iter.Seq2[*store.Event, error] {
	return store.AllEvents(ctx, from, s.eventsFrom)
}

// eventsFrom reads a page of the events whose changes the rows have: a transaction is
// there to be read before they do.
func (s *Store) eventsFrom(_ context.Context, seq uint64) (page []*store.Event, err error) {
	last := s.seq.Load()
	err = s.view(func(tx *bbolt.Tx) error {
		cur := tx.Bucket(bEvents).Cursor()
		for k, v := cur.Seek(key64(seq)); k != nil && binary.BigEndian.Uint64(k) <= last && len(page) < eventPage; k, v = cur.Next() {
			ev, err := decodeEvent(k, v)
			if err != nil {
				return err
			}
			page = append(page, ev)
		}
		return nil
	})
	return page, err
}

// Seq is the number of the log's last event; 0 while it is empty.
func (s *Store) Seq() uint64 { return s.seq.Load() }

// Wait returns when the log holds an event after seq, or ctx ends.
func (s *Store) Wait(ctx context.Context, seq uint64) error {
	for {
		s.wakeMu.Lock()
		wake := s.wake
		s.wakeMu.Unlock()
		if s.seq.Load() > seq {
			return nil
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return ctx.Err()
		case <-s.stopped:
			return errClosed
		}
	}
}

// Claims yields every claim of the log that still stands in the projection, by
// age, whatever its status. Repository chunks are left out.
func (s *Store) Claims(ctx context.Context) iter.Seq2[ken.Claim, error] {
	return func(yield func(ken.Claim, error) bool) {
		s.t.mu.RLock()
		var refs []store.Ref
		for i := range s.t.rows {
			if r := &s.t.rows[i]; !r.gone() && r.flags&flagDocument == 0 {
				refs = append(refs, store.Ref(i))
			}
		}
		s.t.mu.RUnlock()
		var left []error // out: what is good comes first
		for _, ref := range refs {
			c, err := s.Claim(ctx, ref)
			if errors.Is(err, ken.ErrCorrupt) {
				left = append(left, err)
				continue
			}
			if err == nil {
				err = ctx.Err()
			}
			if !yield(c, err) || err != nil {
				return
			}
		}
		if len(left) > 0 {
			yield(ken.Claim{}, damaged(fmt.Sprintf("%d claims can't be read and are left out", len(left)), left[0]))
		}
	}
}
