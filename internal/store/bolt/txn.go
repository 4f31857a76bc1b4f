package bolt

import (
	"github.com/google/uuid"
	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// record is the new state of one record. A record without a claim is removed.
type record struct {
	claim    *ken.Claim
	document bool
}

// layer is what one request, or a whole batch so far, wants to change.
type layer struct {
	records map[uuid.UUID]record
	order   []uuid.UUID // of records, as first touched
	events  []*store.Event
	keys    map[string]string
	docs    map[string]*docEntry
	erase   []uuid.UUID          // claims whose earlier events lose their payloads
	commits map[uuid.UUID][]byte // what writes returned, by their names
	names   map[string]bool      // that claims carry which stand; kept only for Options.Assign
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
	for k, v := range m.keys {
		l.keys[k] = v
	}
	for k, v := range m.docs {
		l.docs[k] = v
	}
	for k, v := range m.commits {
		l.commits[k] = v
	}
	l.name(m.names)
}

// txn is what a request sees: the file, changed by the requests before it in the
// batch, changed by itself. Nothing it does reaches the file until the whole
// batch is written, so a request that fails leaves no trace.
type txn struct {
	s     *Store
	tx    *bbolt.Tx
	batch *layer
	mine  *layer
}

// get is the store.Lookup of this request.
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
	return t.read(ref)
}

// find looks a record up in memory.
func (s *Store) find(id uuid.UUID) (store.Ref, row, bool) {
	s.t.mu.RLock()
	defer s.t.mu.RUnlock()
	ref, ok := s.t.byID[id]
	if !ok {
		return 0, row{}, false
	}
	return ref, s.t.rows[ref], true
}

func (t *txn) read(ref store.Ref) (*ken.Claim, error) {
	return t.s.claimAt(t.tx, ref)
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

// idOfKey returns the claim that has a key; uuid.Nil for none.
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
	changed, err := store.Fold(t.get, ev)
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
