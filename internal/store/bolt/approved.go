package bolt

import (
	"context"
	"encoding/binary"
	"slices"

	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// openApproved sets flagApproved in the rows of a file that was written by a program which
// does not know it, or last written by one. Until then a row counts as not approved. A
// work that is cut short starts over. A store that is read alone has it in memory only.
func (s *Store) openApproved(ctx context.Context) error {
	known := false
	err := s.view(func(tx *bbolt.Tx) error {
		v := tx.Bucket(bMeta).Get(kApproved)
		known = len(v) == 8 && binary.BigEndian.Uint64(v) == s.commit || s.commit == 0
		return nil
	})
	if err != nil || known {
		return err
	}
	var refs []store.Ref
	for ref := range s.t.rows {
		if r := &s.t.rows[ref]; !r.gone() && r.flags&flagDocument == 0 {
			refs = append(refs, store.Ref(ref))
		}
	}
	in := s.update
	if s.o.readOnly {
		in = s.view
	}
	for chunk := range slices.Chunk(refs, replayBatch) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := in(func(tx *bbolt.Tx) error { return s.approveAgain(tx, chunk) }); err != nil {
			return err
		}
	}
	if s.o.readOnly {
		return nil
	}
	return s.update(func(tx *bbolt.Tx) error { return tx.Bucket(bMeta).Put(kApproved, key64(s.commit)) })
}

// approveAgain sets the flag of records by their claims. A claim that can't be read is not
// approved: whoever reads it next hears of the damage.
func (s *Store) approveAgain(tx *bbolt.Tx, refs []store.Ref) error {
	for _, ref := range refs {
		var c *ken.Claim
		if claim, err := s.claimAt(tx, ref); err == nil {
			c = claim
		}
		r := s.t.rows[ref]
		was := r.approved()
		if r.flags &^= flagApproved; c != nil && c.Approved() {
			r.flags |= flagApproved
		}
		if r.approved() == was {
			continue
		}
		s.t.rows[ref], s.t.marks[ref] = r, markOf(&r)
		if !tx.Writable() {
			continue
		}
		key := key32(ref)
		if err := tx.Bucket(bRows).Put(key, seal(bRows, key, r.encode())); err != nil {
			return err
		}
	}
	return nil
}
