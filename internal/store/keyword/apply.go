package keyword

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime"

	"github.com/blevesearch/bleve/v2/document"
	"github.com/blevesearch/bleve/v2/index/scorch"
	index "github.com/blevesearch/bleve_index_api"
	"golang.org/x/sync/errgroup"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/caught"
)

// directBatch is the batch size from which documents go to the engine at once, together with
// the tail. A batch that replaces documents of the engine goes at once too: otherwise the
// engine would count both versions, and scores would differ from those of a rebuilt index.
const directBatch = 256

// Apply applies one batch: documents in up replace those with the same ref, refs in del are
// removed, and watermark is the log position reached. The batch is searchable when Apply
// returns, and durable some time later; Close and Scrub wait for that. If a ref occurs more
// than once, the last document counts, and a removal counts after any document.
// ErrUnavailable means that the engine can't write to its disk; nothing was applied.
func (x *Index) Apply(up []Doc, del []uint32, watermark uint64) error {
	engine, done, err := x.use()
	if err != nil {
		return err
	}
	defer done()
	if f := x.fault.Load(); f != nil {
		return &ken.Error{Code: ken.CodeUnavailable, Msg: "the keyword index can't be written", Err: *f}
	}
	counted := analyzeAll(up)
	x.writing.Lock()
	defer x.writing.Unlock()
	last := make(map[uint32]*words, len(up)+len(del)) // nil for a removal
	for i, d := range up {
		last[d.Ref] = counted[i]
	}
	for _, ref := range del {
		last[ref] = nil
	}
	var next state
	var replaces bool
	err = caught.Run(func() (err error) { // it reads the engine's files
		next, replaces, err = x.after(engine, last)
		return err
	})
	if err == nil {
		next.watermark = watermark
		x.tails.Load().filling.add(last)
		x.applied.Store(&next)
		if replaces || len(last) >= directBatch {
			err = x.settle(engine)
		} else {
			err = x.spill(engine)
		}
	}
	if err != nil {
		return fmt.Errorf("apply to keyword index: %w", err)
	}
	return nil
}

// after returns the state once the documents of last are applied, and whether the engine
// holds older versions of any of them.
func (x *Index) after(engine *scorch.Scorch, last map[uint32]*words) (next state, replaces bool, err error) {
	next = *x.applied.Load()
	ts := x.tails.Load()    // before the snapshot: a tail that lands in between is seen in both
	var r index.IndexReader // opened for the first ref that the engine may hold
	defer func() {
		if r != nil {
			_ = r.Close() // only releases the snapshot
		}
	}()
	for ref, w := range last {
		if uint64(ref) < next.next {
			if r == nil {
				if r, err = engine.Reader(); err != nil {
					return next, replaces, err
				}
			}
			held, err := next.drop(ts, r, ref)
			if err != nil {
				return next, replaces, err
			}
			replaces = replaces || held
		}
		if w != nil {
			next.docs++
			next.words += uint64(w.length)
			next.next = max(next.next, uint64(ref)+1)
		}
	}
	return next, replaces, nil
}

// drop subtracts the document of ref, if there is one, from the sums, and reports whether
// the engine holds it or is about to.
func (s *state) drop(ts *tails, r index.IndexReader, ref uint32) (held bool, err error) {
	for _, t := range []*tail{ts.filling, ts.leaving} {
		if t == nil {
			continue
		}
		if n, known := t.length(ref); known {
			if n >= 0 {
				s.docs--
				s.words -= uint64(n)
			}
			return t == ts.leaving, nil
		}
	}
	d, err := r.Document(refID(ref))
	if err != nil || d == nil {
		return false, err
	}
	stored := -1
	d.VisitFields(func(f index.Field) {
		if f.Name() == lengthField {
			if v, n := binary.Uvarint(f.Value()); n > 0 {
				stored = int(v)
			}
		}
	})
	if stored < 0 || uint64(stored) > s.words || s.docs == 0 {
		return true, errors.New("a document's stored length is wrong")
	}
	s.docs--
	s.words -= uint64(stored)
	return true, nil
}

// analyzeAll counts the terms of all documents, on all cores for a large batch.
func analyzeAll(docs []Doc) []*words {
	out := make([]*words, len(docs))
	const chunk = 16
	if len(docs) <= chunk {
		analyzeInto(out, docs)
		return out
	}
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for lo := 0; lo < len(docs); lo += chunk {
		hi := min(lo+chunk, len(docs))
		g.Go(func() error { analyzeInto(out[lo:hi], docs[lo:hi]); return nil })
	}
	_ = g.Wait() // no function errs
	return out
}

// analyzeInto counts the terms of documents. A document that can't be analyzed gets no
// terms.
func analyzeInto(out []*words, docs []Doc) {
	var buf []analysis.Token
	for i, d := range docs {
		err := caught.Run(func() error {
			out[i], buf = d.analyze(buf)
			return nil
		})
		if err != nil {
			slog.Default().Error("a text can't be indexed and is found by no word", "record", d.Ref, "cause", err, "stack", caught.Stack(err))
			out[i], buf = &words{}, nil
		}
	}
}

const (
	// flushAt is how many documents the tail collects before they go to the engine. A
	// larger tail makes searches slower, and more documents have to be indexed again after
	// a crash.
	flushAt = 1024
	// tailLimit is the maximum size of the tail during a flush; then Apply waits.
	tailLimit = 4 * flushAt
)

// tails holds the documents that are not in the engine yet: the tail that is being filled,
// and the tail that is being written to the engine, nil when there is none. Only a holder
// of x.writing starts that write, and only one landing ends it at a time, so the two never
// race.
type tails struct{ filling, leaving *tail }

// spill writes the tail to the engine once it is large enough: in the background, or at
// once when too many documents wait. x.writing is held.
func (x *Index) spill(engine *scorch.Scorch) error {
	switch n := x.tails.Load().filling.size(); {
	case n >= tailLimit:
		return x.settle(engine)
	case n < flushAt || !x.landing.CompareAndSwap(false, true):
		return nil
	}
	x.leave()
	x.background.Go(func() {
		defer x.landing.Store(false)
		if err := x.land(engine); err != nil {
			x.fault.Store(&err) // the next landing tries again
		}
	})
	return nil
}

// leave makes the filling tail the leaving one, unless an earlier one that failed to land
// is still there. x.writing is held, and nothing is landing.
func (x *Index) leave() {
	if ts := x.tails.Load(); ts.leaving == nil {
		next := newTail(*x.applied.Load())
		ts.filling.reached = next.reached
		x.tails.Store(&tails{filling: next, leaving: ts.filling})
	}
}

// land writes the leaving tail to the engine, with the state reached by it. Until the write
// is complete, searches find its documents in memory.
func (x *Index) land(engine *scorch.Scorch) error {
	ts := x.tails.Load()
	batch := index.NewBatch()
	ts.leaving.fill(batch)
	batch.SetInternal(stateKey, ts.leaving.reached.encode())
	batch.SetPersistedCallback(func(err error) {
		if err == nil {
			x.fault.Store(nil)
		}
	})
	if err := caught.Run(func() error { return engine.Batch(batch) }); err != nil {
		return fmt.Errorf("write to the keyword index: %w", err)
	}
	x.tails.Store(&tails{filling: x.tails.Load().filling})
	return nil
}

// settle writes everything that was applied to the engine. x.writing is held.
func (x *Index) settle(engine *scorch.Scorch) error {
	x.background.Wait()
	for {
		ts := x.tails.Load()
		if ts.leaving == nil && ts.filling.reached == *x.applied.Load() {
			return nil
		}
		x.leave()
		if err := x.land(engine); err != nil {
			return err
		}
	}
}

// Names of the two fields of a document in the engine.
const (
	wordsField  = "w" // its terms, with frequencies and its length; not stored
	lengthField = "n" // its length, stored, for the sums when it is replaced
)

// Doc is one document as the index sees it.
type Doc struct {
	Ref     uint32
	Heading string   // indexed twice, so that its words weigh more
	Text    string   //
	Terms   []string // tags, entities, other exact words
	// Whole says that the document is a declaration of code or a section of a file: it is
	// long because its subject is large, not because it covers many subjects.
	Whole bool
}

var tokens = analysis.Tokens // replaced in a test

// The length of a Whole document counts fully up to wholeWords; beyond that, by the power
// wholeGrowth of the ratio. If all words counted, no long function would be found for what
// it does; if none did, long ones would always rank first. Chosen on 51 questions about
// five repositories, where 0.3 to 0.5 do equally well.
const (
	wholeWords  = 60
	wholeGrowth = 0.4
)

// analyze counts the document's terms. All parts share one field, so that a
// query needs one reader per term.
func (d Doc) analyze(buf []analysis.Token) (*words, []analysis.Token) {
	w := &words{}
	buf = tokens(buf[:0], d.Heading)
	buf = append(buf, buf...)
	buf = tokens(buf, d.Text)
	for _, t := range d.Terms {
		buf = tokens(buf, t)
	}
	w.length = len(buf)
	if d.Whole && w.length > wholeWords {
		w.length = int(wholeWords * math.Pow(float64(w.length)/wholeWords, wholeGrowth))
	}
	w.freqs = make(index.TokenFrequencies, len(buf))
	freqs := make([]index.TokenFreq, 0, len(buf)) // one allocation; never grows
	for _, t := range buf {
		f := w.freqs[t.Term]
		if f == nil {
			freqs = append(freqs, index.TokenFreq{Term: []byte(t.Term)})
			f = &freqs[len(freqs)-1]
			w.freqs[t.Term] = f
		}
		f.SetFrequency(f.Frequency() + 1)
	}
	return w, buf
}

// document wraps counted terms for the engine.
func (w *words) document(ref uint32) *document.Document {
	d := document.NewDocument(refID(ref))
	d.AddField(w)
	d.AddField(length{n: w.length})
	return d
}

// refID returns the engine's id of a document: four bytes, big endian.
func refID(ref uint32) string {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], ref)
	return string(b[:])
}

// field has the methods in which the fields of a document do not differ.
type field struct{}

func (field) Analyze()                  {}
func (field) ArrayPositions() []uint64  { return nil }
func (field) NumPlainTextBytes() uint64 { return 0 }
func (field) EncodedFieldType() byte    { return 't' }

// words is a field whose terms are counted before the engine asks for them.
type words struct {
	field
	freqs  index.TokenFrequencies
	length int
}

func (w *words) Name() string                                     { return wordsField }
func (w *words) Options() index.FieldIndexingOptions              { return index.IndexField }
func (w *words) AnalyzedLength() int                              { return w.length }
func (w *words) AnalyzedTokenFrequencies() index.TokenFrequencies { return w.freqs }
func (w *words) Value() []byte                                    { return nil }
func (w *words) Size() int                                        { return 64 * len(w.freqs) }

// length is a stored field of one number.
type length struct {
	field
	n int
}

func (length) Name() string                                     { return lengthField }
func (length) Options() index.FieldIndexingOptions              { return index.StoreField }
func (length) AnalyzedLength() int                              { return 0 }
func (length) AnalyzedTokenFrequencies() index.TokenFrequencies { return nil }
func (l length) Value() []byte                                  { return binary.AppendUvarint(nil, uint64(l.n)) }
func (length) Size() int                                        { return 8 }
