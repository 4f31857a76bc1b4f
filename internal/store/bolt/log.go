package bolt

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/google/uuid"
	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/engine"
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

// History implements ken.Store. A forgotten claim still has its events, without their
// payloads.
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
		err := trail(tx, u, func(ev *store.Event) error {
			entries, err := engine.View(ev, u.String())
			out = append(out, entries...)
			return err
		})
		if ref, r, ok := s.find(u); ok && err == nil && out == nil && r.flags&flagDocument == 0 { // chunks of files have no events
			if c, _ := s.claimAt(tx, ref); c != nil {
				return damaged("read the history of "+u.String(), errors.New("the list of its events is missing"))
			}
		}
		return err
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

// eventPage is the number of events that are read in one transaction. Transactions are
// short so that a slow reader neither keeps old pages from being freed nor waits on its
// own writes.
const eventPage = 512

// Events yields the log from a sequence number on, oldest first. It ends after the event
// that is last when it is reached, or after an error.
func (s *Store) Events(ctx context.Context, from uint64) iter.Seq2[*store.Event, error] {
	return engine.AllEvents(ctx, from, s.eventsFrom)
}

// eventsFrom reads a page of events. It stops at the last event whose changes are in the
// rows: a transaction can be read before the rows are updated.
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

// Seq returns the number of the log's last event; 0 while it is empty.
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

// Claims yields every stored claim that came from the log, oldest first, whatever its
// status. Repository chunks are left out.
func (s *Store) Claims(ctx context.Context) iter.Seq2[ken.Claim, error] {
	return func(yield func(ken.Claim, error) bool) {
		s.t.mu.RLock()
		refs := s.t.claims()
		s.t.mu.RUnlock()
		var left []error // errors, which are yielded after the good claims
		for _, ref := range refs {
			c, err := s.Claim(ctx, ref)
			if errors.Is(err, ken.ErrCorrupt) {
				left = append(left, err)
				continue
			}
			if errors.Is(err, ken.ErrNotFound) { // removed meanwhile
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

// VerifyLog verifies the hash chain from the first event to the last. It fails with
// ken.ErrCorrupt at the first event that does not follow from the one before; the report
// counts the events before it.
func (s *Store) VerifyLog(ctx context.Context) (store.LogReport, error) {
	r := store.LogReport{Owner: s.o.Owner}
	bad := func(err error) error {
		return &ken.Error{Code: ken.CodeCorrupt, Msg: "the log does not verify", Err: err,
			Try: "Restore the store from a backup; events before that one are good."}
	}
	var prev [sha256.Size]byte
	for ev, err := range s.Events(ctx, 1) {
		if err != nil {
			return r, err
		}
		if ev.Seq != r.Events+1 {
			return r, bad(fmt.Errorf("event %d is missing", r.Events+1))
		}
		if err := ev.Verify(prev); err != nil {
			return r, bad(err)
		}
		prev = ev.Hash
		r.Events++
		if ev.Erased() {
			r.Erased++
		}
		if r.Events%10_000 == 0 {
			s.o.Progress("verify", int(r.Events), int(s.seq.Load()))
		}
	}
	s.o.Progress("verify", int(r.Events), int(r.Events))
	r.Head = hex.EncodeToString(prev[:])
	// Writers may have appended events since the last page was read, and Events shows
	// them a moment later. So both the last key and the head are read in one transaction.
	err := s.view(func(tx *bbolt.Tx) error {
		last, _ := tx.Bucket(bEvents).Cursor().Last()
		head := tx.Bucket(bMeta).Get(kHead)
		if r.Events > 0 && bytes.Equal(last, key64(r.Events)) && !bytes.Equal(head, prev[:]) {
			return bad(fmt.Errorf("the last events are missing"))
		}
		return nil
	})
	return r, err
}

// doOnce is do for a write whose result the caller needs. With an ID in ctx (see
// store.WithCommit), the write is done once. A repeated write changes nothing and sets
// result to the first result. fn sets result, which must survive JSON encoding.
func (s *Store) doOnce(ctx context.Context, result any, fn func(*txn) error) error {
	return s.submit(ctx, &request{fn: fn, commit: store.CommitOf(ctx), result: result, done: make(chan error, 1)})
}

// checkCommitID rejects an ID of a write that does not contain its creation time (UUID
// version 7). Such an ID could be pruned at any time.
func checkCommitID(id uuid.UUID) error {
	if id == uuid.Nil || id.Version() == 7 {
		return nil
	}
	return &ken.Error{Code: ken.CodeInvalid, Field: "commit", Msg: fmt.Sprintf("%s is not a UUID of version 7", id),
		Try: "Name the write with uuid.NewV7."}
}

// apply runs the request, unless a write with the same ID was done before. A request that
// changes nothing does not store its ID, so it may still be done later.
func (r *request) apply(t *txn) error {
	if r.commit == uuid.Nil {
		return r.fn(t)
	}
	if was := t.committed(r.commit); was != nil {
		if r.result == nil {
			return nil
		}
		if err := json.Unmarshal(was, r.result); err != nil {
			return &ken.Error{Code: ken.CodeCorrupt, Msg: fmt.Sprintf("read the result of write %s", r.commit), Err: err,
				Try: "Look whether the change is there before you repeat it."}
		}
		return nil
	}
	if err := r.fn(t); err != nil {
		return err
	}
	if l := t.mine; len(l.records) == 0 && len(l.events) == 0 && len(l.docs) == 0 {
		return nil
	}
	result, err := json.Marshal(r.result)
	if err != nil {
		return err
	}
	t.mine.commits[r.commit] = result
	return nil
}

// earlierResult reports whether the write with ctx's ID was done before, and if so sets
// result to what it returned then.
func (s *Store) earlierResult(ctx context.Context, result any) (was bool, err error) {
	id := store.CommitOf(ctx)
	if id == uuid.Nil {
		return false, nil
	}
	err = s.view(func(tx *bbolt.Tx) error {
		b := tx.Bucket(bCommits).Get(id[:])
		if was = b != nil; !was {
			return nil
		}
		return json.Unmarshal(b, result)
	})
	return was, err
}

// committed returns the result that was stored with a write's ID; nil if there is none.
func (t *txn) committed(id uuid.UUID) []byte {
	if result, ok := t.batch.commits[id]; ok {
		return result
	}
	return t.tx.Bucket(bCommits).Get(id[:])
}

// pruneCommits is the maximum number of old IDs that a transaction removes. It is more
// than a transaction adds on average.
const pruneCommits = 64

// clocksDiffer is added to the time that an ID is kept. The times in IDs come from the
// machines that created them, whose clocks may differ.
const clocksDiffer = 45 * time.Minute

// keepCommits stores the IDs and results of a transaction's writes, and removes old ones
// by the times in the IDs.
func keepCommits(tx *writeTx, results map[uuid.UUID][]byte) error {
	if len(results) == 0 {
		return nil
	}
	b := tx.Bucket(bCommits)
	newest := time.Time{}
	for id, result := range results {
		if err := b.Put(id[:], result); err != nil {
			return err
		}
		if at := madeAt(id); at.After(newest) {
			newest = at
		}
	}
	var old [][]byte
	cur := b.Cursor()
	for k, _ := cur.First(); len(k) == len(uuid.UUID{}) && len(old) < pruneCommits; k, _ = cur.Next() {
		if newest.Sub(madeAt(uuid.UUID(k))) <= store.CommitsKept+clocksDiffer {
			break
		}
		old = append(old, bytes.Clone(k))
	}
	for _, k := range old {
		if err := b.Delete(k); err != nil {
			return err
		}
	}
	return nil
}

// madeAt returns the creation time of a UUID of version 7, in milliseconds precision.
func madeAt(id uuid.UUID) time.Time {
	ms := int64(0)
	for _, c := range id[:6] {
		ms = ms<<8 | int64(c)
	}
	return time.UnixMilli(ms)
}

// ByKey returns the claim that was written under a key, whatever its status. The caller
// owns the result. Errors: ErrNotFound, also for a claim that was forgotten.
func (s *Store) ByKey(ctx context.Context, key string) (ken.Claim, error) {
	if err := ctx.Err(); err != nil {
		return ken.Claim{}, err
	}
	var id uuid.UUID
	err := s.view(func(tx *bbolt.Tx) error {
		var err error
		if id, err = s.idOfKey(tx, key); err == nil && id == uuid.Nil {
			err = noKey(key)
		}
		return err
	})
	if err != nil {
		return ken.Claim{}, err
	}
	ref, _, ok := s.find(id)
	if !ok { // the write is not acknowledged yet, or the claim was just forgotten
		return ken.Claim{}, noKey(key)
	}
	c, err := s.Claim(ctx, ref)
	return engine.Clone(&c), err
}

func noKey(key string) error {
	return &ken.Error{Code: ken.CodeNotFound, Field: "key", Msg: fmt.Sprintf("no claim has the key %q", key),
		Try: "Write one with it, or check --owner."}
}
