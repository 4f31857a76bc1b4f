package bolt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/keyword"
	"github.com/kenlayer/ken/store"
)

// replayBatch is how many records are indexed at once: large enough for bleve's
// throughput, small enough for progress that moves.
const replayBatch = 1000

// openIndex opens the keyword index and applies what it lacks. One that can't
// be read, belongs to another log, or is ahead of the log is rebuilt.
func (s *Store) openIndex(ctx context.Context) error {
	dir := filepath.Join(s.work, indexDir)
	x, err := keyword.Open(dir, keyword.Options{StoreID: s.id})
	if err == nil && x.Watermark() > s.commit {
		// bbolt takes the state before when the newest meta page is damaged.
		s.report(damaged("read the newest state", fmt.Errorf("the keyword index has seen commit %d, and the file ends with %d: the last writes are lost", x.Watermark(), s.commit)))
		err = errors.Join(&ken.Error{Code: ken.CodeCorrupt, Msg: "the index is ahead of the log"}, x.Close())
	}
	if errors.Is(err, ken.ErrCorrupt) || errors.Is(err, ken.ErrRefused) {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("remove broken index: %w", err)
		}
		x, err = keyword.Open(dir, keyword.Options{StoreID: s.id})
	}
	if err != nil {
		return fmt.Errorf("open index: %w", err)
	}
	s.index.Store(x)
	return s.replay(ctx)
}

// replay indexes every record that changed after the index's watermark. The
// committer is not running, or it is the caller.
func (s *Store) replay(ctx context.Context) error {
	x := s.index.Load()
	mark := x.Watermark()
	if mark == s.commit {
		return nil
	}
	s.t.mu.RLock()
	var refs []store.Ref
	for ref := range s.t.rows {
		if s.t.rows[ref].version > mark {
			refs = append(refs, store.Ref(ref))
		}
	}
	s.t.mu.RUnlock()
	done := 0
	for chunk := range slices.Chunk(refs, replayBatch) {
		if err := ctx.Err(); err != nil {
			return err
		}
		up, del, err := s.indexDocs(chunk)
		if err != nil {
			return err
		}
		// The watermark moves only with the last batch: an interrupted replay
		// starts over, which does no harm.
		if err := x.Apply(up, del, mark); err != nil {
			return fmt.Errorf("replay into index: %w", err)
		}
		done += len(chunk)
		s.o.Progress("index", done, len(refs))
	}
	return x.Apply(nil, nil, s.commit)
}

// indexDocs reads the records to be indexed, and names those to be removed.
func (s *Store) indexDocs(refs []store.Ref) (up []keyword.Doc, del []uint32, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		for _, ref := range refs {
			c, err := s.claimAt(tx, ref)
			if err != nil { // it is not found then, which check reports; the others are
				s.report(err)
			}
			if c == nil {
				del = append(del, ref)
				continue
			}
			up = append(up, indexDoc(ref, c))
		}
		return nil
	})
	return up, del, err
}

func indexDoc(ref store.Ref, c *ken.Claim) keyword.Doc {
	return keyword.Doc{Ref: ref, Heading: c.Heading, Text: c.Text, Terms: store.IndexTerms(c)}
}
