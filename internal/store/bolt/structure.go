package bolt

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"

	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/store/engine"
	"github.com/kenlayer/ken/internal/store/outline"
	"github.com/kenlayer/ken/store"
)

// file updates the index of names for a row that was put; t.mu is held.
func (t *table) file(ref store.Ref, about *outline.About) {
	if about == nil || t.rows[ref].gone() {
		t.about.Remove(ref)
		return
	}
	t.about.Put(t.outlined(ref, *about))
}

func (t *table) outlined(ref store.Ref, about outline.About) outline.Record {
	r := &t.rows[ref]
	return outline.Record{Ref: ref, ID: r.id, Kind: t.classes[r.class].Kind, Tier: r.tier, Created: r.created,
		Constraint: r.flags&flagConstraint != 0, Candidate: r.flags&flagCandidate != 0, About: about}
}

// Known implements store.Structure.
func (s *Store) Known(names []string) []bool {
	out := make([]bool, len(names))
	now := toMilli(s.o.Now())
	s.t.mu.RLock()
	defer s.t.mu.RUnlock()
	for i, name := range names {
		out[i] = s.t.about.Known(name, func(ref store.Ref) bool { return s.t.stillValid(ref, now) })
	}
	return out
}

// stillValid reports whether the record is active: not removed, not superseded and not
// expired; t.mu is held.
func (t *table) stillValid(ref store.Ref, now int64) bool {
	r := &t.rows[ref]
	return !r.gone() && activeStatus(t.classes[r.class].Status) && (r.expires == 0 || now < r.expires)
}

func activeStatus(s ken.Status) bool {
	return s == ken.StatusObserved || s == ken.StatusVerified || s == ken.StatusInferred
}

// Outlines implements store.Structure. All results are from one commit.
func (s *Store) Outlines(_ context.Context, names []string, f *ken.Filter, o store.OutlineOptions) ([]store.Outline, error) {
	s.t.mu.RLock()
	defer s.t.mu.RUnlock()
	return s.t.about.Outlines(names, s.t.pass(f), o), nil
}

// pass returns the tests for what a filter admits; t.mu is held while they are used.
func (t *table) pass(f *ken.Filter) outline.Pass {
	only := outline.Links(f)
	claims, links := t.filterFor(f), t.filterFor(&only)
	return outline.Pass{Claim: claims.accept, Link: links.accept}
}

// Names implements store.Structure.
func (s *Store) Names(ctx context.Context, f *ken.Filter) iter.Seq2[store.NameCount, error] {
	return engine.AllNames(ctx, f, s.NamesAfter)
}

// NamesAfter implements engine.Served.
func (s *Store) NamesAfter(ctx context.Context, f *ken.Filter, after string, n int) (page []store.NameCount, more bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	s.t.mu.RLock()
	defer s.t.mu.RUnlock()
	page, more = s.t.about.Names(s.t.pass(f), after, n)
	return page, more, nil
}

// env returns the environment for the commands of this request.
func (t *txn) env() store.Env {
	env := t.s.o.env()
	if assign := t.s.o.Assign; assign != nil {
		env.Assign = func(c *ken.Claim) { assign(requestStructure{t.s, t}, c) }
	}
	return env
}

// requestStructure is the store's structure as a request sees it. It includes what earlier
// requests of the batch wrote, so that results don't depend on which writes share a
// transaction.
type requestStructure struct {
	*Store
	t *txn
}

// Known implements store.Structure.
func (i requestStructure) Known(names []string) []bool {
	out := i.Store.Known(names)
	for n, name := range names {
		out[n] = out[n] || i.t.mine.names[name] || i.t.batch.names[name]
	}
	return out
}

// note records the names of a claim that was just written, for later claims of the batch.
func (t *txn) note(c *ken.Claim) {
	if t.s.o.Assign == nil || len(c.Entities) == 0 || c.Kind == ken.KindDocument || !activeStatus(c.Status) {
		return
	}
	names := map[string]bool{}
	for _, n := range analysis.Entities(c.Entities) {
		names[n] = true
	}
	t.mine.name(names)
}

func (l *layer) name(names map[string]bool) {
	if l.names == nil && len(names) > 0 {
		l.names = map[string]bool{}
	}
	maps.Copy(l.names, names)
}

// openStructure loads what records are about into memory. A file that was created or last
// written by a program that doesn't know bAbout is first updated from the claims that
// changed since the commit in kAbout.
func (s *Store) openStructure(ctx context.Context) error {
	mark, err := s.mark(kAbout)
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
		// bAbout is a projection like the keyword index: if it can't be read, it is built
		// again.
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
	if err := s.rebuildAllNames(ctx, mute); err != nil {
		return err
	}
	s.t.about = outline.New()
	return s.view(load)
}

// catchUp writes bAbout for the records that changed after commit mark. An interrupted
// catchUp starts over, because kAbout is updated with the last batch.
func (s *Store) catchUp(ctx context.Context, mark uint64) error {
	var refs []store.Ref
	for ref := range s.t.rows {
		if r := &s.t.rows[ref]; r.version > mark || mark > s.commit {
			refs = append(refs, store.Ref(ref))
		}
	}
	return s.rebuildAllNames(ctx, refs)
}

// rebuildAllNames writes bAbout for the given records.
func (s *Store) rebuildAllNames(ctx context.Context, refs []store.Ref) error {
	done := 0
	for chunk := range slices.Chunk(refs, replayBatch) {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := s.update(func(tx *writeTx) error {
			for _, ref := range chunk {
				if err := s.rebuildNames(tx, ref); err != nil {
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

// rebuildNames writes bAbout for one record, from its claim.
func (s *Store) rebuildNames(tx *writeTx, ref store.Ref) error {
	key := key32(ref)
	c, err := s.claimAt(tx.Tx, ref)
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

// loadStructure fills the index, and returns the rules whose words are missing in the
// file, because an older program wrote it.
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

// layoutShortRows is the layout in which rows end before the form field.
const layoutShortRows = 1

// layoutNoSums is the layout in which no value has a checksum. Values get a checksum when
// they are written again, or all at once by a rebuild.
const layoutNoSums = 2

const shortRow = rowSize - 15

// lengthenRows converts rows of layoutShortRows to the current layout. It computes the
// missing fields from the claims.
func lengthenRows(tx *writeTx) error {
	rows, claims := tx.Bucket(bRows), tx.Bucket(bClaims)
	longer := map[string][]byte{}
	err := rows.ForEach(func(k, v []byte) error {
		if len(v) != shortRow {
			return errRow
		}
		var r row
		if err := r.decode(append(append([]byte{}, v...), make([]byte, rowSize-shortRow)...)); err != nil {
			return err
		}
		if text := claims.Get(k); text != nil {
			var c ken.Claim
			if err := json.Unmarshal(text, &c); err != nil {
				return err
			}
			r.form = analysis.FileForm(c.SourceType, c.Source, c.Text)
			r.stream, r.place = streamOf(&c, r.flags&flagDocument != 0)
		}
		longer[string(k)] = r.encode()
		return nil
	})
	if err != nil {
		return err
	}
	for k, v := range longer {
		if err := rows.Put([]byte(k), v); err != nil {
			return err
		}
	}
	return nil
}
