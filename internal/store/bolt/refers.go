package bolt

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/store"
)

// referHash is how many bytes of a reference's SHA-256 stand for it: a command line may
// be long, and a forgotten one must leave no words behind. Two that fall together are
// told apart by their claims.
const referHash = 8

func referPrefix(reference string) []byte {
	sum := sha256.Sum256([]byte(reference))
	return sum[:referHash]
}

// referKeys are the entries of a claim; none for nil and for repository chunks.
func referKeys(c *ken.Claim, ref store.Ref) [][]byte {
	if c == nil || c.Kind == ken.KindDocument {
		return nil
	}
	var out [][]byte
	for _, r := range store.References(c) {
		out = append(out, pair(referPrefix(r), key32(ref)))
	}
	return out
}

// refersChange is what becomes of entries, by key: true stays or comes, false goes.
// They are put in the order of their keys. In the order of the claims, which is none,
// every one would move the half of a page that grows with the transaction.
type refersChange map[string]bool

func (m refersChange) drop(c *ken.Claim, ref store.Ref) {
	for _, key := range referKeys(c, ref) {
		m[string(key)] = false
	}
}

func (m refersChange) keep(c *ken.Claim, ref store.Ref) {
	for _, key := range referKeys(c, ref) {
		m[string(key)] = true
	}
}

func (m refersChange) put(tx *bbolt.Tx) error {
	var errs []error
	b := tx.Bucket(bRefers)
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if m[key] {
			errs = append(errs, b.Put([]byte(key), nil))
		} else {
			errs = append(errs, b.Delete([]byte(key)))
		}
	}
	return errors.Join(errs...)
}

// Referring implements store.Projections.
func (s *Store) Referring(ctx context.Context, names []string, f *ken.Filter) ([]store.Ref, error) {
	var refs []store.Ref
	s.t.mu.RLock()
	for _, name := range names {
		refs = s.t.about.Carriers(refs, analysis.Entity(name))
	}
	s.t.mu.RUnlock()
	err := s.view(func(tx *bbolt.Tx) error {
		for _, name := range names {
			found, err := pointing(ctx, tx, name)
			if err != nil {
				return err
			}
			refs = append(refs, found...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(refs)
	refs = slices.Compact(refs)
	s.t.mu.RLock()
	defer s.t.mu.RUnlock()
	sv := s.t.sieve(f)
	return slices.DeleteFunc(refs, func(ref store.Ref) bool { return !sv.accept(ref) || s.t.rows[ref].flags&flagDocument != 0 }), nil
}

// pointing are the records whose evidence points at something.
func pointing(ctx context.Context, tx *bbolt.Tx, reference string) (refs []store.Ref, err error) {
	if reference == "" {
		return nil, ctx.Err()
	}
	prefix := referPrefix(reference)
	cur := tx.Bucket(bRefers).Cursor()
	for k, _ := cur.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = cur.Next() {
		if len(k) == referHash+4 {
			refs = append(refs, binary.BigEndian.Uint32(k[referHash:]))
		}
	}
	return refs, ctx.Err()
}

// openRefers makes bRefers anew for a file that was written by a program which does
// not know it, or last written by one. A work that is cut short starts over.
func (s *Store) openRefers(ctx context.Context) error {
	known := false
	err := s.view(func(tx *bbolt.Tx) error {
		v := tx.Bucket(bMeta).Get(kRefers)
		known = len(v) == 8 && binary.BigEndian.Uint64(v) == s.commit || s.commit == 0
		return nil
	})
	if err != nil || known {
		return err
	}
	err = s.update(func(tx *bbolt.Tx) error {
		if err := tx.DeleteBucket(bRefers); err != nil {
			return err
		}
		_, err := tx.CreateBucket(bRefers)
		return err
	})
	var refs []store.Ref
	for ref := range s.t.rows {
		if r := &s.t.rows[ref]; !r.gone() && r.flags&flagDocument == 0 {
			refs = append(refs, store.Ref(ref))
		}
	}
	done := 0
	for chunk := range slices.Chunk(refs, replayBatch) {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		err = s.update(func(tx *bbolt.Tx) error { return s.referAgain(tx, chunk) })
		done += len(chunk)
		s.o.Progress("references", done, len(refs))
	}
	if err != nil {
		return err
	}
	return s.update(func(tx *bbolt.Tx) error { return tx.Bucket(bMeta).Put(kRefers, key64(s.commit)) })
}

// referAgain writes the entries of records, from their claims.
func (s *Store) referAgain(tx *bbolt.Tx, refs []store.Ref) error {
	m := refersChange{}
	for _, ref := range refs {
		c, err := s.claimAt(tx, ref)
		if err != nil {
			return err
		}
		m.keep(c, ref)
	}
	return m.put(tx)
}
