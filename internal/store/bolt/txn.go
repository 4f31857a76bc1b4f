package bolt

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/uuid"
	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/store/engine"
	"github.com/kenlayer/ken/internal/store/forgotten"
	"github.com/kenlayer/ken/internal/store/outline"
	"github.com/kenlayer/ken/store"
)

// record is the new state of one record. A record without a claim is removed.
type record struct {
	claim    *ken.Claim
	document bool
}

// layer holds the changes of one request, or of the whole batch so far.
type layer struct {
	records map[uuid.UUID]record
	order   []uuid.UUID // keys of records, in the order of the first change
	events  []*store.Event
	keys    map[string]string
	docs    map[string]*docEntry
	erase   []uuid.UUID          // claims whose earlier events lose their payloads
	commits map[uuid.UUID][]byte // results of writes, by write ID
	names   map[string]bool      // names of active claims in this layer; only used with Options.Assign
}

func newLayer() *layer {
	return &layer{records: map[uuid.UUID]record{}, keys: map[string]string{}, docs: map[string]*docEntry{}, commits: map[uuid.UUID][]byte{}}
}

func (l *layer) set(id uuid.UUID, r record) {
	if _, ok := l.records[id]; !ok {
		l.order = append(l.order, id)
	}
	l.records[id] = r
}

// absorb adds the changes of a request that succeeded.
func (l *layer) absorb(m *layer) {
	for _, id := range m.order {
		l.set(id, m.records[id])
	}
	l.events = append(l.events, m.events...)
	l.erase = append(l.erase, m.erase...)
	maps.Copy(l.keys, m.keys)
	maps.Copy(l.docs, m.docs)
	maps.Copy(l.commits, m.commits)
	l.name(m.names)
}

// txn is the view of a request: the file, changed by earlier requests in the batch and
// by itself. Its changes reach the file only when the whole batch is written, so a
// request that fails leaves no trace.
type txn struct {
	s     *Store
	tx    *bbolt.Tx
	batch *layer
	mine  *layer
}

// get is the engine.Lookup of this request.
func (t *txn) get(id string) (*ken.Claim, error) {
	u, err := uuid.Parse(id)
	if err != nil {
		return nil, nil //nolint:nilerr // what is no id names no claim
	}
	for _, l := range []*layer{t.mine, t.batch} {
		if r, ok := l.records[u]; ok {
			if r.document {
				return nil, nil
			}
			return r.claim, nil
		}
	}
	ref, r, ok := t.s.find(u)
	if !ok || r.flags&flagDocument != 0 {
		return nil, nil
	}
	return t.s.claimAt(t.tx, ref)
}

// find looks up a record in memory.
func (s *Store) find(id uuid.UUID) (store.Ref, row, bool) {
	s.t.mu.RLock()
	defer s.t.mu.RUnlock()
	ref, ok := s.t.byID[id]
	if !ok {
		return 0, row{}, false
	}
	return ref, s.t.rows[ref], true
}

func (t *txn) byKey(key string) (string, error) {
	for _, l := range []*layer{t.mine, t.batch} {
		if id, ok := l.keys[key]; ok {
			return id, nil
		}
	}
	id, err := t.s.idOfKey(t.tx, key)
	if err != nil || id == uuid.Nil {
		return "", err
	}
	return id.String(), nil
}

// idOfKey returns the id of the claim that has a key; uuid.Nil if there is none.
func (s *Store) idOfKey(tx *bbolt.Tx, key string) (id uuid.UUID, err error) {
	v, err := s.get(tx, bKeys, []byte(key))
	if err != nil || v == nil {
		return id, err
	}
	if id, err = uuid.FromBytes(v); err != nil {
		return id, damaged("read a key", err)
	}
	return id, nil
}

// emit folds an event into the request's changes.
func (t *txn) emit(ev *store.Event) error {
	changed, err := engine.Fold(t.get, ev)
	if err != nil {
		return err
	}
	t.mine.events = append(t.mine.events, ev)
	for i := range changed {
		c := &changed[i]
		id, err := uuid.Parse(c.ID)
		if err != nil {
			return err
		}
		if c.Text == "" {
			t.mine.set(id, record{})
			continue
		}
		t.mine.set(id, record{claim: c})
		t.note(c)
		if c.Key != "" {
			t.mine.keys[c.Key] = c.ID
		}
	}
	return nil
}

// WriteClaim implements ken.Store.
func (s *Store) WriteClaim(ctx context.Context, c ken.Claim) (string, error) {
	out := s.Import(ctx, []store.Incoming{{Claim: c}})
	return out[0].ID, out[0].Err
}

// Import writes many claims in one transaction. Each succeeds or fails independently;
// outcomes are in the order of in. A thousand claims at once take little longer than
// one.
func (s *Store) Import(ctx context.Context, in []store.Incoming) []store.Outcome {
	out := make([]store.Outcome, len(in))
	env := s.o.env()
	texts := make([]string, 0, len(in))
	ready := make([]ken.Claim, len(in))
	for i := range in {
		if ready[i], out[i].Err = store.Prepare(in[i].Claim, s.o.Owner, env); out[i].Err == nil {
			texts = append(texts, engine.EmbedText(&ready[i]))
		}
	}
	if len(texts) == 0 {
		return out
	}
	s.prepareVectors(ctx, texts)
	// The committer may still be running when ctx ends the wait, so it writes to a
	// slice of its own.
	got := written{out: slices.Clone(out)}
	err := s.doOnce(ctx, &got, func(t *txn) error {
		env := t.env()
		for i := range ready {
			if got.out[i].Err != nil {
				continue
			}
			id, ev, err := engine.Write(t.get, t.byKey, ready[i], in[i].Prior, env)
			if err == nil && ev != nil {
				err = t.emit(ev)
			}
			got.out[i] = store.Outcome{ID: id, Changed: ev != nil && err == nil, Err: err}
		}
		return nil
	})
	if err == nil {
		return got.out
	}
	for i := range out {
		if out[i].Err == nil {
			out[i].Err = err
		}
	}
	return out
}

// Assign implements store.Claims.
func (s *Store) Assign(ctx context.Context, a ken.Assignment) (changed bool, err error) {
	var did bool // separate, because the committer may still be running when ctx ends the wait
	err = s.doOnce(ctx, &did, func(t *txn) error {
		did = false
		ev, err := engine.Assign(t.get, a, s.o.env())
		if err != nil || ev == nil {
			return err
		}
		did = true
		return t.emit(ev)
	})
	if err != nil {
		return false, err
	}
	return did, nil
}

// Transition implements ken.Store.
func (s *Store) Transition(ctx context.Context, tr ken.Transition) error {
	return s.command(ctx, func(t *txn) (*store.Event, error) { return engine.Transition(t.get, tr, s.o.env()) })
}

// command writes the event that decide returns; nil stands for no change.
func (s *Store) command(ctx context.Context, decide func(*txn) (*store.Event, error)) error {
	return s.do(ctx, func(t *txn) error {
		ev, err := decide(t)
		if err != nil || ev == nil {
			return err
		}
		return t.emit(ev)
	})
}

// Reinforce records that a claim was observed again. The evidence is added to the
// claim's; a newer piece replaces the same older one, so that a Verified claim stops
// decaying. Errors: ErrNotFound; ErrRefused for a claim that is no longer active.
func (s *Store) Reinforce(ctx context.Context, id string, evidence []ken.Evidence, actor ken.Actor) error {
	return s.command(ctx, func(t *txn) (*store.Event, error) { return engine.Reinforce(t.get, id, evidence, actor, s.o.env()) })
}

// Supersede implements ken.Store.
func (s *Store) Supersede(ctx context.Context, oldID, newID string) error {
	return s.SupersedeFor(ctx, oldID, newID, "", ken.Actor{})
}

// SupersedeFor is Supersede with a reason and an actor, which are stored in the
// history.
func (s *Store) SupersedeFor(ctx context.Context, oldID, newID, reason string, actor ken.Actor) error {
	return s.command(ctx, func(t *txn) (*store.Event, error) {
		return engine.Supersede(t.get, oldID, newID, reason, actor, s.o.env())
	})
}

// written holds the outcomes of a write in the form that is stored with its ID.
type written struct{ out []store.Outcome }

// keptOutcome is the stored form of an outcome. Of an error, it keeps the code, the
// field, the message and the hint.
type keptOutcome struct {
	ID      string   `json:"id,omitempty"`
	Changed bool     `json:"changed,omitempty"`
	Code    ken.Code `json:"code,omitempty"`
	Field   string   `json:"field,omitempty"`
	Msg     string   `json:"msg,omitempty"`
	Try     string   `json:"try,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (w *written) MarshalJSON() ([]byte, error) {
	kept := make([]keptOutcome, len(w.out))
	for i, o := range w.out {
		k := keptOutcome{ID: o.ID, Changed: o.Changed}
		if o.Err != nil {
			k.Code, k.Msg, k.Try = ken.CodeInternal, o.Err.Error(), ken.Hint(o.Err)
			if e, ok := errors.AsType[*ken.Error](o.Err); ok {
				k.Code, k.Field, k.Msg = e.Code, e.Field, e.Msg
			}
		}
		kept[i] = k
	}
	return json.Marshal(kept)
}

// UnmarshalJSON implements json.Unmarshaler.
func (w *written) UnmarshalJSON(b []byte) error {
	var kept []keptOutcome
	if err := json.Unmarshal(b, &kept); err != nil {
		return err
	}
	w.out = make([]store.Outcome, len(kept))
	for i, k := range kept {
		w.out[i] = store.Outcome{ID: k.ID, Changed: k.Changed}
		if k.Code != "" {
			w.out[i].Err = &ken.Error{Code: k.Code, Field: k.Field, Msg: k.Msg, Try: k.Try}
		}
	}
	return nil
}

// change is the change of one record, on disk and in memory.
type change struct {
	ref   store.Ref
	row   row
	claim *ken.Claim     // nil: the record is removed
	words bool           // the words in the index changed
	about *outline.About // nil: not in the index of names
}

// plan holds the computed changes of a batch: everything that put writes and publish
// shows.
type plan struct {
	s       *Store
	layer   *layer
	changes []change
	commit  uint64
	seq     uint64
	head    [32]byte
	classes int
}

func (p *plan) empty() bool {
	return len(p.layer.events) == 0 && len(p.changes) == 0 && len(p.layer.docs) == 0
}

// plan assigns a ref and row to every changed record, and a number and hash to every
// event. Readers see no change. If the batch fails, new classes stay interned and
// unused.
func (s *Store) plan(tx *bbolt.Tx, l *layer) (*plan, error) {
	p := &plan{s: s, layer: l, commit: s.commit + 1, seq: s.seq.Load(), head: s.head}
	for _, ev := range l.events {
		p.seq++
		ev.Seq = p.seq
		ev.Seal(p.head)
		p.head = ev.Hash
	}
	if err := s.updateCiting(tx, l); err != nil {
		return nil, err
	}
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	next := store.Ref(len(s.t.rows))
	for _, id := range l.order {
		rec := l.records[id]
		ref, known := s.t.byID[id]
		if rec.claim == nil {
			if known {
				p.changes = append(p.changes, change{ref: ref, row: row{id: id, version: p.commit, flags: flagGone}})
			}
			continue
		}
		if !known {
			if ref, known = s.refs[id]; !known {
				ref = next
				next++
			}
		}
		r, err := s.rowOf(id, rec, l)
		if err != nil {
			return nil, err
		}
		r.version = p.commit
		c := change{ref: ref, row: r, claim: rec.claim}
		if about, some := outline.Of(rec.claim); some {
			c.about = &about
		}
		p.changes = append(p.changes, c)
	}
	p.classes = len(s.t.classes)
	return p, nil
}

// rowOf computes a record's row; s.t.mu is held.
func (s *Store) rowOf(id uuid.UUID, rec record, l *layer) (row, error) {
	c := rec.claim
	sup := c.Support(func(e ken.Evidence) bool { return s.docs.stillValid(e, l.docs) })
	n, err := s.t.intern(class{Scope: c.Scope, Status: c.Status, Kind: c.Kind, Trust: sup.Trust})
	r := row{id: id, hash: hashOf(c), created: toMilli(c.CreatedAt), expires: toMilli(c.ExpiresAt),
		newest: toMilli(sup.NewestAt), class: n, tier: sup.Tier}
	r.form = analysis.FileForm(c.SourceType, c.Source, c.Text)
	r.stream, r.place = streamOf(c, rec.document)
	if c.Constraint {
		r.flags |= flagConstraint
	}
	if c.RuleCandidate {
		r.flags |= flagCandidate
	}
	if rec.document {
		r.flags |= flagDocument
	}
	if c.Approved() {
		r.flags |= flagApproved
	}
	return r, err
}

// planWriter writes the values of a plan, and collects the errors.
type planWriter struct {
	tx   *writeTx
	errs []error
}

func (w *planWriter) add(err error)           { w.errs = append(w.errs, err) }
func (w *planWriter) put(bucket, k, v []byte) { w.add(w.tx.Bucket(bucket).Put(k, v)) }
func (w *planWriter) del(bucket, k []byte)    { w.add(w.tx.Bucket(bucket).Delete(k)) }

// seal writes a value with a checksum.
func (w *planWriter) seal(bucket, k, v []byte) { w.put(bucket, k, seal(bucket, k, v)) }

// sealJSON writes v as JSON with a checksum.
func (w *planWriter) sealJSON(bucket, k []byte, v any) {
	b, err := json.Marshal(v)
	w.add(err)
	w.seal(bucket, k, b)
}

// put writes the plan to the file.
func (p *plan) put(tx *writeTx) error {
	w := &planWriter{tx: tx}
	for _, id := range p.layer.erase {
		w.add(eraseEvents(tx, id))
	}
	for _, ev := range p.layer.events {
		w.add(putEvent(tx, ev))
		if ev.Type == ken.EventForgotten { // the mark on the shelf keeps it from being written again
			w.add(forgotten.Mark(shelfWriter{&shelfReader{s: p.s, b: tx.Tx.Bucket(bShelf)}, tx.Bucket(bShelf)}, ev.Claim.String()))
		}
	}
	refers := refersChange{}
	for i := range p.changes {
		p.putChange(w, &p.changes[i], refers)
	}
	w.add(refers.put(tx))
	for path, d := range p.layer.docs {
		if d == nil {
			w.del(bDocs, []byte(path))
			continue
		}
		w.sealJSON(bDocs, []byte(path), d)
	}
	p.s.t.mu.RLock()
	for n := p.s.classes; n < p.classes; n++ {
		w.sealJSON(bClasses, []byte{byte(n >> 8), byte(n)}, p.s.t.classes[n])
	}
	p.s.t.mu.RUnlock()
	w.add(keepCommits(tx, p.layer.commits))
	w.put(bMeta, kCommit, key64(p.commit))
	w.put(bMeta, kAbout, key64(p.commit))
	w.put(bMeta, kRefers, key64(p.commit))
	w.put(bMeta, kApproved, key64(p.commit))
	w.put(bMeta, kHead, p.head[:])
	return errors.Join(w.errs...)
}

// putChange writes one record with its entries in the indexes, except for refers, to which
// it adds the change. It sets c.words.
func (p *plan) putChange(w *planWriter, c *change, refers refersChange) {
	ref := key32(c.ref)
	old, err := p.s.claimAt(w.tx.Tx, c.ref)
	if err != nil { // the damaged value is overwritten
		p.s.noteDamage(err)
	}
	c.words = old == nil || c.claim == nil || !reflect.DeepEqual(indexDoc(c.ref, old), indexDoc(c.ref, c.claim))
	for path := range cited(old) {
		w.del(bCites, citeKey(path, c.ref))
	}
	refers.drop(old, c.ref)
	if old != nil && old.Key != "" && (c.claim == nil || c.claim.Key != old.Key) {
		w.del(bKeys, []byte(old.Key))
	}
	w.seal(bRows, ref, c.row.encode())
	if c.about == nil {
		w.del(bAbout, ref)
	} else {
		w.seal(bAbout, ref, c.about.Append(nil))
	}
	if old != nil {
		for _, parent := range engine.Parents(old) {
			w.del(bDerived, pair(parent[:], c.row.id[:]))
		}
	}
	if c.claim == nil {
		w.del(bClaims, ref)
		return
	}
	w.sealJSON(bClaims, ref, c.claim)
	if c.row.flags&flagDocument != 0 {
		return
	}
	if c.claim.Key != "" {
		w.seal(bKeys, []byte(c.claim.Key), c.row.id[:])
	}
	for path := range cited(c.claim) {
		w.put(bCites, citeKey(path, c.ref), nil)
	}
	refers.keep(c.claim, c.ref)
	for _, parent := range engine.Parents(c.claim) {
		w.put(bDerived, pair(parent[:], c.row.id[:]), nil)
	}
}

// cited returns the files whose content a claim's evidence cites.
func cited(c *ken.Claim) map[string]struct{} {
	out := map[string]struct{}{}
	if c == nil {
		return out
	}
	for _, e := range c.Evidence {
		if e.Kind == ken.EvidenceFile && e.ContentHash != "" && !strings.ContainsRune(e.Path, 0) {
			out[e.Path] = struct{}{}
		}
	}
	return out
}
