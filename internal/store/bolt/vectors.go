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

// vectors holds the vectors of one model: its file, its index in memory, and the records that
// still lack a vector. Its methods are safe for concurrent use and do nothing without an
// embedder.
type vectors struct {
	dir string
	e   embed.Embedder

	mu      sync.RWMutex // guards the rest; file and index are nil until the dimension is known
	file    *vector.File
	index   *vector.Index
	missing map[store.Ref]struct{}
	blank   map[vector.Hash]struct{} // texts without content to embed
	ahead   map[vector.Hash]struct{} // texts embedded for records that are not written yet

	constant atomic.Pointer[error] // set while the embedder returns the same vector for different texts
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
	var twins map[[16]byte][]store.Ref // more records with the same text
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
			if vec == nil || v.index.Set(ref, vec) == nil {
				delete(v.missing, ref)
			}
		}
	})
}

// path returns the path of the model's file. It includes the dimension, because a gateway can
// serve one model with several.
func (v *vectors) path(dim string) string {
	safe := strings.Map(func(r rune) rune {
		if r == '-' || r == '.' || r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, v.e.Model())
	return filepath.Join(v.dir, safe+"."+dim+"d.vec")
}

// knownDim returns the dimension of the model's newest file, for an embedder that has not
// reported its dimension yet; 0 if there is no file.
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

// open opens file and index; v.mu is held, or v is not shared yet.
func (v *vectors) open(dim int, each func(vector.Hash, []float32)) error {
	if err := os.MkdirAll(v.dir, 0o700); err != nil {
		return fmt.Errorf("create vector folder: %w", err)
	}
	v.index = vector.New(dim, vector.Options{})
	path := v.path(strconv.Itoa(dim))
	o := vector.FileOptions{Model: v.e.Model(), Dim: dim, Each: each}
	f, err := vector.OpenFile(path, o)
	if errors.Is(err, ken.ErrCorrupt) {
		// A file that can't be read is renamed, and a new one is created: it is only a cache.
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

// prepare embeds texts that are about to be written, if the embedder takes microseconds.
// Errors are ignored: EmbedMissing retries, and a write never fails because of a vector.
func (v *vectors) prepare(ctx context.Context, texts []string) {
	if v.e != nil && embed.IsInline(v.e) {
		_ = v.embed(ctx, texts)
	}
}

// embed makes the vectors for texts that are not in the file.
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
	lasting := embed.IsInline(v.e) && v.e.Dim() > 0 // a table never learns a word; another embedder is asked again
	v.mu.Lock()
	defer v.mu.Unlock()
	for i, vec := range vecs {
		if vec == nil {
			v.blank[hashes[i]] = struct{}{}
			if !lasting {
				continue
			}
		}
		recs = append(recs, vector.Record{Hash: hashes[i], Vec: vec})
		v.ahead[hashes[i]] = struct{}{}
	}
	if len(recs) == 0 {
		return nil
	}
	if v.file == nil {
		if err := v.open(cmp.Or(v.e.Dim(), len(recs[0].Vec)), nil); err != nil {
			return err
		}
	}
	return v.file.Append(recs...)
}

// varied rejects vectors that are the same for different texts. After a rejection, the
// embedder is accepted again when two of its vectors differ.
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

// unknown returns the texts that have no vector yet, without duplicates.
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

// attach gives a record the vector of its text, or records that it lacks one.
func (v *vectors) attach(ref store.Ref, hash [16]byte) error {
	if v.e == nil {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.ahead, hash)
	_, blank := v.blank[hash]
	if v.file != nil {
		vec, ok, err := v.file.Get(nil, hash)
		if err != nil {
			return fmt.Errorf("read vector: %w", err)
		}
		if vec != nil {
			delete(v.missing, ref)
			return v.index.Set(ref, vec)
		}
		v.index.Delete(ref) // the text changed
		blank = blank || ok
	}
	if blank {
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

// own returns the path of the open file; "" if there is none.
func (v *vectors) own() string {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if v.file == nil {
		return ""
	}
	return v.path(strconv.Itoa(v.index.Dim()))
}

// complete reports whether the file is open and every record has a vector.
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

// How many texts EmbedMissing embeds at once: enough for few calls to a service, and few
// enough that an encoder in this process pauses for turns twice a second.
const (
	embedBatch     = 256
	embedBatchSlow = 16
)

// EmbedMissing embeds the records that have no vector yet, newest first, and returns how many
// it embedded. It stops at the first batch that fails and keeps the earlier ones. Once every
// record has a vector, the vectors of the replaced model are erased: see Options.Standby.
// Concurrent calls are safe but waste work.
func (s *Store) EmbedMissing(ctx context.Context) (int, error) {
	if s.o.Embedder == nil {
		return 0, nil
	}
	if err := s.beginStandby(); err != nil {
		s.o.Log.Warn("only the new embedder is searched until all records have a vector", "store", s.dir, "error", err)
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

// maxEmbedAtOpen is the maximum number of records that are embedded while a copy of a log is
// opened. A log contains no vectors, and a node with many owners may close a store before
// background work embeds it. A higher limit would make a takeover slower.
const maxEmbedAtOpen = 5000

// embedCopy embeds the records of a copy, if there are at most maxEmbedAtOpen and the embedder is
// fast.
func (s *Store) embedCopy(ctx context.Context) error {
	if s.o.Replica == nil || s.o.Embedder == nil || !embed.IsInline(s.o.Embedder) {
		return nil
	}
	refs := s.vecs.lacking(0)
	if len(refs) > maxEmbedAtOpen {
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
		if upto := store.Ref(s.Refs()); upto > known { // records written meanwhile come first
			fresh := v.lacking(known)
			refs, total, known = append(refs, fresh...), total+len(fresh), upto
		}
	}
	return done, nil
}

// embedRefs embeds the given records.
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

// streamOf returns the stream that a record belongs to and its place in it: for a chunk of the
// repository, its file and line; for a claim, its session. Two streams share a number about
// once in four billion; their records then count as neighbours.
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

// join and leave maintain t.streams; t.mu is held, or the table is not shared yet.
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

// byPlace compares records by their order within a stream.
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
