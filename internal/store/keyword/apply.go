package keyword

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"runtime"

	"github.com/blevesearch/bleve/v2/index/scorch"
	index "github.com/blevesearch/bleve_index_api"
	"golang.org/x/sync/errgroup"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/caught"
)

// through is from how many documents on a batch goes to the engine at once,
// together with the tail. One that replaces what the engine holds does too: the
// engine would count both versions, and scores would drift from what a rebuilt
// index gives.
const through = 256

// Apply takes one batch: the documents of up replace those of the same ref,
// those of del are removed, and watermark is the log position reached. The
// batch is searchable when Apply returns, and durable some time later; Close
// and Scrub wait for that. A ref that occurs more than once counts as it does
// last, and a removal after a document. ErrUnavailable means that the engine
// can't write to its disk; nothing was applied.
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
	last := make(map[uint32]*words, len(up)+len(del)) // nil is a removal
	for i, d := range up {
		last[d.Ref] = counted[i]
	}
	for _, ref := range del {
		last[ref] = nil
	}
	var next state
	var replaces bool
	err = caught.Run(func() (err error) { // it looks into the engine's files
		next, replaces, err = x.after(engine, last)
		return err
	})
	if err == nil {
		next.watermark = watermark
		x.tails.Load().filling.add(last)
		x.applied.Store(&next)
		if replaces || len(last) >= through {
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

// after is the state once the documents of last are in, and whether the engine
// holds older versions of any.
func (x *Index) after(engine *scorch.Scorch, last map[uint32]*words) (next state, replaces bool, err error) {
	next = *x.applied.Load()
	ts := x.tails.Load()    // before the snapshot: what lands in between is in both
	var r index.IndexReader // opened for the first ref that the engine may hold
	defer func() {
		if r != nil {
			_ = r.Close() // only returns the snapshot
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

// drop takes the document of ref, if there is one, out of the sums, and reports
// whether the engine holds it or is about to.
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

// analyzeInto counts the terms of documents. One that can't be read is found by no word.
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
