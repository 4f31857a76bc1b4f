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

// How long to wait until the index is tried to be mended again.
const (
	mendFirst = time.Second // doubles
	mendLast  = time.Minute
)

func stoppedTimer() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

// toIndex brings a durable batch to the keyword index. When the index fails, it is opened
// again or made anew, now or later: until then what it lacks is not found by its words.
func (s *Store) toIndex(up []keyword.Doc, del []uint32, commit uint64) {
	if s.lagging {
		return // the timer brings it all
	}
	if err := s.index.Load().Apply(up, del, commit); err != nil {
		s.indexFails(err)
	}
}

// indexFails opens an index again that failed.
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

// mendIndex opens the index again, or a new one in its place, and brings it what it
// lacks. Only the committer runs it.
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
	// What it could not write is in the log; that it can't be closed well is no news.
	_ = s.index.Load().Close()
	return s.openIndex(ctx)
}

// rebuildIndex makes the index anew. Only the committer runs it.
func (s *Store) rebuildIndex(ctx context.Context) error {
	if err := s.index.Load().Close(); err != nil {
		s.o.Log.Warn("close the keyword index", "store", s.dir, "error", err)
	}
	if err := os.RemoveAll(filepath.Join(s.work, indexDir)); err != nil {
		return fmt.Errorf("remove index: %w", err)
	}
	// A new index lacks everything, whatever its rows' versions.
	if err := s.openIndex(ctx); err != nil {
		return err
	}
	s.noteIndexFault(nil)
	return nil
}

// mostMapped is how many bytes of mapped files the process may have in memory before a
// store gives up those of its own: more than what turns read again and again.
const mostMapped = 160 << 20

// How often that is looked at: while a store is in use, and while all rows of a bucket are
// read.
const (
	releaseEvery = time.Second
	releaseRows  = 1 << 12
)

// releaseMapped keeps the process's memory from growing to the size of the store's files.
func (s *Store) releaseMapped() {
	if mapped.Resident() <= mostMapped {
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

// release gives up the pages of the file when there are many. While there is a
// transaction the file stays mapped where it is.
func release(tx *bbolt.Tx) {
	if mapped.Resident() <= mostMapped {
		return
	}
	giveUp(tx)
}

func giveUp(tx *bbolt.Tx) {
	info := tx.DB().Info()
	mapped.Release(unsafe.Slice(*(**byte)(unsafe.Pointer(&info.Data)), tx.Size()))
}
