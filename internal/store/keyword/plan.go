package keyword

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/blevesearch/bleve/v2/index/scorch"
	index "github.com/blevesearch/bleve_index_api"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/store"
)

// enoughTerms is the number of matching terms that always select documents, however
// common they are.
const enoughTerms = 3

// plan is the execution of one query on one snapshot: which terms are read, and how
// much each occurrence adds to the score.
type plan struct {
	lists  []*postings // ascending by bound, so the most common term first
	ends   []float64   // ends[i] is the sum of the bounds of lists[0..i]
	common int         // how many lists, from the first, select no document

	base, perWord float64 // a document of n words adds base + perWord*n to the frequency
	k1            float64
	short         float64

	recent recent
	held   *held     // lists of the snapshot; nil if none are cached
	parts  []float32 // scores for the current document, by list
	kept   []float32 // the parts of all hits, see scored.slot

	res Result // Weight, Values, Terms and Dropped
}

// postings is the list of documents of one term, with a read position.
type postings struct {
	term   string
	reader index.TermFieldReader // nil for a cached list
	held   *list                 // the cached list; nil if it is not cached
	place  int                   // index of the next document in held.docs
	read   *list                 // what was read so far, for the cache; nil if it won't be cached
	number int                   // position of the term in the query
	count  uint64                // documents that have the term
	weight float64               // idf times (k1 + 1)
	bound  float64               // upper bound of what a document gets from this term
	value  float64               // weight of the term in Share

	dropped, common bool

	at   uint64 // the current document's number in the snapshot, or done
	here index.TermFieldDoc
}

const done = math.MaxUint64

// plan opens the posting lists of the terms and selects among them.
func (x *Index) plan(ctx context.Context, r index.IndexReader, recent recent, terms []string) (p *plan, err error) {
	p = &plan{k1: x.opts.K1, short: float64(x.opts.ShortLength), recent: recent, held: x.heldOf(r)}
	s := recent.state
	average := 1.0
	if s.docs > 0 && s.words > 0 {
		average = max(float64(s.words)/float64(s.docs), p.short)
	}
	p.base = p.k1 * (1 - x.opts.B)
	p.perWord = p.k1 * x.opts.B / average

	for i, t := range terms {
		l := &postings{term: t, number: i, held: p.held.list(t)}
		if l.held == nil {
			if l.reader, err = r.TermFieldReader(ctx, []byte(t), wordsField, true, true, false); err != nil {
				return p, fmt.Errorf("read the list of %q: %w", t, err)
			}
			l.count = l.reader.Count()
		} else {
			l.count = l.held.count
		}
		if n := l.count; l.held == nil && p.held != nil && n <= maxHeldList {
			l.read = &list{count: n, docs: make([]posting, 0, min(n, 512))}
		}
		l.count += recent.counts[i]
		l.weight = idf(s.docs, l.count) * (p.k1 + 1)
		// The sum of a document's parts is rounded; the bound must not be below it.
		l.bound = l.weight * (1 + 1e-9)
		l.value = idf(max(s.docs, fairDocs), l.count)
		p.lists = append(p.lists, l)
	}
	p.choose(x.opts)
	for _, l := range p.lists[:p.common] {
		if err := l.skim(ctx, r); err != nil {
			return p, err
		}
	}
	sum := 0.0
	for _, l := range p.lists {
		sum += l.bound
		p.ends = append(p.ends, sum)
	}
	p.parts = make([]float32, len(p.lists))
	p.res.Values, p.res.Named = p.values()
	return p, nil
}

// choose keeps the rarest lists, at most MaxTerms of those that match anything, and
// decides which of them select documents.
func (p *plan) choose(o Options) {
	terms := slices.Clone(p.lists) // in the order of the text
	slices.SortFunc(p.lists, func(a, b *postings) int {
		return cmp.Or(cmp.Compare(a.count, b.count), cmp.Compare(a.term, b.term))
	})
	matching, read := 0, uint64(0)
	for _, l := range p.lists {
		if l.count == 0 {
			continue
		}
		matching++
		read += l.count
		l.dropped = matching > o.MaxTerms
		l.common = matching > enoughTerms && o.MaxPostings >= 0 && read > uint64(o.MaxPostings)
	}
	p.lists = slices.DeleteFunc(p.lists, func(l *postings) bool { return l.dropped })
	slices.Reverse(p.lists)
	for _, l := range terms {
		switch {
		case l.dropped:
			p.res.Dropped = append(p.res.Dropped, l.term)
			l.close()
			continue
		case l.common:
			p.res.Common = append(p.res.Common, l.term)
			p.common++
		}
		p.res.Terms = append(p.res.Terms, l.term)
		p.res.Weight += l.weight
	}
}

// fairDocs is the minimum number of documents that Share assumes. In a small collection
// on one subject, the words of that subject are in all documents and have almost no
// idf, although questions are about them.
const fairDocs = 1000

// idf is BM25's inverse document frequency in the form that is never negative:
// ln(1 + (N - n + 0.5) / (n + 0.5)).
func idf(docs, count uint64) float64 {
	n := float64(min(count, docs))
	return math.Log(1 + (float64(docs)-n+0.5)/(n+0.5))
}

func (p *plan) close() {
	for _, l := range p.lists {
		l.close()
	}
}

func (l *postings) close() {
	if l.reader != nil {
		_ = l.reader.Close() // returns it to the snapshot; never fails
	}
}

// skim opens the list again without frequencies, so that the engine can skip most of a
// long list. A common term then counts once, however often a document contains it.
func (l *postings) skim(ctx context.Context, r index.IndexReader) error {
	if l.held != nil {
		return nil
	}
	l.close()
	reader, err := r.TermFieldReader(ctx, []byte(l.term), wordsField, false, false, false)
	if err != nil {
		return fmt.Errorf("read the list of %q: %w", l.term, err)
	}
	l.reader, l.read = reader, nil
	return nil
}

// worth returns the score of tf occurrences in a document with this norm. The engine
// stores 1/sqrt(length) as the norm.
func (p *plan) worth(l *postings, tf, norm float64) float64 {
	words := 1 / (norm * norm)
	return l.weight * tf / (tf + p.base + p.perWord*max(words, p.short))
}

// next moves to the next document.
func (l *postings) next() error {
	if l.held != nil {
		l.step()
		return nil
	}
	d, err := l.reader.Next(&l.here)
	return l.moved(d, err)
}

// seek moves to the document with number to, or the first one after it. to must be
// greater than the current number. buf is scratch memory.
func (l *postings) seek(to uint64, buf index.IndexInternalID) error {
	if l.held != nil {
		left := l.held.docs[min(l.place, len(l.held.docs)):]
		n, _ := slices.BinarySearchFunc(left, to, func(p posting, to uint64) int { return cmp.Compare(uint64(p.doc), to) })
		l.place += n
		l.step()
		return nil
	}
	l.read = nil // skipped documents would be missing in it
	buf.SetValue(to)
	d, err := l.reader.Advance(buf, &l.here)
	return l.moved(d, err)
}

// step moves to the document at place in a cached list.
func (l *postings) step() {
	l.at = done
	if l.place < len(l.held.docs) {
		d := l.held.docs[l.place]
		l.at, l.here.Freq, l.here.Norm = uint64(d.doc), uint64(d.freq), float64(d.norm)
		if l.common {
			l.here.Freq = 0 // as in skim
		}
		l.place++
	}
}

func (l *postings) moved(d *index.TermFieldDoc, err error) error {
	l.at = done
	if d != nil {
		l.at = d.ID.Value()
		if l.read != nil {
			l.read.docs = append(l.read.docs, posting{doc: uint32(l.at), freq: uint32(d.Freq), norm: float32(d.Norm)})
		}
	}
	return err
}

// keep caches the lists that the search has read to their end.
func (p *plan) keep() {
	for _, l := range p.lists {
		if l.read != nil && l.at == done {
			p.held.keep(l.term, l.read)
		}
	}
}

// Query describes a search for documents that share words with a text.
type Query struct {
	Text  string
	Limit int // at most this many hits; <= 0 means 50
	// Accept is the filter. It is called for every document that would become a hit, in
	// no particular order, possibly for many more than Limit, and must be fast. nil
	// accepts everything.
	Accept func(ref uint32) bool
}

// Result holds the hits of a search and how they were found. It belongs to the caller.
type Result struct {
	// Hits are best first, with equal scores by ref. Parts holds what each term adds to
	// Score, in the order of Values.
	Hits []store.Hit

	// Rejected holds the documents that Accept rejected and that would have ranked
	// above the last hit, or anywhere when there are fewer hits than Limit; best first,
	// at most Limit.
	Rejected []uint32

	// Weight is the highest score that a document could reach: the sum of idf times (K1
	// + 1) over Terms. A term that no document contains counts too, with the largest
	// idf: a document that matches the only known word of five matches little of the
	// query.
	Weight float64

	// Values holds the contribution of each searched term to Share, and Named the term.
	Values []float32
	Named  []string

	Terms   []string // the searched terms, in the order of the text
	Common  []string // those of Terms that select no document; see Options.MaxPostings
	Dropped []string // terms that were not searched for, because there were too many
}

// Search finds the best documents for a query among those that Accept accepts. It
// returns ctx's error when ctx ends first, and ErrCorrupt when the files are damaged. A
// text without terms finds nothing.
func (x *Index) Search(ctx context.Context, q Query) (Result, error) {
	q.Limit = cmp.Or(max(q.Limit, 0), 50)
	terms := analysis.Terms(q.Text)
	if len(terms) == 0 {
		return Result{}, ctx.Err()
	}
	select {
	case x.slots <- struct{}{}:
		defer func() { <-x.slots }()
	case <-ctx.Done():
		return Result{}, ctx.Err()
	}
	engine, done, err := x.use()
	if err != nil {
		return Result{}, err
	}
	defer done()
	recent := x.recent(terms) // before the snapshot: documents that land in between are hidden in the snapshot
	r, err := engine.Reader()
	if err != nil {
		return Result{}, fmt.Errorf("search keyword index: %w", err)
	}
	defer r.Close()
	return x.searchIn(ctx, r, recent, terms, q)
}

// searchIn searches one snapshot. Damage that the checksums did not detect makes the
// engine panic or fault; searchIn returns it as an error. A panic in the caller's
// Accept is passed on.
func (x *Index) searchIn(ctx context.Context, r index.IndexReader, recent recent, terms []string, q Query) (res Result, err error) {
	asking := false
	if accept := q.Accept; accept != nil {
		q.Accept = func(ref uint32) bool {
			asking = true
			ok := accept(ref)
			asking = false
			return ok
		}
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if asking {
			return
		}
		if p := recover(); p != nil {
			res, err = Result{}, &ken.Error{Code: ken.CodeCorrupt, Field: x.dir, Msg: "can't read the keyword index",
				Try: "Remove the folder; the index is then rebuilt.", Err: fmt.Errorf("panic: %v", p)}
		}
	}()
	p, err := x.plan(ctx, r, recent, terms)
	defer p.close()
	if err == nil {
		res, err = p.run(ctx, r, q)
	}
	if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("search keyword index: %w", err)
	}
	return res, err
}

// Limits of the cache: a list longer than maxHeldList is always read from the engine,
// and at most maxHeld postings, 6 MB, are cached.
const (
	maxHeldList = 1 << 14
	maxHeld     = 1 << 19
)

// held caches data of one snapshot of the engine for later searches: the lists of words
// that are not very common, and the ref of each document. Walking a list in memory
// costs a twentieth of opening it in each segment and decoding it.
//
// A snapshot never changes: every batch, merge and flush creates a new one, which gets
// a new held. So the cache can't be out of date. It does not keep the snapshot or its
// files alive.
type held struct {
	of   weak.Pointer[scorch.IndexSnapshot]
	refs []atomic.Uint32 // by the document's number in the snapshot: the ref plus one; 0 if unknown

	mu    sync.RWMutex // guards the rest
	lists map[string]*list
	size  int // number of postings in lists
}

// list holds the documents of a word in one snapshot. It never changes.
type list struct {
	count uint64 // as reported by the engine
	docs  []posting
}

type posting struct {
	doc  uint32
	freq uint32
	norm float32 // float32, as in the engine
}

// heldOf returns the cache for a snapshot; nil if r is not a scorch snapshot.
func (x *Index) heldOf(r index.IndexReader) *held {
	snapshot, ok := r.(*scorch.IndexSnapshot)
	if !ok {
		return nil
	}
	of := weak.Make(snapshot)
	old := x.held.Load()
	if old != nil && old.of == of {
		return old
	}
	docs := 0
	for _, s := range snapshot.Segments() {
		docs += int(s.FullSize())
	}
	h := &held{of: of, refs: make([]atomic.Uint32, docs), lists: map[string]*list{}}
	x.held.CompareAndSwap(old, h) // of concurrent ones, one stays
	return h
}

// list returns the list of a term; nil if it is not cached. h may be nil.
func (h *held) list(term string) *list {
	if h == nil {
		return nil
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.lists[term]
}

// keep caches a list that was read to its end. When the cache is full it is emptied.
// For the few words of most questions that works as well as an LRU order.
func (h *held) keep(term string, l *list) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lists[term] != nil {
		return
	}
	n := len(l.docs) + 16 // a word without documents takes memory too
	if h.size+n > maxHeld {
		clear(h.lists)
		h.size = 0
	}
	h.lists[strings.Clone(term)] = l // the term may be a substring of a whole message
	h.size += n
}

// refOf returns the ref of a document of the snapshot. h may be nil.
func (h *held) refOf(r index.IndexReader, doc uint64, id index.IndexInternalID) (uint32, error) {
	if h != nil && doc < uint64(len(h.refs)) {
		if ref := h.refs[doc].Load(); ref != 0 {
			return ref - 1, nil
		}
	}
	id.SetValue(doc)
	ref, err := refOf(r, id)
	if err == nil && h != nil && doc < uint64(len(h.refs)) {
		h.refs[doc].Store(ref + 1) // wraps to 0, unknown, for the largest possible ref
	}
	return ref, err
}
