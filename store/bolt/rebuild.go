package bolt

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/uuid"
	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken/store/keyword"
)

// Rebuild throws the claims and the keyword index away and folds them from the
// log again, telling o.Progress. Repository chunks and vectors stay. Writers
// wait meanwhile; searches see a part. A rebuild that is cut short is
// finished by the next one.
func (s *Store) Rebuild(ctx context.Context) error {
	return s.submit(ctx, &request{done: make(chan error, 1), solo: func() error { return s.rebuild(ctx) }})
}

func (s *Store) rebuild(ctx context.Context) error {
	s.t.mu.RLock()
	var ids []uuid.UUID
	for i := range s.t.rows {
		if r := &s.t.rows[i]; !r.gone() && r.flags&flagDocument == 0 {
			ids = append(ids, r.id)
		}
	}
	s.t.mu.RUnlock()
	for chunk := range slices.Chunk(ids, replayBatch) {
		l := newLayer()
		for _, id := range chunk {
			l.set(id, record{})
		}
		if err := s.apply(l); err != nil {
			return err
		}
	}
	for from, total := uint64(1), s.seq.Load(); from <= total; {
		if err := ctx.Err(); err != nil {
			return err
		}
		page, err := s.eventsFrom(ctx, from)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			break
		}
		l := newLayer()
		err = s.view(func(tx *bbolt.Tx) error {
			t := &txn{s: s, tx: tx, batch: newLayer(), mine: l}
			for _, ev := range page {
				if err := t.emit(ev); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		l.events = nil // they are in the log already
		if err := s.apply(l); err != nil {
			return err
		}
		from = page[len(page)-1].Seq + 1
		s.o.Progress("rebuild", int(from-1), int(total))
	}
	return s.rebuildIndex(ctx)
}

// apply writes a layer as a batch of its own.
func (s *Store) apply(l *layer) error {
	var p *plan
	err := s.db.Update(func(tx *bbolt.Tx) (err error) {
		if p, err = s.plan(tx, l); err != nil {
			return err
		}
		return p.put(tx)
	})
	if err != nil {
		return err
	}
	return s.publish(p)
}

func (s *Store) rebuildIndex(ctx context.Context) error {
	if err := s.index.Load().Close(); err != nil {
		return fmt.Errorf("close index: %w", err)
	}
	dir := filepath.Join(s.dir, indexDir)
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove index: %w", err)
	}
	x, err := keyword.Open(dir, keyword.Options{StoreID: s.id})
	if err != nil {
		return fmt.Errorf("open index: %w", err)
	}
	s.index.Store(x)
	// A new index lacks everything, whatever its rows' versions.
	return s.replay(ctx)
}
