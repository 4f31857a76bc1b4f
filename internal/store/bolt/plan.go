package bolt

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"

	"github.com/google/uuid"
	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/store/forgotten"
	"github.com/kenlayer/ken/internal/store/outline"
	"github.com/kenlayer/ken/store"
)

// change is one record as it goes to disk and to memory.
type change struct {
	ref   store.Ref
	row   row
	claim *ken.Claim     // nil: removed
	words bool           // what the index holds of it changed
	about *outline.About // nil: it is not in the index of names
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
			if ref, known = s.refs[id]; !known {
				ref = next
				next++
			}
		}
		r, err := s.rowOf(id, rec, l)
		if err != nil {
			return nil, err
		}
		r.version = p.commit
		c := change{ref: ref, row: r, claim: rec.claim}
		if about, some := outline.Of(rec.claim); some {
			c.about = &about
		}
		p.changes = append(p.changes, c)
	}
	p.classes = len(s.t.classes)
	return p, nil
}

// rowOf computes a record's row; s.t.mu is held.
func (s *Store) rowOf(id uuid.UUID, rec record, l *layer) (row, error) {
	c := rec.claim
	sup := c.Support(func(e ken.Evidence) bool { return s.docs.stands(e, l.docs) })
	n, err := s.t.intern(class{Scope: c.Scope, Status: c.Status, Kind: c.Kind, Trust: sup.Trust})
	r := row{id: id, hash: hashOf(c), created: toMilli(c.CreatedAt), expires: toMilli(c.ExpiresAt),
		newest: toMilli(sup.NewestAt), class: n, tier: sup.Tier}
	r.form = analysis.FormOf(c.Text)
	r.stream, r.place = streamOf(c, rec.document)
	if c.Constraint {
		r.flags |= flagConstraint
	}
	if rec.document {
		r.flags |= flagDocument
	}
	if c.Approved() {
		r.flags |= flagApproved
	}
	return r, err
}

// put writes the plan.
func (p *plan) put(tx *bbolt.Tx) error {
	var errs []error
	sealed := func(bucket, k, v []byte) { errs = append(errs, tx.Bucket(bucket).Put(k, seal(bucket, k, v))) }
	put := func(bucket, k, v []byte) { errs = append(errs, tx.Bucket(bucket).Put(k, v)) }
	del := func(bucket, k []byte) { errs = append(errs, tx.Bucket(bucket).Delete(k)) }

	for _, id := range p.layer.erase {
		errs = append(errs, eraseEvents(tx, id))
	}
	for _, ev := range p.layer.events {
		errs = append(errs, putEvent(tx, ev))
		if ev.Type == ken.EventForgotten { // what is on the shelf must not bring it back
			errs = append(errs, forgotten.Mark(shelfWriter{&shelfReader{s: p.s, b: tx.Bucket(bShelf)}}, ev.Claim.String()))
		}
	}
	refers := refersChange{}
	for i := range p.changes {
		c := &p.changes[i]
		ref := key32(c.ref)
		old, err := p.s.claimAt(tx, c.ref)
		if err != nil { // what is written replaces it
			p.s.report(err)
		}
		c.words = old == nil || c.claim == nil || !reflect.DeepEqual(indexDoc(c.ref, old), indexDoc(c.ref, c.claim))
		for path := range cited(old) {
			del(bCites, citeKey(path, c.ref))
		}
		refers.drop(old, c.ref)
		if old != nil && old.Key != "" && (c.claim == nil || c.claim.Key != old.Key) {
			del(bKeys, []byte(old.Key))
		}
		sealed(bRows, ref, c.row.encode())
		if c.about == nil {
			del(bAbout, ref)
		} else {
			sealed(bAbout, ref, c.about.Append(nil))
		}
		if old != nil {
			for _, parent := range store.Parents(old) {
				del(bDerived, pair(parent[:], c.row.id[:]))
			}
		}
		if c.claim == nil {
			del(bClaims, ref)
			continue
		}
		b, err := json.Marshal(c.claim)
		errs = append(errs, err)
		sealed(bClaims, ref, b)
		if c.row.flags&flagDocument != 0 {
			continue
		}
		if c.claim.Key != "" {
			sealed(bKeys, []byte(c.claim.Key), c.row.id[:])
		}
		for path := range cited(c.claim) {
			put(bCites, citeKey(path, c.ref), nil)
		}
		refers.keep(c.claim, c.ref)
		for _, parent := range store.Parents(c.claim) {
			put(bDerived, pair(parent[:], c.row.id[:]), nil)
		}
	}
	errs = append(errs, refers.put(tx))
	for path, d := range p.layer.docs {
		if d == nil {
			del(bDocs, []byte(path))
			continue
		}
		b, err := json.Marshal(d)
		errs = append(errs, err)
		sealed(bDocs, []byte(path), b)
	}
	p.s.t.mu.RLock()
	for n := p.s.classes; n < p.classes; n++ {
		b, err := json.Marshal(p.s.t.classes[n])
		errs = append(errs, err)
		sealed(bClasses, []byte{byte(n >> 8), byte(n)}, b)
	}
	p.s.t.mu.RUnlock()
	errs = append(errs, keepCommits(tx, p.layer.commits))
	put(bMeta, kCommit, key64(p.commit))
	put(bMeta, kAbout, key64(p.commit))
	put(bMeta, kRefers, key64(p.commit))
	put(bMeta, kApproved, key64(p.commit))
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
