package bolt

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/kenlayer/ken/internal/store/keyword"
)

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
	s.lags(err)
	s.pause = 0
	s.mendIndex()
}

func (s *Store) lags(err error) {
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
		s.lags(nil)
		return
	}
	s.lags(err)
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
	s.lags(nil)
	return nil
}
