package bolt

import (
	"bytes"
	"context"
	"slices"

	"go.etcd.io/bbolt"
)

// Orphans lists what is left of documents that are gone and that no claim cites,
// sorted by path. The entry of a document that is gone says to claims which vouched
// for its content that they no longer stand; without such a claim it says nothing.
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

// PruneOrphans forgets these documents and returns how many; one that is there
// again, or was cited meanwhile, stays.
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

// cites reports whether a claim of the requests before this one in the batch cites
// a document.
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
