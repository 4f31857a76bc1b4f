package bolt

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/engine"
	"github.com/kenlayer/ken/internal/store/outline"
	"github.com/kenlayer/ken/store"
)

// The files of a rebuild, next to the store's file. The file of a damaged store is kept
// until the next rebuild or the next Forget.
const (
	rebuiltFile = dbFile + ".rebuild"
	damagedFile = dbFile + ".damaged"
)

// RepairReport reports the damage that a rebuild found, and how it was handled.
type RepairReport struct {
	Events   int      `json:"events"`             // number of events in the log
	Lost     []uint64 `json:"lost,omitempty"`     // events that can't be read, by number
	Salvaged []string `json:"salvaged,omitempty"` // claims that were taken from their rows, because the log lost some of their events
	Missing  []string `json:"missing,omitempty"`  // claims of lost events that have no row either
	Values   int      `json:"values,omitempty"`   // other values that were left out: rows, and records of journals and jobs
	Kept     string   `json:"kept,omitempty"`     // path of the damaged file
}

// Damage reports whether anything was damaged.
func (m *RepairReport) Damage() bool { return len(m.Lost) > 0 || m.Values > 0 }

// String returns the report in one line.
func (m *RepairReport) String() string {
	return fmt.Sprintf("%d of %d events could not be read; %d claims were taken from their rows, %d are lost; %d other values were left out",
		len(m.Lost), m.Events, len(m.Salvaged), len(m.Missing), m.Values)
}

// Rebuild builds the claims from the log in a new file, replaces the old file with it,
// and then builds a new keyword index. It reports progress to o.Progress. Repository
// chunks, the shelf and vectors stay. Writers wait meanwhile, and searches see the old
// state. A rebuild that fails or is interrupted leaves the old state. Damaged events are
// left out: their claims are taken from the rows, the log records the loss, and the
// damaged file is kept next to the new one.
func (s *Store) Rebuild(ctx context.Context) error {
	return s.submit(ctx, &request{done: make(chan error, 1), solo: func() error {
		if _, err := s.rebuild(ctx); err != nil && !errors.Is(err, errReplicated) {
			return err
		}
		return s.rebuildIndex(ctx)
	}})
}

// Repair is Rebuild for a folder that no process has open and that may be too damaged to
// be opened. Errors: ErrHeld; ErrCorrupt for a file of which nothing can be read, which
// is left unchanged.
func Repair(ctx context.Context, dir string, o Options) (RepairReport, error) {
	o = o.withDefaults()
	path := filepath.Join(dir, dbFile)
	db, err := openDB(path, o)
	if errors.Is(err, ken.ErrCorrupt) { // perhaps only its list of free pages is damaged, which reading doesn't need
		o.readOnly = true
		db, err = openDB(path, o)
		o.readOnly = false
	}
	if err != nil {
		return RepairReport{}, err
	}
	s := newStore(dir, o, db)
	m, err := s.rebuild(ctx)
	if err == nil {
		err = os.RemoveAll(filepath.Join(dir, indexDir)) // the next open builds a new one
	}
	return m, errors.Join(err, s.protect(s.db.Close))
}

// rebuild builds the new file and swaps it in. It is called by the committer, or while
// no process has the store open.
func (s *Store) rebuild(ctx context.Context) (RepairReport, error) {
	if s.replicated() {
		return RepairReport{}, errReplicated
	}
	tmp := filepath.Join(s.dir, rebuiltFile)
	db, err := newDB(tmp, s.o)
	if err != nil {
		return RepairReport{}, fmt.Errorf("rebuild: %w", err)
	}
	db.NoSync = true // until it is complete
	f := &rebuildFold{ctx: ctx, from: s, to: newStore(s.dir, s.o, db), chunks: map[uuid.UUID]bool{}, touched: map[uuid.UUID]bool{}, forgotten: map[uuid.UUID]bool{}}
	f.to.vecs, f.to.sealed, f.to.secured = newVectors("", nil), true, true
	err = f.fold()
	if err == nil {
		db.NoSync = s.o.NoSync
		err = db.Sync()
	}
	if err != nil {
		return f.report, errors.Join(fmt.Errorf("rebuild: %w", err), db.Close(), os.Remove(tmp))
	}
	return f.report, s.swap(f)
}

// swap replaces the store's file with the rebuilt one.
func (s *Store) swap(f *rebuildFold) error {
	s.dbMu.Lock()
	defer s.dbMu.Unlock()
	path := filepath.Join(s.dir, dbFile)
	if f.report.Damage() {
		f.report.Kept = filepath.Join(s.dir, damagedFile)
		if err := errors.Join(removed(f.report.Kept), os.Link(path, f.report.Kept)); err != nil {
			return errors.Join(fmt.Errorf("keep the damaged file: %w", err), f.to.db.Close())
		}
		s.o.Log.Warn("the store was damaged and has been repaired", "store", s.dir, "report", f.report.String(), "kept", f.report.Kept)
	}
	old := s.db
	var err error
	if s.db, err = takeOver(old, f.to.db, filepath.Join(s.dir, rebuiltFile), path, s.o); err != nil {
		return fmt.Errorf("put the rebuilt file into place: %w", err)
	}
	s.adopt(f.to)
	_ = s.protect(old.Close) // nothing of it is needed any more
	return s.syncRename()
}

func removed(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// adopt takes over the memory state of another store.
func (s *Store) adopt(n *Store) {
	s.t.mu.Lock()
	was := s.t.rows
	t := n.t
	s.t.rows, s.t.marks, s.t.classes, s.t.byClass, s.t.byID = t.rows, t.marks, t.classes, t.byClass, t.byID
	s.t.kinds, s.t.streams, s.t.about, s.t.live = t.kinds, t.streams, t.about, t.live
	s.t.mu.Unlock()
	s.docs.mu.Lock()
	s.docs.m = n.docs.m
	s.docs.mu.Unlock()
	for ref := range max(len(was), len(t.rows)) {
		s.cache.drop(store.Ref(ref))
	}
	if s.vecs != nil {
		for ref := range t.rows {
			switch r := &t.rows[ref]; {
			case r.gone():
				s.removeVector(store.Ref(ref))
			case ref >= len(was) || was[ref].hash != r.hash || was[ref].gone():
				_ = s.attachVector(store.Ref(ref), r.hash) // if this fails, it is embedded again
			}
		}
	}
	s.sealed = true
	s.id, s.commit, s.head, s.classes = n.id, n.commit, n.head, n.classes
	s.seq.Store(n.seq.Load())
	s.shown.Store(n.commit)
	h := &s.health
	h.mu.Lock()
	h.broken, h.damaged, h.first = nil, nil, nil
	h.mu.Unlock()
	s.broadcast()
}

// rebuildFold folds one store's log into another store.
type rebuildFold struct {
	ctx      context.Context
	from, to *Store
	report   RepairReport

	refs      map[uuid.UUID]store.Ref // refs of the old rows: records keep them
	chunks    map[uuid.UUID]bool      // chunks of files that were not copied yet
	touched   map[uuid.UUID]bool      // claims of lost events
	forgotten map[uuid.UUID]bool
}

func (f *rebuildFold) fold() error {
	if err := f.to.update(f.to.initMeta); err != nil {
		return err
	}
	f.to.t.about = outline.New()
	for _, step := range []func() error{f.copyMeta, f.readRefs, f.events, f.documents, f.salvage} {
		if err := step(); err != nil {
			return err
		}
	}
	return errors.Join(f.copyAll(bShelf), f.copyAll(bCommits))
}

// events folds the log, from the first event to the last.
func (f *rebuildFold) events() error {
	last := f.lastKey(bEvents, 8)
	// prev is the hash of the previous event in the new log. stored is its hash in the
	// old log, nil when that can't be read.
	var prev [sha256.Size]byte
	stored := &prev
	resealed := false
	owners := f.claimsByEvent()
	for end, seq := last, uint64(0); seq < probe; seq++ { // a damaged page may hide the end of the log
		if owners[end+seq] != nil {
			last = end + seq
		}
	}
	for from := uint64(1); from <= last; from += replayBatch {
		if err := f.ctx.Err(); err != nil {
			return err
		}
		var page []*store.Event
		to := min(from+replayBatch-1, last)
		for seq := from; seq <= to; seq++ {
			ev := f.event(seq, stored)
			if stored = nil; ev == nil {
				resealed = true
				ev = f.lost(seq, page, owners[seq])
			} else {
				hash := ev.Hash
				stored = &hash
			}
			if resealed { // events after a lost event get new hashes
				ev.Follow(prev)
			}
			if ev.Type == ken.EventForgotten {
				f.forgotten[ev.Claim] = true
			}
			prev = ev.Hash
			page = append(page, ev)
		}
		if err := f.apply(page, f.emit); err != nil {
			return err
		}
		f.report.Events = int(to)
		f.from.o.Progress("rebuild", int(to), int(last))
	}
	if head := f.raw(bMeta, kHead); len(head) == len(prev) && !resealed && !bytes.Equal(head, prev[:]) {
		f.report.Lost = append(f.report.Lost, last+1) // at least: the log went on
	}
	return nil
}

// event reads an event; nil if it is damaged. If the hash of the event before it is
// unknown, only the event's own payload is checked.
func (f *rebuildFold) event(seq uint64, before *[sha256.Size]byte) *store.Event {
	ev, err := decodeEvent(key64(seq), f.raw(bEvents, key64(seq)))
	if err != nil {
		return nil
	}
	as := *ev
	if before == nil {
		before = new([sha256.Size]byte)
		as.Follow(*before)
	}
	if as.Verify(*before) != nil {
		return nil
	}
	return ev
}

// lost records a damaged event and returns the event that replaces it.
func (f *rebuildFold) lost(seq uint64, before []*store.Event, claims []uuid.UUID) *store.Event {
	f.report.Lost = append(f.report.Lost, seq)
	ev := &store.Event{Seq: seq, At: f.from.o.Now().UTC(), Type: ken.EventLost}
	if len(before) > 0 {
		ev.At = before[len(before)-1].At
	}
	for _, id := range claims {
		ev.Claim = id
		f.touched[id] = true
	}
	ev.Seal([sha256.Size]byte{})
	return ev
}

// emit folds one event. If that fails, the event's claim is salvaged later.
func (f *rebuildFold) emit(t *txn, ev *store.Event) error {
	if err := t.emit(ev); err != nil {
		f.touched[ev.Claim] = true
		f.report.Lost = append(f.report.Lost, ev.Seq)
	}
	return nil
}

// apply folds events and writes them together with their changes.
func (f *rebuildFold) apply(page []*store.Event, emit func(*txn, *store.Event) error) error {
	l := newLayer()
	return f.to.update(func(tx *writeTx) error {
		t := &txn{s: f.to, tx: tx.Tx, batch: newLayer(), mine: l}
		for _, ev := range page {
			if err := errors.Join(emit(t, ev), putEvent(tx, ev)); err != nil {
				return err
			}
		}
		l.events = nil // they are in the file
		if len(page) > 0 {
			f.to.head = page[len(page)-1].Hash
			f.to.seq.Store(page[len(page)-1].Seq)
		}
		return f.write(tx, l)
	})
}

// write puts a layer into the new store. Its records keep the refs of the old store.
func (f *rebuildFold) write(tx *writeTx, l *layer) error {
	f.to.refs = f.refs
	p, err := f.to.plan(tx.Tx, l)
	if err != nil {
		return err
	}
	if err := p.put(tx); err != nil {
		return err
	}
	f.to.publishRows(p)
	return nil
}

// salvage writes claims from their rows if the log lost some of their events.
func (f *rebuildFold) salvage() error {
	ids := make([]uuid.UUID, 0, len(f.touched))
	for id := range f.touched {
		if !f.forgotten[id] && id != uuid.Nil {
			ids = append(ids, id)
		}
	}
	for id := range f.refs { // a row whose events are all lost
		if _, _, ok := f.to.find(id); !ok && !f.touched[id] && !f.forgotten[id] && len(f.report.Lost) > 0 {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	for _, id := range ids {
		c := f.oldClaim(id)
		switch {
		case c != nil && c.Kind == ken.KindDocument:
			continue
		case c == nil:
			if _, _, ok := f.to.find(id); !ok {
				f.report.Missing = append(f.report.Missing, id.String())
			}
			continue
		}
		ev, err := engine.Salvage(c, store.Env{Now: f.from.o.Now, NewID: f.from.o.NewID})
		if err != nil {
			return err
		}
		ev.Seq = f.to.seq.Load() + 1
		ev.Seal(f.to.head)
		if err := f.apply([]*store.Event{ev}, (*txn).emit); err != nil {
			return err
		}
		f.report.Salvaged = append(f.report.Salvaged, id.String())
	}
	return nil
}

// putEvent writes an event and its trail entries.
func putEvent(tx *writeTx, ev *store.Event) error {
	b, err := ev.MarshalBinary()
	if err != nil {
		return err
	}
	errs := []error{tx.Bucket(bEvents).Put(key64(ev.Seq), b), tx.Bucket(bTrail).Put(pair(ev.Claim[:], key64(ev.Seq)), nil)}
	if ev.Type == ken.EventSuperseded {
		pl, err := ev.Decode()
		errs = append(errs, err)
		if other, err := uuid.Parse(pl.Other); err == nil {
			errs = append(errs, tx.Bucket(bTrail).Put(pair(other[:], key64(ev.Seq)), nil))
		}
	}
	return errors.Join(errs...)
}
