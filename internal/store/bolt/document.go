package bolt

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/google/uuid"
	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/store/engine"
	"github.com/kenlayer/ken/store"
)

// docEntry is the stored state of a document: its version and its chunks. The entry of
// a deleted file is kept without chunks, so that evidence which cites its content no
// longer counts.
type docEntry struct {
	store.Known
	Gone   bool        `json:"gone,omitempty"`
	Chunks []uuid.UUID `json:"chunks,omitempty"`
}

// docTable holds the document entries in memory.
type docTable struct {
	mu sync.RWMutex // guards m
	m  map[string]*docEntry
}

func newDocTable() *docTable { return &docTable{m: map[string]*docEntry{}} }

func (d *docTable) load(s *Store, tx *bbolt.Tx) error {
	return tx.Bucket(bDocs).ForEach(func(k, v []byte) error {
		e := &docEntry{}
		v, err := s.unseal(bDocs, k, v)
		if err == nil {
			err = json.Unmarshal(v, e)
		}
		if err != nil {
			return damaged(fmt.Sprintf("read document %q", k), err)
		}
		d.m[string(k)] = e
		return nil
	})
}

func (d *docTable) apply(changed map[string]*docEntry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for path, e := range changed {
		if e == nil {
			delete(d.m, path)
		} else {
			d.m[path] = e
		}
	}
}

func (d *docTable) get(path string) *docEntry {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.m[path]
}

// stillValid reports whether evidence still holds: if it includes a content hash of a file,
// the file must have that content now. A file that was never indexed counts as
// unchanged. staged overrides the committed entries.
func (d *docTable) stillValid(e ken.Evidence, staged map[string]*docEntry) bool {
	if e.Kind != ken.EvidenceFile || e.ContentHash == "" {
		return true
	}
	entry, ok := staged[e.Path]
	if !ok {
		entry = d.get(e.Path)
	}
	return entry == nil || !entry.Gone && entry.Hash == e.ContentHash
}

// DocumentHashes returns the known state of every document that is not deleted.
func (s *Store) DocumentHashes(context.Context) (map[string]store.Known, error) {
	s.docs.mu.RLock()
	defer s.docs.mu.RUnlock()
	out := make(map[string]store.Known, len(s.docs.m))
	for path, e := range s.docs.m {
		if !e.Gone {
			out[path] = e.Known
		}
	}
	return out, nil
}

// PutDocuments replaces each document's chunks, in one transaction. A chunk that keeps
// its id is rewritten in place. Secrets and control characters are removed from chunks.
// Text that looks like a model's reasoning is kept, because a repository may write
// about that.
func (s *Store) PutDocuments(ctx context.Context, docs []store.Document) error {
	type prepared struct {
		path   string
		entry  *docEntry
		chunks []ken.Claim
	}
	var in []prepared
	var texts []string
	for _, d := range docs {
		p := prepared{path: d.Path, entry: &docEntry{Known: d.Known}}
		for _, c := range d.Chunks {
			c, err := store.PrepareDocument(c, s.o.Owner, s.o.env())
			if err != nil {
				return fmt.Errorf("chunk of %s: %w", d.Path, err)
			}
			c.Kind = ken.KindDocument
			p.entry.Chunks = append(p.entry.Chunks, uuid.MustParse(c.ID))
			p.chunks = append(p.chunks, c)
			texts = append(texts, engine.EmbedText(&c))
		}
		in = append(in, p)
	}
	s.prepareVectors(ctx, texts)
	return s.do(ctx, func(t *txn) error {
		for _, p := range in {
			t.dropChunks(p.path)
			for i := range p.chunks {
				t.mine.set(p.entry.Chunks[i], record{claim: &p.chunks[i], document: true})
			}
			t.mine.docs[p.path] = p.entry
		}
		return nil
	})
}

// TouchDocuments updates the known state of documents whose chunks stay the same.
func (s *Store) TouchDocuments(ctx context.Context, known map[string]store.Known) error {
	return s.do(ctx, func(t *txn) error {
		for path, k := range known {
			if old := t.doc(path); old != nil && !old.Gone {
				t.mine.docs[path] = &docEntry{Known: k, Chunks: old.Chunks}
			}
		}
		return nil
	})
}

// RemoveDocuments removes documents and their chunks.
func (s *Store) RemoveDocuments(ctx context.Context, paths []string) error {
	return s.do(ctx, func(t *txn) error {
		for _, path := range paths {
			if t.doc(path) == nil {
				continue
			}
			t.dropChunks(path)
			t.mine.docs[path] = &docEntry{Gone: true}
		}
		return nil
	})
}

// doc returns a document as this request sees it; nil if it was never stored.
func (t *txn) doc(path string) *docEntry {
	for _, l := range []*layer{t.mine, t.batch} {
		if e, ok := l.docs[path]; ok {
			return e
		}
	}
	return t.s.docs.get(path)
}

func (t *txn) dropChunks(path string) {
	if old := t.doc(path); old != nil {
		for _, id := range old.Chunks {
			t.mine.set(id, record{})
		}
	}
}

// updateCiting adds to the batch the claims that cite the content of documents which
// change in the batch, so that their tiers are computed again.
func (s *Store) updateCiting(tx *bbolt.Tx, l *layer) error {
	for path, entry := range l.docs {
		if old := s.docs.get(path); entry == nil || old != nil && old.Hash == entry.Hash && old.Gone == entry.Gone {
			continue
		}
		prefix := append([]byte(path), 0)
		cur := tx.Bucket(bCites).Cursor()
		for k, _ := cur.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = cur.Next() {
			ref := binary.BigEndian.Uint32(k[len(prefix):])
			c, err := s.claimAt(tx, ref)
			if err != nil {
				return err
			}
			if c == nil {
				continue
			}
			id := uuid.MustParse(c.ID)
			if _, staged := l.records[id]; !staged {
				l.set(id, record{claim: c})
			}
		}
	}
	return nil
}

// referHash is the number of bytes of a reference's SHA-256 that identify it in
// bRefers. A hash is used because a command line may be long, and a forgotten one must
// leave no words behind. When two hashes collide, the claims are compared.
const referHash = 8

func referPrefix(reference string) []byte {
	sum := sha256.Sum256([]byte(reference))
	return sum[:referHash]
}

// referKeys returns the bRefers keys of a claim; none for nil and for repository
// chunks.
func referKeys(c *ken.Claim, ref store.Ref) [][]byte {
	if c == nil || c.Kind == ken.KindDocument {
		return nil
	}
	var out [][]byte
	for _, r := range engine.References(c) {
		out = append(out, pair(referPrefix(r), key32(ref)))
	}
	return out
}

// refersChange says what happens to bRefers entries, by key: true keeps or adds an
// entry, false removes it. Entries are written in key order. In the order of the
// claims, which is random, every insertion would move half of a page that grows with
// the transaction.
type refersChange map[string]bool

func (m refersChange) drop(c *ken.Claim, ref store.Ref) {
	for _, key := range referKeys(c, ref) {
		m[string(key)] = false
	}
}

func (m refersChange) keep(c *ken.Claim, ref store.Ref) {
	for _, key := range referKeys(c, ref) {
		m[string(key)] = true
	}
}

func (m refersChange) put(tx *writeTx) error {
	var errs []error
	b := tx.Bucket(bRefers)
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if m[key] {
			errs = append(errs, b.Put([]byte(key), nil))
		} else {
			errs = append(errs, b.Delete([]byte(key)))
		}
	}
	return errors.Join(errs...)
}

// Referring implements store.Projections.
func (s *Store) Referring(ctx context.Context, names []string, f *ken.Filter) ([]store.Ref, error) {
	var refs []store.Ref
	s.t.mu.RLock()
	for _, name := range names {
		refs = s.t.about.Carriers(refs, analysis.Entity(name))
	}
	s.t.mu.RUnlock()
	err := s.view(func(tx *bbolt.Tx) error {
		for _, name := range names {
			found, err := pointing(ctx, tx, name)
			if err != nil {
				return err
			}
			refs = append(refs, found...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(refs)
	refs = slices.Compact(refs)
	s.t.mu.RLock()
	defer s.t.mu.RUnlock()
	sv := s.t.filterFor(f)
	return slices.DeleteFunc(refs, func(ref store.Ref) bool { return !sv.accept(ref) || s.t.rows[ref].flags&flagDocument != 0 }), nil
}

// pointing returns the records whose evidence points at reference.
func pointing(ctx context.Context, tx *bbolt.Tx, reference string) (refs []store.Ref, err error) {
	if reference == "" {
		return nil, ctx.Err()
	}
	prefix := referPrefix(reference)
	cur := tx.Bucket(bRefers).Cursor()
	for k, _ := cur.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = cur.Next() {
		if len(k) == referHash+4 {
			refs = append(refs, binary.BigEndian.Uint32(k[referHash:]))
		}
	}
	return refs, ctx.Err()
}

// openRefers builds bRefers for a file that was created or last written by a program
// that does not know the bucket. If it is interrupted, it starts over.
func (s *Store) openRefers(ctx context.Context) error {
	if mark, err := s.mark(kRefers); err != nil || mark == s.commit {
		return err
	}
	err := s.update(func(tx *writeTx) error { return tx.EmptyBucket(bRefers) })
	refs, done := s.t.claims(), 0
	for chunk := range slices.Chunk(refs, replayBatch) {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		err = s.update(func(tx *writeTx) error { return s.rebuildReferences(tx, chunk) })
		done += len(chunk)
		s.o.Progress("references", done, len(refs))
	}
	if err != nil {
		return err
	}
	return s.update(func(tx *writeTx) error { return tx.Bucket(bMeta).Put(kRefers, key64(s.commit)) })
}

// rebuildReferences writes the bRefers entries of records, computed from their claims.
func (s *Store) rebuildReferences(tx *writeTx, refs []store.Ref) error {
	m := refersChange{}
	for _, ref := range refs {
		c, err := s.claimAt(tx.Tx, ref)
		if err != nil {
			return err
		}
		m.keep(c, ref)
	}
	return m.put(tx)
}
