package bolt

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/outline"
	"github.com/kenlayer/ken/store"
)

// openStructure reads what records are about into memory. A file that was written by
// a program which does not know bAbout, or last written by one, is caught up with
// first: from the claims that changed since, whose number the file says.
func (s *Store) openStructure(ctx context.Context) error {
	var mark uint64
	err := s.view(func(tx *bbolt.Tx) error {
		if v := tx.Bucket(bMeta).Get(kAbout); len(v) == 8 {
			mark = binary.BigEndian.Uint64(v)
		}
		return nil
	})
	if err == nil && mark != s.commit {
		err = s.catchUp(ctx, mark)
	}
	if err != nil {
		return err
	}
	var mute []store.Ref
	load := func(tx *bbolt.Tx) (err error) {
		mute, err = s.loadStructure(tx)
		return err
	}
	if s.view(load) != nil {
		// It is a projection like the keyword index: what can't be read is made again.
		s.t.about = outline.New()
		if err := s.catchUp(ctx, 0); err != nil {
			return err
		}
		if err := s.view(load); err != nil {
			return err
		}
	}
	if len(mute) == 0 {
		return nil
	}
	if err := s.fileAll(ctx, mute); err != nil {
		return err
	}
	s.t.about = outline.New()
	return s.view(load)
}

// catchUp writes what those records are about that changed after a commit. A work that
// is cut short starts over, which does no harm: the mark moves with the last batch.
func (s *Store) catchUp(ctx context.Context, mark uint64) error {
	var refs []store.Ref
	for ref := range s.t.rows {
		if r := &s.t.rows[ref]; r.version > mark || mark > s.commit {
			refs = append(refs, store.Ref(ref))
		}
	}
	return s.fileAll(ctx, refs)
}

// fileAll writes what records are about.
func (s *Store) fileAll(ctx context.Context, refs []store.Ref) error {
	done := 0
	for chunk := range slices.Chunk(refs, replayBatch) {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := s.update(func(tx *bbolt.Tx) error {
			for _, ref := range chunk {
				if err := s.fileAgain(tx, ref); err != nil {
					return err
				}
			}
			if done += len(chunk); done < len(refs) {
				return nil
			}
			return tx.Bucket(bMeta).Put(kAbout, key64(s.commit))
		})
		if err != nil {
			return err
		}
		s.o.Progress("structure", done, len(refs))
	}
	return nil
}

// fileAgain writes what a record is about, from its claim.
func (s *Store) fileAgain(tx *bbolt.Tx, ref store.Ref) error {
	key := key32(ref)
	c, err := s.claimAt(tx, ref)
	if err != nil {
		return err
	}
	if c != nil {
		if about, some := outline.Of(c); some {
			return tx.Bucket(bAbout).Put(key, seal(bAbout, key, about.Append(nil)))
		}
	}
	return tx.Bucket(bAbout).Delete(key)
}

// loadStructure fills the index, and returns the rules whose words the file lacks: it
// was written by a program that kept none.
func (s *Store) loadStructure(tx *bbolt.Tx) (mute []store.Ref, err error) {
	s.t.about.Load(func(yield func(outline.Record) bool) {
		n := 0
		err = tx.Bucket(bAbout).ForEach(func(k, v []byte) error {
			if n++; n%releaseRows == 0 {
				release(tx)
			}
			v, err := s.unseal(bAbout, k, v)
			var about outline.About
			if err == nil {
				about, err = outline.Decode(v)
			}
			if len(k) != 4 || err != nil {
				return &ken.Error{Code: ken.CodeCorrupt, Msg: fmt.Sprintf("read what record %x is about", k), Err: err}
			}
			ref := binary.BigEndian.Uint32(k)
			if int(ref) >= len(s.t.rows) || s.t.rows[ref].gone() {
				return nil
			}
			rec := s.t.outlined(ref, about)
			if rec.Constraint && !rec.Kind.Structural() && rec.Said == nil {
				mute = append(mute, ref)
			}
			yield(rec)
			return nil
		})
	})
	return mute, err
}
