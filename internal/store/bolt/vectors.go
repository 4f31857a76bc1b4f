package bolt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/internal/store/engine"
	"github.com/kenlayer/ken/internal/store/vector"
	"github.com/kenlayer/ken/store"
)

// vectors is the projection into the space of one model: its file, its index in
// memory, and the records that still lack a vector. Every method is safe for
// concurrent use and does nothing without an embedder.
type vectors struct {
	dir string
	e   embed.Embedder

	mu      sync.RWMutex // guards the rest; file and index are nil until the dimension is known
	file    *vector.File
	index   *vector.Index
	missing map[store.Ref]struct{}
	blank   map[vector.Hash]struct{} // texts without anything to embed
	ahead   map[vector.Hash]struct{} // made for a record that is not written yet

	constant atomic.Pointer[error] // set while the embedder answers the same for different texts
}

func newVectors(dir string, e embed.Embedder) *vectors {
	return &vectors{dir: dir, e: e, missing: map[store.Ref]struct{}{}, blank: map[vector.Hash]struct{}{}, ahead: map[vector.Hash]struct{}{}}
}

func hashOf(c *ken.Claim) [16]byte { return embed.Hash(engine.EmbedText(c)) }

// load reads the vectors of the records in t.
func (v *vectors) load(t *table) error {
	if v.e == nil {
		return nil
	}
	byHash := make(map[[16]byte]store.Ref, t.live)
	var twins map[[16]byte][]store.Ref // further records of the same text
	for i := range t.rows {
		r, ref := &t.rows[i], store.Ref(i)
		if r.gone() {
			continue
		}
		v.missing[ref] = struct{}{}
		if _, taken := byHash[r.hash]; !taken {
			byHash[r.hash] = ref
			continue
		}
		if twins == nil {
			twins = map[[16]byte][]store.Ref{}
		}
		twins[r.hash] = append(twins[r.hash], ref)
	}
	dim := v.e.Dim()
	if dim == 0 {
		if dim = v.knownDim(); dim == 0 {
			return nil
		}
	}
	return v.open(dim, func(h vector.Hash, vec []float32) {
		ref, ok := byHash[h]
		if !ok {
			return
		}
		for _, ref := range append(twins[h], ref) {
			if v.index.Set(ref, vec) == nil {
				delete(v.missing, ref)
			}
		}
	})
}

// path names the file of the embedder's model. The dimension is in the name,
// because a gateway can serve one model at several.
func (v *vectors) path(dim string) string {
	safe := strings.Map(func(r rune) rune {
		if r == '-' || r == '.' || r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, v.e.Model())
	return filepath.Join(v.dir, safe+"."+dim+"d.vec")
}

// knownDim finds the dimension of a model that has not said it yet, from the
// newest file of that model.
func (v *vectors) knownDim() (dim int) {
	names, err := filepath.Glob(v.path("*"))
	if err != nil {
		return 0
	}
	var newest os.FileInfo
	for _, name := range names {
		fi, err := os.Stat(name)
		part := strings.Split(strings.TrimSuffix(filepath.Base(name), "d.vec"), ".")
		n, perr := strconv.Atoi(part[len(part)-1])
		if err == nil && perr == nil && (newest == nil || fi.ModTime().After(newest.ModTime())) {
			newest, dim = fi, n
		}
	}
	return dim
}

// open opens file and index; v.mu is held or v not yet shared.
func (v *vectors) open(dim int, each func(vector.Hash, []float32)) error {
	if err := os.MkdirAll(v.dir, 0o700); err != nil {
		return fmt.Errorf("create vector folder: %w", err)
	}
	v.index = vector.New(dim, vector.Options{})
	path := v.path(strconv.Itoa(dim))
	o := vector.FileOptions{Model: v.e.Model(), Dim: dim, Each: each}
	f, err := vector.OpenFile(path, o)
	if errors.Is(err, ken.ErrCorrupt) {
		// A cache that can't be read is set aside, and made anew.
		if err := os.Rename(path, path+".broken"); err != nil {
			return fmt.Errorf("set broken vectors aside: %w", err)
		}
		f, err = vector.OpenFile(path, o)
	}
	if err != nil {
		v.index = nil
		return fmt.Errorf("open vectors: %w", err)
	}
	v.file = f
	return nil
}

func (v *vectors) close() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.file == nil {
		return nil
	}
	return v.file.Close()
}

// prepare embeds texts that are about to be written, when that costs
// microseconds. What fails is left for EmbedMissing: a write never fails over a
// vector.
func (v *vectors) prepare(ctx context.Context, texts []string) {
	if v.e != nil && embed.IsInline(v.e) {
		_ = v.embed(ctx, texts)
	}
}

// embed makes the vectors of texts that the file lacks.
func (v *vectors) embed(ctx context.Context, texts []string) error {
	todo, hashes := v.unknown(texts)
	if len(todo) == 0 {
		return nil
	}
	vecs, err := v.e.Embed(ctx, todo)
	if err != nil {
		return err
	}
	if len(vecs) != len(todo) {
		return &ken.Error{Code: ken.CodeUnavailable, Msg: fmt.Sprintf("the embedder returned %d vectors for %d texts", len(vecs), len(todo))}
	}
	if err := v.varied(vecs); err != nil {
		return err
	}
	recs := make([]vector.Record, 0, len(vecs))
	v.mu.Lock()
	defer v.mu.Unlock()
	for i, vec := range vecs {
		if vec == nil {
			v.blank[hashes[i]] = struct{}{}
			continue
		}
		recs = append(recs, vector.Record{Hash: hashes[i], Vec: vec})
		v.ahead[hashes[i]] = struct{}{}
	}
	if len(recs) == 0 {
		return nil
	}
	if v.file == nil {
		if err := v.open(len(recs[0].Vec), nil); err != nil {
			return err
		}
	}
	return v.file.Append(recs...)
}

// varied refuses vectors that are the same for different texts. Once an embedder was found to
// answer so, it is believed again when two of its vectors differ.
func (v *vectors) varied(vecs [][]float32) error {
	if err := embed.CheckDistinct(vecs); err != nil {
		v.constant.Store(&err)
		return err
	}
	was := v.constant.Load()
	if was == nil {
		return nil
	}
	var first []float32
	for _, vec := range vecs {
		switch {
		case first == nil:
			first = vec
		case vec != nil && !slices.Equal(vec, first):
			v.constant.Store(nil)
			return nil
		}
	}
	return *was
}

// unknown returns the texts, once each, that have no vector yet.
func (v *vectors) unknown(texts []string) (todo []string, hashes []vector.Hash) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	seen := make(map[vector.Hash]struct{}, len(texts))
	for _, text := range texts {
		h := vector.Hash(embed.Hash(text))
		_, dup := seen[h]
		_, blank := v.blank[h]
		if dup || blank || v.file != nil && v.file.Has(h) {
			continue
		}
		seen[h] = struct{}{}
		todo, hashes = append(todo, text), append(hashes, h)
	}
	return todo, hashes
}

// attach gives a record the vector of its text, or notes that it lacks one.
func (v *vectors) attach(ref store.Ref, hash [16]byte) error {
	if v.e == nil {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.ahead, hash)
	if v.file != nil {
		vec, ok, err := v.file.Get(nil, hash)
		if err != nil {
			return fmt.Errorf("read vector: %w", err)
		}
		if ok {
			delete(v.missing, ref)
			return v.index.Set(ref, vec)
		}
		v.index.Delete(ref) // the text changed
	}
	if _, blank := v.blank[hash]; blank {
		delete(v.missing, ref)
	} else {
		v.missing[ref] = struct{}{}
	}
	return nil
}

func (v *vectors) remove(ref store.Ref) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.missing, ref)
	if v.index != nil {
		v.index.Delete(ref)
	}
}

// eraseUnused removes from the file the vectors of texts that no record has.
func (v *vectors) eraseUnused(used map[[16]byte]bool) error {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if v.file == nil {
		return nil
	}
	return v.file.Erase(slices.DeleteFunc(v.file.Hashes(), func(h vector.Hash) bool {
		_, ahead := v.ahead[h]
		return used[h] || ahead
	})...)
}

// own is the path of the open file; "" if there is none.
func (v *vectors) own() string {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if v.file == nil {
		return ""
	}
	return v.path(strconv.Itoa(v.index.Dim()))
}

// complete reports whether every record has a vector, and there is one.
func (v *vectors) complete() bool {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.file != nil && len(v.missing) == 0
}

// lacking returns the records from a ref on that lack a vector, newest last.
func (v *vectors) lacking(from store.Ref) []store.Ref {
	v.mu.RLock()
	defer v.mu.RUnlock()
	refs := slices.Collect(maps.Keys(v.missing))
	refs = slices.DeleteFunc(refs, func(ref store.Ref) bool { return ref < from })
	slices.Sort(refs)
	return refs
}

// How many texts EmbedMissing embeds at once: so many that a service is asked seldom, and so
// few that an encoder in this process gives way to turns twice a second.
const (
	embedBatch     = 256
	embedBatchSlow = 16
)

// EmbedMissing embeds the records that have no vector yet, newest first, and returns how many
// it did. It stops at the first batch that fails, keeping what it has. Once every record has
// one, the vectors of the model before are erased: see Options.Standby. Several calls at once
// are safe and wasteful.
func (s *Store) EmbedMissing(ctx context.Context) (int, error) {
	if s.o.Embedder == nil {
		return 0, nil
	}
	if err := s.beginStandby(); err != nil {
		s.o.Log.Warn("the new embedder works alone until all records have a vector", "store", s.dir, "error", err)
	}
	if old := s.standby.Load(); old != nil && embed.IsInline(old.e) {
		if _, err := s.embedMissing(ctx, old, func(int, int) {}); err != nil {
			return 0, err
		}
	}
	done, err := s.embedMissing(ctx, s.vecs, func(done, total int) { s.o.Progress("embed", done, total) })
	if err != nil {
		return done, err
	}
	return done, s.retireStandby()
}

// embedAtOpen is how many records of a copy get their vectors while it is opened: a log brings
// none, and a node that has many owners puts one away before anything in the background has come
// to it. More would make a takeover longer.
const embedAtOpen = 5000

// embedCopy embeds the records of a copy, if that is a matter of milliseconds.
func (s *Store) embedCopy(ctx context.Context) error {
	if s.o.Replica == nil || s.o.Embedder == nil || !embed.IsInline(s.o.Embedder) {
		return nil
	}
	refs := s.vecs.lacking(0)
	if len(refs) > embedAtOpen {
		return nil
	}
	for batch := range slices.Chunk(refs, embedBatch) {
		if _, err := s.embedRefs(ctx, s.vecs, batch); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) embedMissing(ctx context.Context, v *vectors, progress func(done, total int)) (done int, err error) {
	size := embedBatch
	if embed.IsLocal(v.e) && !embed.IsInline(v.e) {
		size = embedBatchSlow
	}
	refs := v.lacking(0)
	total, known := len(refs), store.Ref(s.Refs())
	for len(refs) > 0 {
		if s.o.Yield != nil {
			s.o.Yield(ctx)
		}
		batch := refs[max(0, len(refs)-size):]
		n, err := s.embedRefs(ctx, v, batch)
		if done += n; err != nil {
			return done, err
		}
		refs = refs[:len(refs)-len(batch)]
		progress(done, total)
		if upto := store.Ref(s.Refs()); upto > known { // what was written meanwhile comes first
			fresh := v.lacking(known)
			refs, total, known = append(refs, fresh...), total+len(fresh), upto
		}
	}
	return done, nil
}

// embedRefs embeds some records.
func (s *Store) embedRefs(ctx context.Context, v *vectors, refs []store.Ref) (done int, err error) {
	var texts []string
	for _, ref := range refs {
		c, err := s.Claim(ctx, ref)
		if errors.Is(err, ken.ErrNotFound) {
			continue
		}
		if err != nil {
			return 0, err
		}
		texts = append(texts, engine.EmbedText(&c))
	}
	if err := v.embed(ctx, texts); err != nil {
		return 0, err
	}
	for _, ref := range refs {
		s.t.mu.RLock()
		r := s.t.rows[ref]
		s.t.mu.RUnlock()
		if r.gone() {
			v.remove(ref)
			continue
		}
		if err := v.attach(ref, r.hash); err != nil {
			return done, err
		}
		done++
	}
	return done, nil
}

// streamOf numbers what a record is a part of and its place there: a chunk of
// the repository its file and line, a claim its session. Two streams share a
// number about once in four billion; their records then count as neighbours.
func streamOf(c *ken.Claim, document bool) (stream, place uint32) {
	key := ""
	if !document {
		if c.Session != "" {
			key = "session:" + c.Session
		}
	} else {
		for _, e := range c.Evidence {
			if e.Kind == ken.EvidenceFile {
				key, place = "file:"+e.Path, uint32(max(e.Line, 0))
				break
			}
		}
	}
	if key == "" {
		return 0, 0
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(key))
	return max(h.Sum32(), 1), place
}

// join and leave keep t.streams; t.mu is held or not yet shared.
func (t *table) join(ref store.Ref) {
	if s := t.rows[ref].stream; s != 0 {
		i, _ := slices.BinarySearchFunc(t.streams[s], ref, t.byPlace)
		t.streams[s] = slices.Insert(t.streams[s], i, ref)
	}
}

func (t *table) leave(ref store.Ref) {
	s := t.rows[ref].stream
	i, ok := slices.BinarySearchFunc(t.streams[s], ref, t.byPlace)
	if !ok {
		return
	}
	if t.streams[s] = slices.Delete(t.streams[s], i, i+1); len(t.streams[s]) == 0 {
		delete(t.streams, s)
	}
}

// byPlace is the order within a stream.
func (t *table) byPlace(a, b store.Ref) int {
	x, y := &t.rows[a], &t.rows[b]
	if x.place != 0 || y.place != 0 {
		return cmp.Or(cmp.Compare(x.place, y.place), cmp.Compare(a, b))
	}
	return cmp.Or(cmp.Compare(x.created, y.created), cmp.Compare(a, b))
}

// Around implements store.Projections.
func (s *Store) Around(ref store.Ref, n int) (before, after []store.Ref) {
	s.t.mu.RLock()
	defer s.t.mu.RUnlock()
	if int(ref) >= len(s.t.rows) || s.t.rows[ref].gone() || s.t.rows[ref].stream == 0 {
		return nil, nil
	}
	all := s.t.streams[s.t.rows[ref].stream]
	i, ok := slices.BinarySearchFunc(all, ref, s.t.byPlace)
	if !ok {
		return nil, nil
	}
	before = slices.Clone(all[max(0, i-n):i])
	slices.Reverse(before)
	return before, slices.Clone(all[i+1 : min(len(all), i+1+n)])
}
