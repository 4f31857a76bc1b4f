package bolt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
	"unsafe"

	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/mapped"
	"github.com/kenlayer/ken/internal/store/engine"
	"github.com/kenlayer/ken/internal/store/keyword"
	"github.com/kenlayer/ken/store"
)

// replayBatch is the number of records that are indexed at once: large enough for bleve's
// throughput, small enough for smooth progress reports.
const replayBatch = 1000

// openIndex opens the keyword index and applies the changes that it lacks. An index that
// can't be read, belongs to another log, or is ahead of the log is rebuilt.
func (s *Store) openIndex(ctx context.Context) error {
	dir := filepath.Join(s.work, indexDir)
	x, err := keyword.Open(dir, keyword.Options{StoreID: s.id})
	if err == nil && x.Watermark() > s.commit {
		// When the newest meta page is damaged, bbolt uses the previous state.
		s.noteDamage(damaged("read the newest state", fmt.Errorf("the keyword index has seen commit %d, and the file ends with %d: the last writes are lost", x.Watermark(), s.commit)))
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

// replay indexes every record that changed after the index's watermark. It is called by
// the committer, or before the committer starts.
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

// indexDocs reads the records to be indexed, and returns the refs to be removed.
func (s *Store) indexDocs(refs []store.Ref) (up []keyword.Doc, del []uint32, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		for _, ref := range refs {
			c, err := s.claimAt(tx, ref)
			if err != nil { // the index leaves it out and check reports it; the other records are indexed
				s.noteDamage(err)
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
	return keyword.Doc{Ref: ref, Heading: c.Heading, Text: c.Text, Terms: engine.IndexTerms(c), Whole: c.SourceType == "repository"}
}

// Delays before the next attempt to repair the index.
const (
	mendFirst = time.Second // doubles after each failure
	mendLast  = time.Minute
)

func stoppedTimer() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

// toIndex applies a durable batch to the keyword index. If the index fails, it is opened
// again or rebuilt, now or later. Until then, keyword searches don't find what it lacks.
func (s *Store) toIndex(up []keyword.Doc, del []uint32, commit uint64) {
	if s.lagging {
		return // the repair timer applies everything
	}
	if err := s.index.Load().Apply(up, del, commit); err != nil {
		s.indexFails(err)
	}
}

// indexFails opens the index again after a failure.
func (s *Store) indexFails(err error) {
	s.o.Log.Warn("the keyword index can't be written and is opened again", "store", s.dir, "error", err)
	s.noteIndexFault(err)
	s.pause = 0
	s.mendIndex()
}

func (s *Store) noteIndexFault(err error) {
	h := &s.health
	h.mu.Lock()
	defer h.mu.Unlock()
	s.lagging, h.lagging = err != nil, err
}

// mendIndex opens the index again, or a new one in its place, and applies the missing
// changes. Only the committer runs it.
func (s *Store) mendIndex() {
	err := s.reopenIndex(context.Background())
	if err == nil {
		s.o.Log.Info("the keyword index is complete again", "store", s.dir)
		s.noteIndexFault(nil)
		return
	}
	s.noteIndexFault(err)
	s.pause = min(max(2*s.pause, mendFirst), mendLast)
	s.mend.Reset(s.pause)
}

func (s *Store) reopenIndex(ctx context.Context) error {
	// The changes that it could not write are in the log, so an error on Close does not
	// matter.
	_ = s.index.Load().Close()
	return s.openIndex(ctx)
}

// rebuildIndex deletes the index and builds a new one. Only the committer runs it.
func (s *Store) rebuildIndex(ctx context.Context) error {
	if err := s.index.Load().Close(); err != nil {
		s.o.Log.Warn("close the keyword index", "store", s.dir, "error", err)
	}
	if err := os.RemoveAll(filepath.Join(s.work, indexDir)); err != nil {
		return fmt.Errorf("remove index: %w", err)
	}
	// A new index lacks everything, whatever the versions of the rows.
	if err := s.openIndex(ctx); err != nil {
		return err
	}
	s.noteIndexFault(nil)
	return nil
}

// maxMapped is the number of bytes of mapped files that the process may have in memory
// before a store releases its own pages. It is more than turns read again and again.
const maxMapped = 160 << 20

// How often the memory use is checked: in time while a store is open, and in rows while
// all rows of a bucket are read.
const (
	releaseEvery = time.Second
	releaseRows  = 1 << 12
)

// releaseMapped keeps the memory of the process from growing to the size of the store's
// files.
func (s *Store) releaseMapped() {
	if mapped.Resident() <= maxMapped {
		return
	}
	if x := s.index.Load(); x != nil {
		x.Release()
	}
	_ = s.view(func(tx *bbolt.Tx) error {
		release(tx)
		return nil
	})
}

// release releases the file's pages from memory if the process has too many mapped. The
// file stays mapped at its address during the transaction.
func release(tx *bbolt.Tx) {
	if mapped.Resident() <= maxMapped {
		return
	}
	giveUp(tx)
}

func giveUp(tx *bbolt.Tx) {
	info := tx.DB().Info()
	mapped.Release(unsafe.Slice(*(**byte)(unsafe.Pointer(&info.Data)), tx.Size()))
}
