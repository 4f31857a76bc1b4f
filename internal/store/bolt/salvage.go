package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// Rebuilding reads a file that may be damaged. Each value is read in a transaction of
// its own, so that an invalid page only loses the values on it.

// raw reads a value from the old file, checksum included; nil when it does not exist or
// can't be read.
func (f *rebuildFold) raw(bucket, key []byte) (v []byte) {
	_ = f.from.viewUnreported(func(tx *bbolt.Tx) error {
		if b := tx.Bucket(bucket); b != nil {
			v = bytes.Clone(b.Get(key))
		}
		return nil
	})
	return v
}

// value is raw without the checksum. A value with a wrong checksum is counted as left
// out.
func (f *rebuildFold) value(bucket, key []byte) []byte {
	v, err := f.from.unseal(bucket, key, f.raw(bucket, key))
	if err != nil {
		f.report.Values++
		return nil
	}
	return v
}

// viewUnreported is view for reads that are expected to fail. It records no damage.
func (s *Store) viewUnreported(fn func(*bbolt.Tx) error) (err error) {
	s.dbMu.RLock()
	defer s.dbMu.RUnlock()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	return s.protectFaults(func() error { return s.read(fn) })
}

// probe is how many missing numbers in a row mark the end of a bucket whose end can't be
// read.
const probe = 4096

// lastKey returns the largest key of a bucket whose keys are numbers of size bytes.
func (f *rebuildFold) lastKey(bucket []byte, size int) (last uint64) {
	key := func(n uint64) []byte {
		if size == 4 {
			return key32(uint32(n))
		}
		return key64(n)
	}
	err := f.from.viewUnreported(func(tx *bbolt.Tx) error {
		if b := tx.Bucket(bucket); b != nil {
			if k, _ := b.Cursor().Last(); len(k) == size {
				last = binary.BigEndian.Uint64(append(make([]byte, 8-size), k...))
			}
		}
		return nil
	})
	if err == nil {
		return last
	}
	for n := uint64(0); n < last+probe; n++ {
		if f.raw(bucket, key(n)) != nil {
			last = n
		}
	}
	return last
}

// each yields the keys of a bucket from both ends, up to the page that can't be read.
func (f *rebuildFold) each(bucket []byte, yield func(k, v []byte)) {
	var stopped []byte
	whole := f.from.viewUnreported(func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucket)
		if b == nil {
			return nil
		}
		cur := b.Cursor()
		for k, v := cur.First(); k != nil; k, v = cur.Next() {
			yield(k, v)
			stopped = bytes.Clone(k)
		}
		return nil
	})
	if whole == nil {
		return
	}
	f.report.Values++ // at least one
	_ = f.from.viewUnreported(func(tx *bbolt.Tx) error {
		cur := tx.Bucket(bucket).Cursor()
		for k, v := cur.Last(); k != nil && bytes.Compare(k, stopped) > 0; k, v = cur.Prev() {
			yield(k, v)
		}
		return nil
	})
}

// claimsByEvent returns the claims of each event, by event number.
func (f *rebuildFold) claimsByEvent() map[uint64][]uuid.UUID {
	out := map[uint64][]uuid.UUID{}
	f.each(bTrail, func(k, _ []byte) {
		if len(k) == 24 {
			seq := binary.BigEndian.Uint64(k[16:])
			out[seq] = append(out[seq], uuid.UUID(k[:16]))
		}
	})
	return out
}

// copyMeta gives the new store the identity of the old one. A lost bucket counts as one value that was left out,
// because nothing says how many it held.
func (f *rebuildFold) copyMeta() error {
	_ = f.from.viewUnreported(func(tx *bbolt.Tx) error {
		f.report.Values += len(lostBuckets(tx))
		return nil
	})
	id := string(f.raw(bMeta, kID))
	if id == "" {
		return damaged("read who the store is", fmt.Errorf("%s is not readable", bMeta))
	}
	if err := f.from.checkOwner(f.raw(bMeta, kOwner)); err != nil {
		return err
	}
	f.to.id, f.from.sealed = id, f.raw(bMeta, kSealed) != nil
	if v := f.raw(bMeta, kCommit); len(v) == 8 {
		f.to.commit = binary.BigEndian.Uint64(v)
	}
	if err := f.from.viewUnreported(f.from.checkNotMoved); err != nil { // remains of a moved store must not become a store again
		return err
	}
	arrival := f.raw(bMeta, kArrival)
	return f.to.update(func(tx *writeTx) error {
		meta := tx.Bucket(bMeta)
		if arrival != nil {
			if err := meta.Put(kArrival, arrival); err != nil {
				return err
			}
		}
		return meta.Put(kID, []byte(id))
	})
}

// readRefs collects the ref of each record that can be read.
func (f *rebuildFold) readRefs() error {
	f.refs = map[uuid.UUID]store.Ref{}
	last := f.lastKey(bClaims, 4)
	for n := uint64(0); n <= last; n++ {
		if n%replayBatch == 0 && f.ctx.Err() != nil {
			return f.ctx.Err()
		}
		ref := store.Ref(n)
		var r row
		if v := f.value(bRows, key32(ref)); v != nil {
			if r.decode(v) == nil {
				if !r.gone() {
					f.refs[r.id] = ref
					if r.flags&flagDocument != 0 {
						f.chunks[r.id] = true
					}
				}
				continue
			}
			f.report.Values++
		}
		if c, _ := f.from.decodeClaim(ref, f.raw(bClaims, key32(ref))); c != nil {
			if id, err := uuid.Parse(c.ID); err == nil {
				f.refs[id] = ref
			}
		}
	}
	f.to.t.put(store.Ref(last), row{flags: flagGone}) // new records come after the old ones
	return nil
}

// oldClaim reads a record of the old file; nil if it can't be read.
func (f *rebuildFold) oldClaim(id uuid.UUID) *ken.Claim {
	ref, ok := f.refs[id]
	if !ok {
		return nil
	}
	c, err := f.from.decodeClaim(ref, f.raw(bClaims, key32(ref)))
	if err != nil || c == nil || c.ID != id.String() {
		f.report.Values++
		return nil
	}
	return c
}

// documents copies the chunks of files whose chunks can all be read. The other files are
// indexed again later.
func (f *rebuildFold) documents() error {
	entries := map[string]*docEntry{}
	f.each(bDocs, func(k, v []byte) {
		e := &docEntry{}
		v, err := f.from.unseal(bDocs, k, v)
		if err != nil || json.Unmarshal(v, e) != nil {
			f.report.Values++
			return
		}
		entries[string(k)] = e
	})
	l := newLayer()
	flush := func() error {
		err := f.to.update(func(tx *writeTx) error { return f.write(tx, l) })
		l = newLayer()
		return err
	}
	for path, e := range entries {
		chunks := map[uuid.UUID]*ken.Claim{}
		for _, id := range e.Chunks {
			if c := f.oldClaim(id); c != nil {
				chunks[id] = c
			}
		}
		if len(chunks) != len(e.Chunks) {
			continue
		}
		for _, id := range e.Chunks {
			l.set(id, record{claim: chunks[id], document: true})
			delete(f.chunks, id)
		}
		l.docs[path] = e
		if len(l.order) >= replayBatch {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	f.report.Values += len(f.chunks)
	return flush()
}

// copyAll copies the undamaged values of a bucket.
func (f *rebuildFold) copyAll(bucket []byte) error {
	var keys, values [][]byte
	var failed error
	flush := func() {
		err := f.to.update(func(tx *writeTx) error {
			for i, k := range keys {
				if err := tx.Bucket(bucket).Put(k, values[i]); err != nil {
					return err
				}
			}
			return nil
		})
		if failed == nil {
			failed = err
		}
		keys, values = nil, nil
	}
	f.each(bucket, func(k, v []byte) {
		v, err := f.from.unseal(bucket, k, v)
		if err != nil {
			f.report.Values++
			return
		}
		if bytes.Equal(bucket, bShelf) {
			v = seal(bucket, k, v)
		}
		keys, values = append(keys, bytes.Clone(k)), append(values, bytes.Clone(v))
		if len(keys) >= replayBatch {
			flush()
		}
	})
	flush()
	return failed
}

// Orphans lists the entries of deleted documents that no claim cites, sorted by path.
// The entry of a deleted document invalidates evidence that cites its content; if no
// claim cites it, the entry is useless.
func (s *Store) Orphans(ctx context.Context) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var gone []string
	s.docs.mu.RLock()
	for path, e := range s.docs.m {
		if e.Gone {
			gone = append(gone, path)
		}
	}
	s.docs.mu.RUnlock()
	err := s.view(func(tx *bbolt.Tx) error {
		gone = slices.DeleteFunc(gone, func(path string) bool { return isCited(tx, path) })
		return nil
	})
	slices.Sort(gone)
	return gone, err
}

// PruneOrphans removes these entries and returns how many. A document that exists again,
// or was cited meanwhile, stays.
func (s *Store) PruneOrphans(ctx context.Context, paths []string) (int, error) {
	pruned := 0
	err := s.do(ctx, func(t *txn) error {
		pruned = 0
		for _, path := range paths {
			e := t.doc(path)
			if e == nil || !e.Gone || isCited(t.tx, path) || t.cites(path) {
				continue
			}
			t.mine.docs[path] = nil
			pruned++
		}
		return nil
	})
	return pruned, err
}

func isCited(tx *bbolt.Tx, path string) bool {
	prefix := append([]byte(path), 0)
	k, _ := tx.Bucket(bCites).Cursor().Seek(prefix)
	return bytes.HasPrefix(k, prefix)
}

// cites reports whether a claim of an earlier request in the batch cites a document.
func (t *txn) cites(path string) bool {
	for _, r := range t.batch.records {
		if r.claim != nil && !r.document {
			if _, ok := cited(r.claim)[path]; ok {
				return true
			}
		}
	}
	return false
}
