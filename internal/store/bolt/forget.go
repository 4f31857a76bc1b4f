package bolt

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/uuid"
	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/store/engine"
	"github.com/kenlayer/ken/internal/store/outline"
	"github.com/kenlayer/ken/store"
)

// Forget erases a claim and everything that was derived from it: text, body and evidence
// in the claims and in the log, the vectors, the index entries. A tombstone in the log
// says when, by whom and why. A mark on the shelf keeps code that writes there from
// bringing the claim back. Unless ctx says later (store.ErasesLater), Forget then
// rewrites the files, so that the words are also gone from the disk. Finally it checks
// that no lookup finds the claims. It returns the ids of the forgotten claims. Only the
// operator calls it; nothing that an agent can reach does. The time grows with the
// store's size, because the bbolt file is copied.
func (s *Store) Forget(ctx context.Context, id, reason string, actor ken.Actor) ([]string, error) {
	var ids []string
	if again, err := s.earlierResult(ctx, &ids); again || err != nil {
		return ids, cmp.Or(err, s.finishForget(ctx, ids))
	}
	root, err := s.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	var gone []ken.Claim
	err = s.doOnce(ctx, &ids, func(t *txn) error {
		gone, ids = nil, nil
		err := t.forget(root.ID, reason, actor, &gone)
		for i := range gone {
			ids = append(ids, gone[i].ID)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return ids, s.eraseForgotten(ctx, gone)
}

// finishForget completes a Forget that a process did not finish before it ended. The
// texts of the claims are no longer known.
func (s *Store) finishForget(ctx context.Context, ids []string) error {
	gone := make([]ken.Claim, len(ids))
	for i, id := range ids {
		gone[i].ID = id
	}
	return s.eraseForgotten(ctx, gone)
}

// eraseForgotten rewrites the files without claims that are gone for every reader. An error means that words may still
// be on the disk.
func (s *Store) eraseForgotten(ctx context.Context, gone []ken.Claim) error {
	if !store.ErasesLater(ctx) {
		if err := s.Compact(ctx); err != nil {
			return fmt.Errorf("forgotten, but not yet erased from every file: %w", err)
		}
	}
	return s.checkForgotten(ctx, gone)
}

// forget writes tombstones for a claim and, breadth first, for everything that was
// derived from it.
func (t *txn) forget(id, reason string, actor ken.Actor, gone *[]ken.Claim) error {
	c, err := t.get(id)
	if err != nil {
		return err
	}
	if c == nil {
		if len(*gone) > 0 {
			return nil // derived by two paths
		}
		return &ken.Error{Code: ken.CodeRefused, Field: "id", Msg: id + " is a piece of the repository, not a claim",
			Try: "Remove it from the repository, or exclude its file in repository.exclude, then run ken index."}
	}
	ev, err := engine.Forget(t.get, id, reason, actor, t.s.o.env())
	if err != nil {
		return err
	}
	*gone = append(*gone, *c)
	t.mine.erase = append(t.mine.erase, ev.Claim)
	if err := t.emit(ev); err != nil {
		return err
	}
	cur := t.tx.Bucket(bDerived).Cursor()
	for k, _ := cur.Seek(ev.Claim[:]); bytes.HasPrefix(k, ev.Claim[:]); k, _ = cur.Next() {
		if err := t.forget(uuid.UUID(k[16:32]).String(), "derived from "+id, actor, gone); err != nil {
			return err
		}
	}
	return nil
}

// eraseEvents removes the payloads from a claim's existing events.
func eraseEvents(tx *writeTx, id uuid.UUID) error {
	var keep []*store.Event
	err := trail(tx.Tx, id, func(ev *store.Event) error {
		if ev.Claim == id && !ev.Erased() {
			ev.Erase()
			keep = append(keep, ev)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, ev := range keep {
		b, err := ev.MarshalBinary()
		if err != nil {
			return err
		}
		if err := tx.Bucket(bEvents).Put(key64(ev.Seq), b); err != nil {
			return err
		}
	}
	return nil
}

// erase removes deleted data from all files. Only the committer runs it.
func (s *Store) erase(ctx context.Context) error {
	return errors.Join(s.eraseVectors(), s.scrubIndex(ctx), s.compact(), removed(filepath.Join(s.dir, damagedFile)))
}

// scrubIndex removes deleted words from the files of the index. If that fails, it opens
// the index again and retries once.
func (s *Store) scrubIndex(ctx context.Context) error {
	err := s.index.Load().Scrub(ctx)
	if err == nil || ctx.Err() != nil {
		return err
	}
	s.indexFails(err)
	return s.index.Load().Scrub(ctx)
}

// hashes returns the text hashes of all records.
func (s *Store) hashes() map[[16]byte]bool {
	used := map[[16]byte]bool{}
	s.t.mu.RLock()
	defer s.t.mu.RUnlock()
	for i := range s.t.rows {
		if r := &s.t.rows[i]; !r.gone() {
			used[r.hash] = true
		}
	}
	return used
}

// compact copies the live pages into a new file, which replaces the old one.
func (s *Store) compact() error {
	s.dbMu.Lock()
	defer s.dbMu.Unlock()
	path := filepath.Join(s.dir, dbFile)
	tmp := path + ".compact"
	dst, err := newDB(tmp, s.o)
	if err != nil {
		return fmt.Errorf("compact: %w", err)
	}
	const txBytes = 16 << 20
	if err = bbolt.Compact(dst, s.db, txBytes); err == nil {
		err = dst.Sync()
	}
	if err != nil {
		return errors.Join(fmt.Errorf("compact: %w", err), dst.Close(), os.Remove(tmp))
	}
	old := s.db
	if s.db, err = takeOver(old, dst, tmp, path, s.o); err != nil {
		return fmt.Errorf("compact: %w", err)
	}
	return errors.Join(s.syncRename(), old.Close())
}

// checkForgotten checks that no lookup finds the claims.
func (s *Store) checkForgotten(ctx context.Context, gone []ken.Claim) error {
	for i := range gone {
		c := &gone[i]
		left := func(where string) error {
			return &ken.Error{Code: ken.CodeInternal, Msg: "claim " + c.ID + " is still found by " + where, Try: "Run ken forget again, and report this."}
		}
		id := uuid.MustParse(c.ID)
		if _, _, ok := s.find(id); ok {
			return left("id")
		}
		all := &ken.Filter{Statuses: ken.Statuses(), Structural: true}
		res, err := s.Keyword(ctx, engine.EmbedText(c), all, 100) // finds nothing if the text is not known
		if err != nil {
			return err
		}
		for _, h := range res.Hits {
			if row, ok := s.Row(h.Ref); ok && row.ID == c.ID {
				return left("the keyword index")
			}
		}
		names := analysis.Entities(c.Entities)
		if about, some := outline.Of(c); some {
			names = append(names, about.Said...)
		}
		under, err := s.Outlines(ctx, names, all, store.OutlineOptions{Top: math.MaxInt, Links: math.MaxInt, Aspects: math.MaxInt, Mentioned: names})
		if err != nil {
			return err
		}
		if slices.ContainsFunc(engine.Outlined(under), func(ref store.Ref) bool { row, ok := s.Row(ref); return ok && row.ID == c.ID }) {
			return left("the names that it is about, or says")
		}
		events, err := s.History(ctx, c.ID)
		if err != nil {
			return err
		}
		for _, ev := range events {
			if ev.Type != ken.EventForgotten && ev.Type != ken.EventSuperseded && !ev.Erased {
				return left("its history")
			}
		}
	}
	return nil
}

// Compact rewrites the files without deleted data. The bbolt file loses its free pages,
// so that data deleted from the shelf or forgotten is gone from the disk. The keyword
// index loses deleted words. The vector files, including those of other models, lose the
// vectors of texts that no record has. Writers wait meanwhile, and the time grows with
// the size of the files; a Replica is told afterwards. Compact can be repeated; if one
// step fails, the others are still done.
func (s *Store) Compact(ctx context.Context) error {
	err := s.submit(ctx, &request{done: make(chan error, 1), solo: func() error { return s.erase(ctx) }})
	if s.o.Replica == nil || ctx.Err() != nil {
		return err
	}
	told := make(chan error, 1)
	go func() { told <- s.rewritten(ctx) }()
	select {
	case rewritten := <-told:
		return errors.Join(err, rewritten)
	case <-ctx.Done():
		return errors.Join(err, ctx.Err())
	}
}

// CopyTo implements engine.Copier. Writers continue meanwhile, as long as the file need
// not grow.
func (s *Store) CopyTo(ctx context.Context, dir string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	file := filepath.Join(dir, dbFile)
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return &ken.Error{Code: ken.CodeRefused, Field: "folder", Msg: dir + " has a store already", Err: err, Try: "Name an empty folder."}
	}
	if err := s.view(func(tx *bbolt.Tx) error { return tx.CopyFile(file, 0o600) }); err != nil {
		return fmt.Errorf("copy store: %w", err)
	}
	if err := s.copyVectors(ctx, filepath.Join(dir, vectorDir)); err != nil {
		return fmt.Errorf("copy vectors: %w", err)
	}
	return nil
}

// copyVectors copies the vector files of all models. A file that grows meanwhile may end
// with an incomplete record, which is cut off when the file is opened.
func (s *Store) copyVectors(ctx context.Context, to string) error {
	from := filepath.Join(s.dir, vectorDir)
	entries, err := os.ReadDir(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || filepath.Ext(e.Name()) != ".vec" {
			continue
		}
		if err := errors.Join(ctx.Err(), copyFile(filepath.Join(from, e.Name()), filepath.Join(to, e.Name()))); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
