package bolt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/uuid"
	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
	"github.com/kenlayer/ken/store/keyword"
)

// maxBatch bounds how many requests share a transaction.
const maxBatch = 256

// request is one caller's change.
type request struct {
	fn   func(*txn) error
	solo func() error // runs between batches, with the file to itself
	done chan error
	err  error
}

// do hands fn to the committer and waits until its changes are durable and
// searchable. ctx is honoured until the committer takes the request; after that
// the write may take effect although ctx ended.
func (s *Store) do(ctx context.Context, fn func(*txn) error) error {
	return s.submit(ctx, &request{fn: fn, done: make(chan error, 1)})
}

func (s *Store) submit(ctx context.Context, r *request) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-s.quit:
		return errClosed
	default:
	}
	select {
	case s.queue <- r:
	case <-s.quit:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-s.stopped:
		select { // it may have been done last thing
		case err := <-r.done:
			return err
		default:
			return errClosed
		}
	}
}

// run is the committer: it drains the queue, writes what it found in one
// transaction, and starts again. There is no delay to wait for company: while
// one batch is being synced, the next one gathers.
func (s *Store) run() {
	defer close(s.stopped)
	for {
		var first *request
		select {
		case first = <-s.queue:
		case <-s.quit:
			for { // what was accepted is still written
				select {
				case r := <-s.queue:
					s.serve([]*request{r})
				default:
					return
				}
			}
		}
		batch := []*request{first}
	drain:
		for len(batch) < maxBatch {
			select {
			case r := <-s.queue:
				batch = append(batch, r)
			default:
				break drain
			}
		}
		s.serve(batch)
	}
}

// serve runs a batch, splitting it at requests that want the file to themselves.
func (s *Store) serve(batch []*request) {
	for len(batch) > 0 {
		n := slices.IndexFunc(batch, func(r *request) bool { return r.solo != nil })
		switch n {
		case 0:
			batch[0].done <- batch[0].solo()
			batch = batch[1:]
			continue
		case -1:
			n = len(batch)
		}
		s.write(batch[:n])
		batch = batch[n:]
	}
}

// write commits a batch: transaction, then memory, then index, then the callers
// hear of it. A request whose function fails is answered with its own error and
// the others go on; a transaction that fails fails all of them.
func (s *Store) write(batch []*request) {
	var plan *plan
	err := s.db.Update(func(tx *bbolt.Tx) error {
		all := newLayer()
		for _, r := range batch {
			t := &txn{s: s, tx: tx, batch: all, mine: newLayer()}
			if r.err = r.fn(t); r.err == nil {
				all.absorb(t.mine)
			}
		}
		var err error
		plan, err = s.plan(tx, all)
		if err != nil || plan.empty() {
			return err
		}
		return plan.put(tx)
	})
	if err == nil && !plan.empty() {
		err = s.publish(plan)
	}
	for _, r := range batch {
		if r.err == nil && err != nil {
			r.err = storageError(err)
		}
		r.done <- r.err
	}
}

// storageError dresses what a failed commit or index write says.
func storageError(err error) error {
	var e *ken.Error
	if errors.As(err, &e) {
		return err
	}
	return &ken.Error{Code: ken.CodeUnavailable, Msg: "write to storage", Err: err,
		Try: "Check that the disk has room and is writable, then write again: a key makes that safe."}
}

// publish makes a committed batch visible: rows, vectors, then the index.
func (s *Store) publish(p *plan) error {
	s.commit, s.head, s.classes = p.commit, p.head, p.classes
	s.seq.Store(p.seq)
	s.t.mu.Lock()
	for _, c := range p.changes {
		s.t.put(c.ref, c.row)
	}
	s.t.mu.Unlock()
	s.docs.apply(p.layer.docs)
	up := make([]keyword.Doc, 0, len(p.changes))
	var del []uint32
	var errs []error
	for _, c := range p.changes {
		s.cache.drop(c.ref)
		if c.claim == nil {
			del = append(del, c.ref)
			s.vecs.remove(c.ref)
			continue
		}
		if c.words {
			up = append(up, indexDoc(c.ref, c.claim))
		}
		if err := s.vecs.attach(c.ref, c.row.hash); err != nil {
			errs = append(errs, err)
		}
	}
	s.broadcast()
	if s.lagging.Load() { // an earlier batch is durable but not indexed yet
		if err := s.replay(context.Background()); err != nil {
			return errors.Join(append(errs, fmt.Errorf("index: %w", err))...)
		}
		s.lagging.Store(false)
		return errors.Join(errs...)
	}
	if err := s.index.Load().Apply(up, del, p.commit); err != nil {
		s.lagging.Store(true)
		errs = append(errs, fmt.Errorf("index: durable but not searchable yet: %w", err))
	}
	return errors.Join(errs...)
}

func (s *Store) broadcast() {
	s.wakeMu.Lock()
	defer s.wakeMu.Unlock()
	close(s.wake)
	s.wake = make(chan struct{})
}

// change is one record as it goes to disk and to memory.
type change struct {
	ref   store.Ref
	row   row
	claim *ken.Claim // nil: removed
	words bool       // what the index holds of it changed
}

// plan is a batch worked out: everything that put writes and publish shows.
type plan struct {
	s       *Store
	layer   *layer
	changes []change
	commit  uint64
	seq     uint64
	head    [32]byte
	classes int
}

func (p *plan) empty() bool {
	return len(p.layer.events) == 0 && len(p.changes) == 0 && len(p.layer.docs) == 0
}

// plan gives every changed record its ref and row, and every event its number
// and hash. It changes nothing that readers see, except that a class of a batch
// that fails stays interned, unused.
func (s *Store) plan(tx *bbolt.Tx, l *layer) (*plan, error) {
	p := &plan{s: s, layer: l, commit: s.commit + 1, seq: s.seq.Load(), head: s.head}
	for _, ev := range l.events {
		p.seq++
		ev.Seq = p.seq
		ev.Seal(p.head)
		p.head = ev.Hash
	}
	if err := s.recite(tx, l); err != nil {
		return nil, err
	}
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	next := store.Ref(len(s.t.rows))
	for _, id := range l.order {
		rec := l.records[id]
		ref, known := s.t.byID[id]
		if rec.claim == nil {
			if known {
				p.changes = append(p.changes, change{ref: ref, row: row{id: id, version: p.commit, flags: flagGone}})
			}
			continue
		}
		if !known {
			ref = next
			next++
		}
		r, err := s.rowOf(id, rec, l)
		if err != nil {
			return nil, err
		}
		r.version = p.commit
		p.changes = append(p.changes, change{ref: ref, row: r, claim: rec.claim})
	}
	p.classes = len(s.t.classes)
	return p, nil
}

// rowOf computes a record's row; s.t.mu is held.
func (s *Store) rowOf(id uuid.UUID, rec record, l *layer) (row, error) {
	c := rec.claim
	sup := c.Support(func(e ken.Evidence) bool { return s.docs.stands(e, l.docs) })
	n, _, err := s.t.intern(class{Scope: c.Scope, Status: c.Status, Kind: c.Kind, Trust: sup.Trust})
	r := row{id: id, hash: hashOf(c), created: toMilli(c.CreatedAt), expires: toMilli(c.ExpiresAt),
		newest: toMilli(sup.NewestAt), class: n, tier: sup.Tier}
	if c.Constraint {
		r.flags |= flagConstraint
	}
	if rec.document {
		r.flags |= flagDocument
	}
	return r, err
}

// put writes the plan.
func (p *plan) put(tx *bbolt.Tx) error {
	var errs []error
	put := func(bucket, k, v []byte) { errs = append(errs, tx.Bucket(bucket).Put(k, v)) }
	del := func(bucket, k []byte) { errs = append(errs, tx.Bucket(bucket).Delete(k)) }

	for _, id := range p.layer.erase {
		errs = append(errs, eraseEvents(tx, id))
	}
	for _, ev := range p.layer.events {
		b, err := ev.MarshalBinary()
		errs = append(errs, err)
		put(bEvents, key64(ev.Seq), b)
		put(bTrail, pair(ev.Claim[:], key64(ev.Seq)), nil)
		if ev.Type == ken.EventSuperseded {
			pl, err := ev.Decode()
			errs = append(errs, err)
			if other, err := uuid.Parse(pl.Other); err == nil {
				put(bTrail, pair(other[:], key64(ev.Seq)), nil)
			}
		}
	}
	for i := range p.changes {
		c := &p.changes[i]
		ref := key32(c.ref)
		old, err := (&txn{tx: tx}).read(c.ref)
		errs = append(errs, err)
		c.words = old == nil || c.claim == nil || !reflect.DeepEqual(indexDoc(c.ref, old), indexDoc(c.ref, c.claim))
		for path := range cited(old) {
			del(bCites, citeKey(path, c.ref))
		}
		if old != nil && old.Key != "" && (c.claim == nil || c.claim.Key != old.Key) {
			del(bKeys, []byte(old.Key))
		}
		put(bRows, ref, c.row.encode())
		if old != nil {
			for _, parent := range parents(old) {
				del(bDerived, pair(parent[:], c.row.id[:]))
			}
		}
		if c.claim == nil {
			del(bClaims, ref)
			continue
		}
		b, err := json.Marshal(c.claim)
		errs = append(errs, err)
		put(bClaims, ref, b)
		if c.row.flags&flagDocument != 0 {
			continue
		}
		if c.claim.Key != "" {
			put(bKeys, []byte(c.claim.Key), c.row.id[:])
		}
		for path := range cited(c.claim) {
			put(bCites, citeKey(path, c.ref), nil)
		}
		for _, parent := range parents(c.claim) {
			put(bDerived, pair(parent[:], c.row.id[:]), nil)
		}
	}
	for path, d := range p.layer.docs {
		b, err := json.Marshal(d)
		errs = append(errs, err)
		put(bDocs, []byte(path), b)
	}
	p.s.t.mu.RLock()
	for n := p.s.classes; n < p.classes; n++ {
		b, err := json.Marshal(p.s.t.classes[n])
		errs = append(errs, err)
		put(bClasses, []byte{byte(n >> 8), byte(n)}, b)
	}
	p.s.t.mu.RUnlock()
	put(bMeta, kCommit, key64(p.commit))
	put(bMeta, kHead, p.head[:])
	return errors.Join(errs...)
}

// cited yields the files whose content a claim's evidence vouches for.
func cited(c *ken.Claim) map[string]struct{} {
	out := map[string]struct{}{}
	if c == nil {
		return out
	}
	for _, e := range c.Evidence {
		if e.Kind == ken.EvidenceFile && e.ContentHash != "" && !strings.ContainsRune(e.Path, 0) {
			out[e.Path] = struct{}{}
		}
	}
	return out
}

// parents are the claims that a claim was derived from.
func parents(c *ken.Claim) []uuid.UUID {
	var out []uuid.UUID
	for _, e := range c.Evidence {
		if e.Kind == ken.EvidenceDecision || e.Kind == ken.EvidenceRepositoryMemory {
			if id, err := uuid.Parse(e.ID); err == nil {
				out = append(out, id)
			}
		}
	}
	return out
}
